"""`recombine.examine`: does a trained network reuse the parts of its inputs?"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._errors import UserError
from ..probes import (
    component_dependence,
    factor_codes,
    factor_decodability,
    factor_dependence,
    leakage,
)
from ..probes._factor_dependence import Dependence
from ..splits import Split, random_hold_out, support_report
from ._answers import Answers, answers_of, are_numbers, codes_of, split_outputs
from ._asked import Items, Target, items_of, targets_of
from ._examination import Examination, LayerReport, ModuleReport, OutputReport, Score
from ._modules import module_reports
from ._readers import AbstractReader, JAXReader, Layers, reader_of

SWAPPED = 4096
"""The most inputs that are made by exchanging parts."""
SENSED = 200
"""The most inputs at which derivatives are taken."""
HELD_OUT = 0.25
"""The share of combinations that readouts are scored on, where nothing was said about training."""
TOLERANCE = 1e-3
"""Bits up to which a target counts as independent of a factor."""


def examine(
    network: Any,
    inputs: Any,
    factors: Any,
    *,
    names: Sequence[str] | None = None,
    targets: Any = None,
    train: Any = None,
    layers: Layers = (),
    parts: Mapping[str, Any] | None = None,
    masks: Mapping[str, Any] | None = None,
    seed: int = 0,
    title: str | None = None,
) -> Examination:
    """Ask a trained network what it makes of the factors of its inputs.

    ```python
    report = recombine.examine(
        network, images, {"left": left, "right": right}, targets="left", train=is_trained,
        layers=["convolutions[1]", "dense[0]"], parts={"left": left_half, "right": right_half},
    )
    print(report)
    report.html("report.html")
    ```

    | question | needs |
    |---|---|
    | what each output depends on, in bits | nothing else |
    | leakage of what it should ignore | `targets` |
    | accuracy on held-out combinations, by what kind of support they have | `targets`, `train` |
    | linear decodability of factors by layer, also on held-out combinations | `layers` |
    | additivity and orthogonality of the factors' codes | `layers` |
    | exchange of parts between inputs, in place of the items as they are | `parts` |
    | sensitivity to each part | `parts`, and a network with derivatives |
    | modules per factor, their overlap, and what is right with one alone or without it | `masks` |

    **Arguments:**

    - `network`: an Equinox module or a function that JAX can trace, a PyTorch module (the extra
        `torch`), an estimator of scikit-learn, or any function from arrays to arrays. It is called
        with all inputs at once, and gives scores `[items, classes]`, numbers `[items]`, answers as
        whole numbers or words, several of these in a tuple, list or dict, or
        `[items, outputs, classes]`.
    - `inputs`: an array with an item in every row, or a tuple of such arrays, each an argument of
        the network.
    - `factors`: the factors of the items, a row for each: columns by name, a data frame, dicts,
        rows or an array, or the path of a CSV or Parquet file.
    - `names`: the columns that are factors; of rows without names, their names.
    - `targets`: what the network should answer: the name of a factor, labels `[items]`, real
        numbers, or several of these by name, one per output. A factor that the target does not
        depend on should be ignored.
    - `train`: which items are of trained combinations, or a table of these.
    - `layers`: paths in an Equinox module (`"encoder.layers[1]"`, or a method such as
        `"represent"`), names of PyTorch modules (`"features.3"`), or functions of the inputs by
        name.
    - `parts`: for every factor, which numbers of an input show it: masks of the shape of one input.
    - `masks`: of an Equinox module, masks over its weights by the factors or functions that they
        were found for, as `recombine.learning.find_masks` finds them.
    - `seed`: of the halves of items that readouts are fitted on, and of shuffles.
    - `title`: the heading of the report.
    """
    items = items_of(inputs, factors, names, train)
    rng = np.random.default_rng(seed)
    reader = reader_of(network, layers, items.inputs)
    reading = reader.read(items.inputs)
    outputs = split_outputs(reading.outputs, len(items))
    wanted = targets_of(targets, items, len(outputs))
    shown = _masks(parts, items) if parts else {}
    notes: list[str] = []

    asked: list[Target | None] = [*wanted] or [None] * len(outputs)
    swaps = _Swaps(reader, items, shown, asked, rng) if len(shown) > 1 else None
    support = None
    if items.trained is not None:
        known = _rows(items, items.trained)
        others = _rows(items, ~items.trained)
        support = _support(known, others, items.factors)
    reports = []
    for number, (output, target) in enumerate(zip(outputs, asked, strict=True)):
        name = "output" if len(outputs) == 1 else f"output {number}"
        found = answers_of(output, target, reader.classes, name)
        reports.append(_output_report(number, found, target, items, swaps, support, rng))
    known_to_readouts, drawn = _known(items, notes)
    return Examination(
        items=len(items),
        values={f: len(v) for f, v in zip(items.factors, items.values, strict=True)},
        outputs=tuple(reports),
        layers=tuple(
            _layer_report(name, activity, items, known_to_readouts, rng, notes)
            for name, activity in reading.layers.items()
        ),
        sensitivity=_sensitivity(reader, items, shown, notes),
        support=support,
        notes=tuple(notes),
        modules=_modules(network, masks, reader, items, wanted),
        held_out_here=drawn and bool(reading.layers),
        title=title or Examination.title,
    )


def _rows(items: Items, chosen: np.ndarray) -> list[Any]:
    return [row for row, flag in zip(items.rows, chosen, strict=True) if flag]


def _support(known: list[Any], others: list[Any], factors: Sequence[str]) -> Any:
    if len(factors) < 2:
        return None
    return support_report(known, others or None, factors=factors)


def _masks(parts: Mapping[str, Any], items: Items) -> dict[str, np.ndarray]:
    """The parts of an input that show factors, as masks of its shape."""
    if len(items.inputs) != 1 or items.inputs[0].dtype.kind != "f":
        raise UserError("parts are of inputs that are one array of real numbers")
    shape = items.inputs[0].shape[1:]
    masks = {}
    for name, mask in parts.items():
        if name not in items.factors:
            raise UserError(f"part {name!r} is no factor; there are {', '.join(items.factors)}")
        masks[name] = np.asarray(mask).astype(bool)
        if masks[name].shape != shape:
            raise UserError(
                f"part {name!r} has the shape {masks[name].shape}, one input has {shape}"
            )
    if np.any(sum(mask.astype(int) for mask in masks.values()) > 1):
        raise UserError("two parts have a number of the input in common: let them be disjoint")
    return masks


class _Swaps:
    """Answers to inputs whose parts are exchanged, each part with every other one."""

    def __init__(
        self, reader: AbstractReader, items: Items, masks: dict[str, np.ndarray],
        targets: Sequence[Target | None], rng: np.random.Generator,
    ):  # fmt: skip
        self.factors = tuple(masks)
        count = max(2, int(SWAPPED ** (1 / len(masks)) + 1e-9))
        chosen = rng.permutation(len(items))[:count]
        (x,) = items.inputs
        sizes = [len(chosen)] * len(masks)
        places = chosen[np.indices(sizes).reshape(len(masks), -1)]
        made = x[places[0]].copy()
        for mask, rows in zip(masks.values(), places, strict=True):
            made[:, mask] = x[rows][:, mask]
        outputs = split_outputs(reader.read((made,)).outputs, len(made))
        self._sizes = sizes
        self._codes = [
            codes_of(output, are_numbers(output, target)).reshape(sizes)
            for output, target in zip(outputs, targets, strict=True)
        ]

    def bits(self, output: int) -> dict[str, float]:
        """What an output depends on, part by part."""
        codes = self._codes[output]

        def predict(*components: np.ndarray) -> np.ndarray:
            return codes[components].reshape(-1, 1)

        asked = [np.arange(size) for size in self._sizes]
        found = component_dependence(predict, asked).dependence[0]
        return dict(zip(self.factors, found.clip(0).tolist(), strict=True))

    def leakage(self, output: int, needed: Sequence[str]) -> float:
        """What an output tells of all parts that it should ignore, together."""
        import jax.numpy as jnp

        codes = self._codes[output]
        first = [n for n, factor in enumerate(self.factors) if factor in needed]
        second = [n for n in range(len(self.factors)) if n not in first]
        rows = int(np.prod([self._sizes[n] for n in first], dtype=int))
        table = codes.transpose(*first, *second).reshape(rows, -1)
        return float(leakage(jnp.asarray(table), int(codes.max()) + 1))


def _output_report(
    number: int, found: Answers, target: Target | None, items: Items, swaps: _Swaps | None,
    support: Any, rng: np.random.Generator,
) -> OutputReport:  # fmt: skip
    every = range(len(items.factors))
    told: dict[str, Dependence] = {}
    for f in every:
        told[items.factors[f]] = factor_dependence(found.codes, items.numbers, [f], rng=rng)
    bits = {name: one.told for name, one in told.items()}
    chance = {name: one.by_chance for name, one in told.items()}
    needs = _needs(target, items) if target is not None else None
    leaked = None
    swapped = swaps is not None and set(swaps.factors) == set(items.factors)
    if swapped:
        assert swaps is not None
        bits, chance = swaps.bits(number), dict.fromkeys(items.factors, 0.0)
    if needs is not None:
        ignored = [f for f in every if items.factors[f] not in needs]
        if not ignored:
            leaked = 0.0
        elif swapped:
            assert swaps is not None
            leaked = swaps.leakage(number, needs)
        else:
            given = [f for f in every if items.factors[f] in needs]
            leaked = factor_dependence(found.codes, items.numbers, ignored, given, rng=rng).told
    return OutputReport(
        name=found.name, kind=found.kind, needs=needs, bits=bits, chance=chance, leakage=leaked,
        swapped=swapped, scores=() if target is None else _scores(found, target, items, support),
        unit="accuracy" if found.kind == "classes" else "R²",
    )  # fmt: skip


def _needs(target: Target, items: Items) -> tuple[str, ...]:
    """The factors that a target depends on, given all others.

    Where combinations are too few to tell, those that alone determine it.
    """
    codes = np.unique(target.labels, axis=0, return_inverse=True)[1].ravel()
    if not codes.any():
        return ()
    for f, name in enumerate(items.factors):
        if len(np.unique(np.stack([items.numbers[:, f], codes], axis=1), axis=0)) == len(
            np.unique(items.numbers[:, f])
        ):
            return (name,)
    rng = np.random.default_rng(0)
    return tuple(
        name
        for f, name in enumerate(items.factors)
        if factor_dependence(codes, items.numbers, [f], shuffles=1, rng=rng).bits > TOLERANCE
    )


def _scores(found: Answers, target: Target, items: Items, support: Any) -> tuple[Score, ...]:
    """Accuracy by the kind of support that combinations have."""
    if support is not None:
        combinations = dict.fromkeys(items.rows)
        places = dict(zip(combinations, map(support.judge, combinations), strict=True))
        of_items = np.array([places[row] for row in items.rows])
        kinds = [p for p in ("trained", "within", "undetermined", "across", "new") if p in of_items]
    elif items.trained is not None:
        of_items = np.where(items.trained, "trained", "new")
        kinds = [p for p in ("trained", "new") if p in of_items]
    else:
        of_items, kinds = np.full(len(items), "all"), ["all"]
    return tuple(_score(kind, of_items == kind, found, target, items) for kind in kinds)


def _score(place: str, chosen: np.ndarray, found: Answers, target: Target, items: Items) -> Score:
    from ..lab import confidence_interval

    rows = items.numbers[chosen]
    combinations, of_row = np.unique(rows, axis=0, return_inverse=True)
    if found.kind == "numbers":
        labels, said = target.labels[chosen], found.said[chosen]
        total = np.square(labels - target.labels.mean(axis=0)).sum()
        value = 1 - np.square(labels - said).sum() / total if total > 0 else np.nan
        return Score(place, len(rows), len(combinations), float(value), np.nan, np.nan)
    right = (found.said == target.labels)[chosen].astype(float)
    by_combination = np.bincount(of_row.ravel(), right) / np.bincount(of_row.ravel())
    low = high = np.nan
    if len(by_combination) > 1:
        _, low, high = confidence_interval(by_combination)
        low, high = max(float(low), 0.0), min(float(high), 1.0)
    value = float(by_combination.mean())
    return Score(place, len(rows), len(combinations), value, low, high)


def _known(items: Items, notes: list[str]) -> tuple[np.ndarray, bool]:
    """The items of combinations that readouts are fitted on, and whether they were drawn here."""
    if items.trained is not None and not items.trained.all():
        return items.trained, False
    import jax

    try:
        split: Split = random_hold_out(items.table.codes, HELD_OUT, key=jax.random.key(0))
    except ValueError as error:
        notes.append(f"no combinations are held out for readouts: {error}")
        return np.ones(len(items), bool), True
    held_out = set(items.table.of_codes(split.held_out))
    return np.array([row not in held_out for row in items.rows]), True


def _layer_report(
    name: str, activity: np.ndarray, items: Items, known: np.ndarray, rng: np.random.Generator,
    notes: list[str],
) -> LayerReport:  # fmt: skip
    if len(activity) != len(items):
        raise UserError(
            f"layer {name!r} gives {len(activity)} rows for {len(items)} items: the first axis must"
            " be that of items"
        )
    if not np.isfinite(activity).all():
        raise UserError(f"layer {name!r} has activity that is not finite")
    codes = factor_codes(activity, items.numbers, known)
    read = factor_decodability(activity, items.numbers, known, rng=rng)

    def named(values: Any) -> dict[str, float]:
        return dict(zip(items.factors, map(float, values), strict=True))

    return LayerReport(
        name=name, units=activity.shape[1],
        familiar=named(read.familiar), new=named(read.new), guessing=named(read.guessing),
        additive=codes.additive, additive_by_chance=codes.additive_by_chance,
        additive_new=codes.additive_new, sizes=named(codes.sizes),
        overlaps=tuple(map(tuple, codes.overlaps.tolist())),
        overlaps_by_chance=tuple(map(tuple, codes.overlaps_by_chance.tolist())),
        parallel=named(codes.parallel),
    )  # fmt: skip


def _modules(
    network: Any, masks: Mapping[str, Any] | None, reader: AbstractReader, items: Items,
    targets: Sequence[Target],
) -> tuple[ModuleReport, ...]:  # fmt: skip
    if not masks:
        return ()
    if not isinstance(reader, JAXReader):
        raise UserError("masks are over the weights of an Equinox module, and this is none")
    return module_reports(network, masks, items, targets)


def _sensitivity(
    reader: AbstractReader, items: Items, masks: dict[str, np.ndarray], notes: list[str]
) -> dict[str, float]:
    if not masks:
        return {}
    (x,) = items.inputs
    places = np.linspace(0, len(x) - 1, min(len(x), SENSED)).astype(int)
    try:
        found = reader.sensitivity(x[places], np.stack(list(masks.values())))
    except UserError as error:
        notes.append(f"sensitivity: {error}")
        return {}
    if remark := getattr(reader, "remark", ""):
        notes.append(f"sensitivity: {remark}")
    return dict(zip(masks, map(float, found), strict=True))
