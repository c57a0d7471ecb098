"""A statement that says what it is told to say."""

from dataclasses import dataclass, field

from recombine.lab.statements import Finding, Statement


@dataclass(frozen=True, eq=False)
class Says(Statement):
    """Whatever the results, this verdict and this evidence."""

    verdict: str = "holds"
    evidence: dict = field(default_factory=dict)

    @property
    def bounds(self):
        return ()

    def judge(self, results, error=0.05):
        return Finding(self.verdict, self.evidence)
