"""Claims: statements of the papers, judged on the results of all seeds."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import Missing as Missing
from .intervals import ERROR
from .quantities import What, per_seed
from .statements import Statement, VerdictWord
from .words import count

if TYPE_CHECKING:
    from .results import Results


class Bound(float):
    """A number in a sentence: `{0}` is 0.3, `{0:%}` is 30 %, `{0:points}` is 30 points."""

    def __format__(self, form: str) -> str:
        if form == "%":
            return f"{100 * self:g} %"
        if form == "points":
            return f"{100 * self:g} point{'' if self == 0.01 else 's'}"
        return format(float(self), form or "g").replace("e-0", "e-")


@dataclass(frozen=True)
class Claim:
    """A statement that results either confirm or do not."""

    name: str
    """A slug, unique within the study."""
    text: str
    """The paper's statement, with `{0}`, `{1}`, ... where it says the bounds of `check`."""
    where: str
    """The figure, table or section that states it."""
    check: Statement
    """The statement with its margin, in the words of `recombine.lab`: `mean`, `paired`,
    `every_seed` and their like."""
    seeds: int = 3
    """With fewer seeds in any condition the claim stays undecided."""
    context: Mapping[str, What] = field(default_factory=dict)
    """Means that help to read the verdict, by what they are."""

    def __post_init__(self) -> None:
        if not isinstance(self.check, Statement):
            raise TypeError(
                f"claim {self.name}: {self.check!r} is no statement: write it with mean, paired,"
                " every_seed and their like"
            )
        try:
            self.statement  # noqa: B018 (a text with more bounds than there are is refused)
        except (IndexError, ValueError, KeyError) as error:
            raise ValueError(f"claim {self.name}: its text and its bounds differ") from error

    @property
    def statement(self) -> str:
        """The paper's statement with its margin, in a sentence."""
        return self.text.format(*map(Bound, self.check.bounds))


@dataclass(frozen=True)
class Verdict:
    """A claim, judged on the results of one study at one preset."""

    study: str
    claim: str
    statement: str
    verdict: VerdictWord
    evidence: dict[str, Any] = field(default_factory=dict)
    """The numbers behind the verdict, or the reason why there is none."""
    preset: str = ""
    overrides: dict[str, Any] = field(default_factory=dict)
    seeds: int | None = None
    """If it is undecided: how many seeds would be likely to decide it."""


def judge(claim: Claim, study: str, results: "Results") -> Verdict:
    """The verdict on `claim`; undecided if results are missing.

    Results that may be looked at several times have wider intervals, so that all looks together
    are wrong as seldom as one (Bonferroni).
    """

    def verdict(word: VerdictWord, evidence: dict[str, Any], seeds: int | None = None) -> Verdict:
        return Verdict(
            study, claim.name, claim.statement, word, _plain(evidence),
            results.preset, dict(results.overrides), seeds,
        )  # fmt: skip

    if results.preset == "smoke":
        return verdict("undecided", {"reason": "preset smoke shows the mechanics, not the effect"})
    if results.failed:
        return verdict(
            "undecided", {"reason": f"{count(results.failed, 'trial')} failed or diverged"}
        )
    if results.missing:
        have = "has" if results.missing == 1 else "have"
        missing = f"{count(results.missing, 'condition')} {have} not been run"
        return verdict("undecided", {"reason": missing})
    by_condition = results.seeds_by_condition()
    seeds = min(map(len, by_condition), default=0)
    if seeds < claim.seeds:
        reason = f"a condition has {seeds} of the {claim.seeds} seeds that are needed"
        return verdict("undecided", {"reason": reason}, claim.seeds)
    if any(group != by_condition[0] for group in by_condition):
        return verdict("undecided", {"reason": "conditions have been run with different seeds"})
    try:
        found = claim.check.judge(results, ERROR / results.looks)
    except Missing as missing:
        return verdict("undecided", {"reason": str(missing)})
    except Exception as error:  # one claim that raises must not hide the others
        reason = f"the claim could not be judged: {type(error).__name__}: {error}"
        return verdict("undecided", {"reason": reason})
    evidence = {"seeds": seeds, **found.evidence, **_means(claim.context, results)}
    return verdict(found.verdict, evidence, found.seeds)


def _means(context: Mapping[str, What], results: "Results") -> dict[str, float]:
    """Means of those quantities for which there are results."""
    found = {}
    for name, what in context.items():
        with suppress(Missing):
            found[name] = float(per_seed(what)(results).mean())
    return found


def _plain(value: Any) -> Any:
    """Evidence as JSON-ready values with a readable number of digits."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(v) for v in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.6g}") if np.isfinite(value) else None
    if value is None or isinstance(value, str):
        return value
    # Arrays of JAX, which is not loaded here, are known by their method; anything else by its name.
    return _plain(value.tolist()) if hasattr(value, "tolist") else str(value)
