"""The command that makes results: what a reader types to have them, too."""

from collections.abc import Iterable
from shlex import quote

from ..outcome import Settings
from ..results import Results
from ..specs import shown
from ..study import Study, setting_text


def command(study: Study, reference: str, settings: Settings, results: Results) -> str:
    """`recombine run` with the preset, settings and seeds of these results."""
    words = ["recombine", "run", reference]
    if settings.preset != "laptop":
        words += ["--preset", settings.preset]
    for name, value in settings.overrides.items():
        words += ["--set", f"{name}={setting_text(shown(value))}"]
    head, usual = " ".join(map(quote, words)), study.preset(settings.preset).seeds
    runs = list(_runs(results.seeds)) or [(0, usual)]
    return "\n".join(head + _seeds(first, count, usual) for first, count in runs)


def _seeds(first: int, count: int, usual: int) -> str:
    number = f" --seeds {count}" if count != usual else ""
    return number + (f" --seed-offset {first}" if first else "")


def _runs(seeds: Iterable[int]) -> Iterable[tuple[int, int]]:
    """Consecutive seeds as their first one and how many there are."""
    first = count = 0
    for seed in seeds:
        if count and seed == first + count:
            count += 1
            continue
        if count:
            yield first, count
        first, count = seed, 1
    if count:
        yield first, count
