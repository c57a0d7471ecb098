"""Figure A5: how many combinations may be held out?"""

from recombine.lab import Claim, Figure, Judgement, Results, Source, Study, figures, grid

from ..meta_models import HYPERNETWORKS
from . import DOCUMENT
from .trial import PAPER_SETTINGS, SMOKE_SETTINGS, Config, mini_preset, paper_preset, trial


def accuracy_by_fraction(results: Results, M: int, name: str = "ood") -> dict[float, float]:
    """The mean accuracy by held-out fraction."""
    runs = results.where(M=M)
    return {
        f: float(runs.metric(f"{name}_accuracy", held_out=f).mean())
        for f in sorted(runs.values("held_out"))
    }


def falls(results: Results) -> Judgement:
    found = {M: accuracy_by_fraction(results, M) for M in sorted(results.values("M"))}
    drops = {M: next(iter(a.values())) - list(a.values())[-1] for M, a in found.items()}
    evidence = {
        f"mean accuracy on held-out combinations, M={M}": {f"{k:g}": v for k, v in a.items()}
        for M, a in found.items()
    } | {"drop from the least to the most held out (bound: above 0)": list(drops.values())}
    return Judgement(min(drops.values()) > 0, evidence)


def falls_less_with_more_modules(results: Results) -> Judgement:
    modules = sorted(results.values("M"))
    drops = {}
    for M in modules:
        least, *_, most = accuracy_by_fraction(results, M).values()
        drops[str(M)] = least - most
    falls = list(drops.values())
    evidence = {"drop by M (bound: smaller at the largest than at the smallest)": drops}
    return Judgement(len(falls) > 1 and falls[-1] < falls[0], evidence)


def trained_stay(results: Results) -> Judgement:
    spreads = {}
    for M in sorted(results.values("M")):
        means = accuracy_by_fraction(results, M, "test").values()
        spreads[str(M)] = max(means) - min(means)
    evidence = {"spread over fractions by M (bound: at most 0.1)": spreads}
    return Judgement(max(spreads.values()) <= 0.1, evidence)


def draw_fractions(results: Results):
    figure = figures.panels("", x="fraction of combinations held out", y="accuracy")
    for color, M in enumerate(sorted(results.values("M"))):
        runs = results.where(M=M)
        fractions = sorted(runs.values("held_out"))
        for name, title in (("ood", "held-out"), ("test", "trained")):
            values = [runs.metric(f"{name}_accuracy", held_out=f) for f in fractions]
            hue = color if name == "ood" else color + 3
            figures.add_points(figure, fractions, values, f"M = {M}, {title}", color=hue)
    return figure


study = Study(
    name="hyperteacher/held-out",
    title="Generalization survives until most combinations are held out",
    source=Source(DOCUMENT, "Figure A5"),
    question="How does accuracy on held-out combinations depend on the fraction held out?",
    config=Config,
    trial=trial,
    presets={
        "smoke": mini_preset(
            seeds=1,
            conditions=grid(held_out=(0.1, 0.5)),
            settings=SMOKE_SETTINGS,
            cost="40 s on two cores",
        ),
        "laptop": mini_preset(
            seeds=3,
            conditions=grid(M=(5, 8), held_out=(0.1, 0.5, 0.7)),
            settings={"steps": 2000},
            cost="8 min on two cores",
        ),
        "paper": paper_preset(
            seeds=3,
            conditions=grid(model=HYPERNETWORKS, M=(4, 8, 16), held_out=(0.1, 0.3, 0.5, 0.7, 0.9)),
            settings={k: v for k, v in PAPER_SETTINGS.items() if k != "M"} | {"K": 3},
            cost="weeks on an accelerator",
        ),
    },
    claims=(
        Claim(
            "falls",
            "Accuracy on held-out combinations falls as more of them are held out.",
            "Figure A5",
            falls,
        ),
        Claim(
            "falls-less-with-more-modules",
            "The fall of accuracy on held-out combinations is smaller with more modules.",
            "Figure A5",
            falls_less_with_more_modules,
        ),
        Claim(
            "trained-stay",
            "Accuracy on trained combinations stays roughly the same (within 10 points).",
            "Figure A5",
            trained_stay,
        ),
    ),
    figures=(Figure("fractions", "Accuracy by fraction held out", "Figure A5.", draw_fractions),),
    notes="K = 3, as the text says; the published code has K = 2 (`--set K=2`). At "
    "preset paper means are over both hypernetworks.",
)
