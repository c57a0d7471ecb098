"""Figure 3F: how large should the student be?"""

from recombine.lab import Claim, Figure, Judgement, Preset, Results, Source, Study, figures, grid

from . import DOCUMENT
from .trial import PAPER_SETTINGS, SMOKE_SETTINGS, Config, trial

SIZES = ((1, 8), (2, 16), (2, 32), (4, 64), (16, 128))


def accuracies(results: Results) -> dict[tuple[float, int], float]:
    """The linear hypernetwork's mean accuracy on held-out combinations, by (embedding / M, width).

    Each size has the best of the learning rates tried for it.
    """
    runs = results.where(model="linear")
    sizes = sorted({(r.config["embedding_factor"], r.config["width"]) for r in runs.records})
    return {(f, w): float(best_rate(runs, f, w).metric("ood_accuracy").mean()) for f, w in sizes}


def best_rate(results: Results, factor: float, width: int) -> Results:
    """The trials of one size, with the learning rate that is best on held-out combinations."""
    runs = results.where(embedding_factor=factor, width=width)
    rates = [runs.where(outer_rate=rate) for rate in runs.values("outer_rate")]
    return max(rates, key=lambda r: r.metric("ood_accuracy").mean())


def named(found: dict[tuple[float, int], float]) -> dict[str, float]:
    return {f"{f:g} M, {w} units": v for (f, w), v in found.items()}


def too_small(results: Results) -> Judgement:
    found = accuracies(results)
    evidence = {
        "mean accuracy by embedding and width": named(found),
        "smallest": found[min(found)],
        "best (bound: 0.02 above the smallest)": max(found.values()),
    }
    return Judgement(found[min(found)] < max(found.values()) - 0.02, evidence)


def too_large(results: Results) -> Judgement:
    found = accuracies(results)
    evidence = {
        "mean accuracy by embedding and width": named(found),
        "largest": found[max(found)],
        "best (bound: 0.02 above the largest)": max(found.values()),
    }
    return Judgement(found[max(found)] < max(found.values()) - 0.02, evidence)


def draw_sizes(results: Results):
    found = accuracies(results)
    figure = figures.panels("", x="embedding size and width of the student", y="accuracy")
    for color, (name, title) in enumerate((("test", "trained"), ("ood", "held-out"))):
        runs = results.where(model="linear")
        values = [best_rate(runs, *size).metric(f"{name}_accuracy") for size in found]
        figures.add_points(
            figure, list(named(found)), values, f"{title} combinations", color=color, line=False
        )
    return figure


study = Study(
    name="hyperteacher/overparameterization",
    title="A student somewhat larger than the teacher generalizes best",
    source=Source(DOCUMENT, "Figure 3F"),
    question="How does accuracy on held-out combinations depend on the size of the hypernetwork?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=tuple({"embedding_factor": float(f), "width": w} for f, w in SIZES[::2]),
            settings=SMOKE_SETTINGS,
            cost="40 s on two cores",
        ),
        "laptop": Preset(
            seeds=3,
            conditions=tuple({"embedding_factor": float(f), "width": w} for f, w in SIZES),
            settings={"M": 4, "K": 2, "steps": 2000},
            cost="10 min on two cores",
        ),
        "paper": Preset(
            seeds=3,
            conditions=grid(
                embedding_factor=(1.0, 2.0, 4.0, 8.0, 16.0),
                width=(16, 32, 64, 128, 256, 512),
                outer_rate=(0.0003, 0.001, 0.003),
                model=("linear", "nonlinear"),
            ),
            settings=PAPER_SETTINGS | {"M": 4, "K": 2, "teacher_width": 16},
            cost="months on an accelerator",
        ),
    },
    claims=(
        Claim(
            "too-small",
            "A student of the teacher's own size is worse on held-out combinations than the best "
            "one, by at least 2 points.",
            "Figure 3F",
            too_small,
        ),
        Claim(
            "too-large",
            "The largest student is worse on held-out combinations than the best one, by at least "
            "2 points.",
            "Figure 3F",
            too_large,
        ),
    ),
    figures=(Figure("sizes", "Accuracy by size of the student", "Figure 3F.", draw_sizes),),
    notes="The paper chooses the learning rate anew for every size, over three values; preset "
    "laptop does not, and follows a diagonal of sizes.",
)
