"""The models of the meta-learning studies: their names, their tables of settings, their figures."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from recombine.lab import Missing, Preset, Results, figures
from recombine.models import specs

LINEAR = specs.LinearHypernetworkSpec.name
NONLINEAR = specs.NonlinearHypernetworkSpec.name
ANIL = specs.ANILSpec.name
MAML = specs.MAMLSpec.name
HYPERNETWORKS = (LINEAR, NONLINEAR)
MONOLITHIC = (ANIL, MAML)
MODELS = HYPERNETWORKS + MONOLITHIC
PAIRS = tuple(itertools.product(HYPERNETWORKS, MONOLITHIC))
"""Every hypernetwork with every monolithic model."""
TITLES = {
    LINEAR: "Linear hypernetwork",
    NONLINEAR: "Nonlinear hypernetwork",
    ANIL: "ANIL",
    MAML: "MAML",
}
"""The models in the rows of the paper's tables, by the names of their specs."""
WIDTH, EMBEDDING = "model.width", "model.embedding"
"""The settings that make a hypernetwork larger."""


def title_of(model: str) -> str:
    """What a model is called in figures: its title in the paper, or the name of its spec."""
    return TITLES.get(model, model)


def present(results: Results, models: Sequence[str] = MODELS) -> list[str]:
    """Those of `models` that the results have, and then all that the paper does not have."""
    found = results.values("model")
    return [m for m in models if m in found] + [m for m in found if m not in TITLES]


def sized(results: Results) -> Results:
    """The trials of models that have a width and an embedding."""
    needed = {name.removeprefix("model.") for name in (WIDTH, EMBEDDING)}
    found = tuple(r for r in results.records if needed <= r.config["model"].keys())
    if not found:
        raise Missing("no trial of a model with a width and an embedding")
    return replace(results, records=found)


@dataclass(frozen=True)
class Learner:
    """A model and how it learns: a column of Tables A10 to A12."""

    model: specs.AbstractMetaSpec
    """The model with its sizes."""
    outer_rate: float
    """Learning rate of the slow parameters."""
    inner_rate: float
    """Learning rate of the fast parameters."""
    clip: float
    """Largest global norm of the outer gradient."""
    weight_decay: float
    """Weight decay of the slow parameters."""
    inner_steps: int = 10
    """Steps of adaptation."""

    def settings(self, model: Any) -> dict[str, Any]:
        """The column as settings of a `model`; sizes are for models of the same class only."""
        own = fields(self.model) if type(model) is type(self.model) else ()
        sizes = {f"model.{f.name}": getattr(self.model, f.name) for f in own}
        return sizes | {f.name: getattr(self, f.name) for f in fields(self) if f.name != "model"}


class Table:
    """How each model learns; a model that is not in the table learns as the first one does."""

    def __init__(self, *learners: Learner):
        self._learners = {type(learner.model): learner for learner in learners}
        self._first = learners[0]

    def __getitem__(self, model: Any) -> Learner:
        """The column of a model's class, or the first."""
        return self._learners.get(type(model), self._first)


def table_preset(
    config: type,
    table: Callable[[Mapping[str, Any]], Table],
    *,
    seeds: int,
    cost: str,
    conditions: Sequence[Mapping[str, Any]] = ({},),
    settings: Mapping[str, Any] | None = None,
) -> Preset:
    """A preset in which models have the sizes and learning rates of a table.

    **Arguments:**

    - `config`: the study's config.
    - `table`: makes the table from a condition and `settings`.
    - `seeds`, `cost`, `conditions`, `settings`: those of the `Preset`. What settings and
        conditions say counts more than the table.
    """
    ours = dict(settings or {})

    def depends(condition: dict[str, Any]) -> dict[str, Any]:
        values = ours | condition
        model = values.get("model", config().model)
        found = table(values)[model].settings(model)
        return {name: value for name, value in found.items() if name not in ours}

    return Preset(
        seeds=seeds, cost=cost, conditions=conditions, settings=ours, depends=depends
    )  # fmt: skip


def draw_models(results: Results, metric: str, conditions: Mapping[str, Mapping[str, Any]], y: str):
    """A figure with one panel per condition, one column per model and one point per seed."""
    figure = figures.panels(*conditions, x="", y=y)
    for panel, condition in enumerate(conditions.values()):
        runs = results.where(**condition)
        for color, name in enumerate(present(runs)):
            figures.add_points(
                figure, [title_of(name)], [runs.metric(metric, model=name)], title_of(name),
                color=color, panel=panel, line=False,
            )  # fmt: skip
    return figure


def draw_learning(results: Results, curve: str, y: str, **condition: Any):
    """A figure of one measurement during training, for every model."""
    runs = results.where(**condition)
    figure = figures.panels("", x="outer step", y=y)
    for color, name in enumerate(present(runs)):
        steps, values = runs.curve(curve, model=name)
        figures.add_seeds(figure, steps, values, title_of(name), color=color)
    return figure
