"""Table 4.2: how large should vectors of tokens be against those of positions?"""

from recombine.lab import (
    Claim,
    Figure,
    Preset,
    Results,
    Source,
    Study,
    figures,
    for_all,
    grid,
    largest,
    mean,
    per_seed,
    smallest,
)

from . import DOCUMENT
from .log_results import (
    MINI_PCFG,
    MINI_SCAN,
    SCHEMES,
    SMALL,
    SMOKE,
    beside,
    chosen,
    draw_curves,
    published,
)
from .problems import PCFGSpec
from .training import Config, trial

LAPTOP_STEPS = 3000
"""Updates of preset laptop on PCFG SET."""


def on_laptop(condition):
    """PCFG SET has longer sentences and is trained for fewer steps."""
    return SMALL | ({"steps": LAPTOP_STEPS} if condition["problem"].name == "pcfg" else {})


def of_scheme(metric: str, scheme: str, **where):
    """A metric of the networks with a scheme of embedding scale."""
    return per_seed(metric, **{"model.embedding": scheme}, **where)


def spread(metric: str, **where):
    """How far the best scheme is from the worst, for every seed."""
    values = [of_scheme(metric, scheme, **where) for scheme in SCHEMES]
    return largest(values, f"best {metric}") - smallest(values, f"worst {metric}")


def draw_schemes(results: Results):
    """Accuracy on familiar and on new combinations, by scheme."""
    problems = results.values("problem")
    figure = figures.panels(*problems, x="", y="accuracy", shared_y=True)
    schemes = chosen(results, "model.embedding", SCHEMES)
    for panel, problem in enumerate(problems):
        for color, (metric, words) in enumerate((("iid", "familiar"), ("ood", "new"))):
            values = [
                results.metric(metric, **{"problem": problem, "model.embedding": scheme})
                for scheme in schemes
            ]
            titles = [SCHEMES.get(scheme, scheme) for scheme in schemes]
            figures.add_points(figure, titles, values, words, color=color, panel=panel, line=False)
    return figure


study = Study(
    name="transformer-details/scales",
    title="The scale of embeddings decides about new combinations, and not about familiar ones",
    source=Source(DOCUMENT, "Table 4.2, Section 4.3.4"),
    question="How much does accuracy on new combinations depend on how vectors of tokens and of "
    "positions are scaled against each other?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=grid(**{"model": ("universal",), "model.embedding": ("ped",)}),
            settings=SMOKE,
            cost="15 s on two cores",
        ),
        "laptop": Preset(
            seeds=3,
            conditions=grid(**{
                "problem": (MINI_SCAN, MINI_PCFG), "model": ("universal",),
                "model.embedding": tuple(SCHEMES),
            }),
            depends=on_laptop,
            cost="about 20 min on two cores, not yet measured as a whole",
        ),
        "paper": Preset(
            seeds=5,
            conditions=grid(**{
                "problem": ("cogs", PCFGSpec()), "model": ("transformer",),
                "model.embedding": tuple(SCHEMES),
            }),
            depends=published,
            cost="40 hours per network of COGS on two cores, and far more on PCFG SET",
        ),
    },
    claims=(
        Claim(
            "familiar-alike",
            "On familiar combinations schemes differ by less than {0:points}, on every data set.",
            "Table 4.2",
            for_all("problem", lambda problem: mean(spread("iid", problem=problem)) < 0.01),
        ),
        Claim(
            "new-apart",
            "On new combinations they differ by at least {0:points}, on every data set.",
            "Table 4.2",
            for_all("problem", lambda problem: mean(spread("ood", problem=problem)) >= 0.1),
        ),
        Claim(
            "downscaling-best",
            "On new combinations of every data set, position embedding downscaling is at most "
            "{0:points} below the best other scheme.",
            "Table 4.2",
            for_all(
                "problem",
                lambda problem: (
                    mean(
                        largest(
                            of_scheme("ood", scheme, problem=problem)
                            for scheme in SCHEMES if scheme != "ped"
                        )
                        - of_scheme("ood", "ped", problem=problem)
                    )
                    <= 0.02
                ),
            ),
        ),
    ),
    figures=(
        Figure(
            "schemes",
            "Accuracy by scheme",
            "Table 4.2: all seeds, their mean and its 95 % interval.",
            draw_schemes,
        ),
        Figure(
            "training",
            "Accuracy during training",
            "Mean and standard deviation over seeds and data sets.",
            lambda results: draw_curves(
                results.where(problem=results.values("problem")[0]), "model.embedding", SCHEMES,
                {"iid": "familiar", "ood": "new"},
            ),
        ),
    ),
    beside=tuple(
        beside(
            "table-4.2", task, "transformer", row="Trafo (standard)",
            setting=f"{words}; {steps} steps",
            metric=metric, ours=ours, where={"problem": problem, "model.embedding": scheme},
        )
        for task, problem, steps in (("COGS", "cogs", "50k"),
                                     ("PCFG productivity", "pcfg", "300k"))
        for scheme, words in SCHEMES.items()
        for metric, ours in (("IID validation accuracy", "iid"),
                             ("generalization test accuracy", "ood"))
    ),
    notes="Preset laptop has commands of SCAN and of PCFG SET, fewer and shorter, and the "
    "universal transformer; the paper has COGS and PCFG SET, and separate layers. "
    "The paper's accuracy on familiar pairs of PCFG SET is that of networks trained on another "
    "split.",
)  # fmt: skip
