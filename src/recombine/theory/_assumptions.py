"""The assumptions of a theorem, checked one by one."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Assumption:
    """One assumption: whether it holds, and the number that tells."""

    name: str
    """The assumption in words."""
    holds: bool
    measured: float
    bound: str
    """The quantity measured, and what it should be: `rank, 6 needed`."""

    def __str__(self) -> str:
        return f"{'  ok' if self.holds else ' NOT'} {self.name}: {self.measured:.6g} ({self.bound})"


@dataclass(frozen=True)
class AssumptionReport:
    """All assumptions of a theorem for one teacher, student and training distribution."""

    theorem: str
    assumptions: tuple[Assumption, ...]

    @property
    def holds(self) -> bool:
        """Whether every assumption holds, so that the theorem applies."""
        return not self.broken

    @property
    def broken(self) -> tuple[str, ...]:
        """The names of the assumptions that do not hold."""
        return tuple(a.name for a in self.assumptions if not a.holds)

    def __getitem__(self, name: str) -> Assumption:
        for assumption in self.assumptions:
            if assumption.name == name:
                return assumption
        raise KeyError(f"no assumption {name!r}: {', '.join(a.name for a in self.assumptions)}")

    def __str__(self) -> str:
        verdict = "applies" if self.holds else "does not apply"
        return "\n".join([f"{self.theorem} {verdict}.", *map(str, self.assumptions)])
