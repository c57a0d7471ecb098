"""Table 3: are images classified in combinations of classes that training never shows?"""

from recombine.lab import (
    Beside,
    Claim,
    Figure,
    Preset,
    Results,
    Source,
    Study,
    all_of,
    difference,
    figures,
    grid,
    mean,
    per_seed,
    reference,
)

from . import DOCUMENT
from .images import AS_PUBLISHED, SMOKE, lead
from .images_trial import CHANCE, FAMILY, IN_TABLES, METHODS, Config, trial


def draw_accuracy(results: Results):
    figure = figures.panels("", x="method", y="component accuracy")
    parts = {"trained combinations": "trained_accuracy", "held-out combinations": "accuracy"}
    for color, (name, metric) in enumerate(parts.items()):
        values = [results.metric(metric, method=method) for method in METHODS]
        figures.add_points(figure, list(METHODS.values()), values, name, color=color, line=False)
    figures.add_level(figure, CHANCE, "chance")
    return figure


def draw_learning(results: Results):
    figure = figures.panels("", x="training inputs", y="accuracy on held-out combinations")
    for color, (method, name) in enumerate(METHODS.items()):
        seen, values = results.curve("accuracy", method=method)
        figures.add_seeds(figure, seen, values, name, color=color)
    return figure


def published(method: str):
    """The paper's accuracy in Table 3."""
    return reference(FAMILY, artifact="table-3", model=IN_TABLES[method]).as_share()


CONDITIONS = grid(method=tuple(METHODS))

study = Study(
    name="modularity-scaling/combinations",
    title="The cost of new combinations of known classes, for one network and for modules",
    source=Source(DOCUMENT, "Table 3"),
    question="Are images classified as well in combinations of classes that no training input had?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=CONDITIONS,
            settings=SMOKE | {"held_out": 0.1},
            cost="10 s on two cores",
        ),
        "laptop": Preset(
            seeds=5,
            conditions=CONDITIONS,
            settings={"k": 3, "held_out": 0.1},
            cost="40 s on two cores",
        ),
        "paper": Preset(
            seeds=5,
            conditions=CONDITIONS,
            settings=AS_PUBLISHED | {"k": 6, "held_out": 0.1},
            cost="a day on an accelerator: 300 million weights per network; needs cifar-10",
        ),
    },
    claims=(
        Claim(
            "new-combinations-cost-little",
            "With every method accuracy on held-out combinations is within {0:points} of that on "
            "trained combinations, on average over runs.",
            "Table 3",
            all_of(
                mean(per_seed("trained_accuracy") - per_seed("accuracy"), method=m) <= 0.02
                for m in METHODS
            ),
            seeds=5,
        ),
        Claim(
            "modular-above-monolithic",
            "On held-out combinations modules with random projections are ahead of one network.",
            "Table 3",
            mean(lead("modular", "monolithic")) > 0,
            seeds=5,
        ),
        Claim(
            "ours-above-modular",
            "On held-out combinations modules with the projections of the kernel rule are ahead of "
            "those with random ones.",
            "Table 3",
            mean(lead("kernel", "modular")) > 0,
            seeds=5,
        ),
    ),
    figures=(
        Figure(
            "accuracy",
            "Accuracy on trained and on held-out combinations",
            "Table 3, on 8x8 digits with k = 3. Both parts consist of test images.",
            draw_accuracy,
        ),
        Figure(
            "learning",
            "Accuracy on held-out combinations during training",
            "Every input is seen once.",
            draw_learning,
        ),
    ),
    beside=(
        Beside(
            "ours minus modular (CIFAR-10, full size)",
            difference(published("kernel"), published("modular")),
            lead("kernel", "modular"),
        ),
        Beside(
            "modular minus monolithic (CIFAR-10, full size)",
            difference(published("modular"), published("monolithic")),
            lead("modular", "monolithic"),
        ),
    ),
    notes="The paper has k = 6 images of CIFAR-10 and does not say how many combinations are held "
    "out; here k = 3 digits, and about a tenth of the 1,000 ordered triples, different ones in "
    "every run. Test inputs of trained combinations consist of test images too: they differ from "
    "the held-out ones only in the combination. Accuracies are not comparable with the paper's.",
)
