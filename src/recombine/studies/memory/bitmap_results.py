"""What studies on tasks of bits read from their results."""

from recombine.lab import Figure, Results, figures

from .variants import networks_in


def draw_loss(results: Results):
    """Training loss of every network, as in Figures 2.2a and 2.3b."""
    figure = figures.panels("", x="updates", y="loss per sequence")
    for color, (name, condition) in enumerate(networks_in(results).items()):
        steps, losses = results.curve("loss", **condition)
        # What was observed first is of the untrained network.
        figures.add_seeds(figure, steps[1:], losses[:, 1:], name, color=color)
    return figure


def draw_errors(results: Results):
    """Errors after training."""
    measures = {"test_bits": "wrong bits", "test_whole": "sequences without an error"}
    figure = figures.panels(*measures.values(), x="", y="share", columns=1)
    networks = networks_in(results)
    for panel, metric in enumerate(measures):
        values = [results.metric(metric, **condition) for condition in networks.values()]
        figures.add_points(
            figure, list(networks), values, measures[metric], panel=panel, line=False
        )
    return figure


def draw_by_part(results: Results, x: str):
    """Wrong bits of every part of a sequence."""
    figure = figures.panels("", x=x, y="wrong bits")
    for color, (name, condition) in enumerate(networks_in(results).items()):
        parts, errors = results.curve("by_part", **condition)
        figures.add_points(figure, parts, list(errors.T), name, color=color)
    return figure


LOSS = Figure(
    "loss",
    "Loss during training",
    "Cross-entropy of all bits per sequence, mean over the updates between two measurements: all "
    "seeds and their mean.",
    draw_loss,
)
ERRORS = Figure(
    "errors",
    "Errors after training",
    "On fresh sequences: all seeds, their mean and its 95 % interval.",
    draw_errors,
)
