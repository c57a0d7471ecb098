"""Claims: statements of the papers as predicates over the results of all seeds."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from .results import Results

VerdictWord = Literal["holds", "fails", "undecided"]


class Missing(Exception):
    """The results that a claim or figure needs are missing."""


@dataclass(frozen=True)
class Judgement:
    """What a claim's predicate found."""

    holds: bool
    evidence: dict[str, Any]
    """The numbers behind the judgement, with the bound that they were compared with."""


@dataclass(frozen=True)
class Claim:
    """A statement that results either confirm or do not."""

    name: str
    """A slug, unique within the study."""
    statement: str
    """The paper's statement with its margin."""
    where: str
    """The figure, table or section that states it."""
    judge: "Callable[[Results], Judgement]"
    seeds: int = 3
    """With fewer seeds in any condition the claim stays undecided."""


@dataclass(frozen=True)
class Verdict:
    """A claim, judged on the results of one study at one preset."""

    study: str
    claim: str
    statement: str
    verdict: VerdictWord
    evidence: dict[str, Any] = field(default_factory=dict)
    preset: str = ""
    overrides: dict[str, Any] = field(default_factory=dict)


def judge(claim: Claim, study: str, results: "Results") -> Verdict:
    """The verdict on `claim`; undecided if results are missing."""

    def verdict(word: VerdictWord, evidence: dict[str, Any]) -> Verdict:
        return Verdict(
            study, claim.name, claim.statement, word, _plain(evidence),
            results.preset, dict(results.overrides),
        )  # fmt: skip

    if results.preset == "smoke":
        return verdict("undecided", {"reason": "preset smoke shows the mechanics, not the effect"})
    if results.failed:
        return verdict("undecided", {"reason": f"{results.failed} trials failed or diverged"})
    if results.missing:
        return verdict("undecided", {"reason": f"{results.missing} conditions have not been run"})
    by_condition = results.seeds_by_condition()
    seeds = min(map(len, by_condition), default=0)
    if seeds < claim.seeds:
        reason = f"some condition has {seeds} of the {claim.seeds} seeds that are needed"
        return verdict("undecided", {"reason": reason})
    if any(group != by_condition[0] for group in by_condition):
        return verdict("undecided", {"reason": "conditions have been run with different seeds"})
    try:
        judgement = claim.judge(results)
    except Missing as missing:
        return verdict("undecided", {"reason": str(missing)})
    except Exception as error:  # one claim that raises must not hide the others
        reason = f"the claim could not be judged: {type(error).__name__}: {error}"
        return verdict("undecided", {"reason": reason})
    return verdict("holds" if judgement.holds else "fails", {"seeds": seeds, **judgement.evidence})


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
    return value


def confidence_interval(values: np.ndarray) -> tuple[float, float, float]:
    """Mean and the ends of its 95 % interval (Student's t) over seeds."""
    from scipy.special import stdtrit

    values = np.asarray(values, float)
    n, mean = len(values), float(np.mean(values))
    if n < 2:
        return mean, mean, mean
    half = float(stdtrit(n - 1, 0.975) * np.std(values, ddof=1) / np.sqrt(n))
    return mean, mean - half, mean + half


def paired_difference(values: np.ndarray, others: np.ndarray) -> dict[str, Any]:
    """Evidence on `values` − `others`, two methods on the same seeds: n, mean, 95 % interval."""
    if len(values) != len(others):
        raise Missing(f"{len(values)} trials of one method and {len(others)} of the other")
    mean, low, high = confidence_interval(np.asarray(values) - np.asarray(others))
    return {"n": len(values), "paired difference": mean, "95 % interval": (low, high)}
