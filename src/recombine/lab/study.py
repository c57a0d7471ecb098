"""What a study is: conditions x seeds of a trial, with figures, claims and the paper's numbers."""

import ast
import inspect
import itertools
import json
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from .._checks import check_counts as check_counts
from .claims import Claim
from .errors import UserError, nearest
from .reference import Beside

if TYPE_CHECKING:
    from plotly.graph_objects import Figure as PlotlyFigure

    from .results import Results

PRESETS = ("smoke", "laptop", "paper")
Condition = Mapping[str, Any]


@dataclass(frozen=True)
class Source:
    """Where the question comes from."""

    document: str
    """Authors, title, year."""
    where: str
    """The figure, table or section."""


@dataclass(frozen=True)
class Figure:
    """A figure of the report, drawn from results."""

    name: str
    """A slug, unique within the study."""
    title: str
    caption: str
    """What is shown, and which panel of the paper it corresponds to."""
    draw: "Callable[[Results], PlotlyFigure]"


def grid(**axes: Sequence[Any]) -> tuple[dict[str, Any], ...]:
    """All combinations of the axes' values, as conditions: `grid(K=(1, 2), gain=(0.1,))`."""
    return tuple(
        dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())
    )


def check_intervals(steps: int, **every: int) -> None:
    """Refuse settings with which `steps` of training are not whole intervals between measurements.

    For a config's `__post_init__`: `check_intervals(self.steps, every=self.every)`.
    """
    for name, interval in every.items():
        if interval < 1:
            raise ValueError(f"{name}={interval} is less than 1")
        if steps < 0 or steps % interval:
            raise ValueError(f"steps={steps} is not a multiple of {name}={interval}")


@dataclass(frozen=True)
class Preset:
    """A size at which a study can be run."""

    seeds: int
    """How many seeds, unless `--seeds` says otherwise."""
    conditions: Sequence[Condition] = ({},)
    """Each sets some fields of the study's config."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Config fields that differ from their defaults, in every condition."""
    cost: str = ""
    """Measured, with the machine: `40 s on two cores`."""


@dataclass(frozen=True)
class Trial:
    """One run of a study's trial function: a condition and a seed."""

    study: str
    preset: str
    condition: Condition
    """The fields that the condition sets."""
    overrides: Condition
    """The fields that the user set."""
    config: Condition
    """All fields of the config, resolved."""
    seed: int
    code: str = ""
    """Which code it runs: see `Study.code`."""

    @cached_property
    def id(self) -> str:
        """The trial's identity: equal for equal study, condition, preset, overrides and seed.

        Condition and overrides enter as the config that they resolve to, and the study with its
        code, so a study that has changed makes new trials of its own.
        """
        identity = {
            "study": self.study,
            "code": self.code,
            "preset": self.preset,
            "config": self.config,
            "overrides": self.overrides,
            "seed": self.seed,
        }
        return sha256(canonical(identity).encode()).hexdigest()[:20]

    @property
    def shape(self) -> str:
        """Equal for trials that run the same compiled program: all but the real-valued fields."""
        parts = {k: v for k, v in self.config.items() if not isinstance(v, float)}
        return canonical({"study": self.study, "config": parts})

    @property
    def label(self) -> str:
        """The condition in words: `K=3, mask=ring`."""
        return ", ".join(f"{k}={_show(v)}" for k, v in self.condition.items())


def canonical(value: Any) -> str:
    """`value` as JSON, one spelling for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _show(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Study:
    """A recipe that runs, and whose claims a program checks."""

    name: str
    """`family/study`."""
    title: str
    source: Source
    question: str
    """One sentence, with a question mark."""
    config: type
    """A frozen dataclass; one docstring per field. Presets and conditions set its fields."""
    trial: Callable[..., None]
    """`trial(config, key, run)`: a pure function of `config` and the PRNG `key` that reports
    metrics, curves and arrays to `run`, a [`recombine.lab.Run`][]."""
    presets: Mapping[str, Preset]
    claims: Sequence[Claim] = ()
    figures: Sequence[Figure] = ()
    beside: Sequence[Beside] = ()
    """Our numbers beside the paper's."""
    notes: str = ""
    """What differs from the paper, and why."""
    float64: bool = False
    """Whether trials run with 64-bit numbers."""
    code: str = ""
    """The version of its code, set when it is loaded: the package's, or the file's checksum."""

    def __post_init__(self):
        if set(self.presets) != set(PRESETS):
            raise ValueError(f"{self.name}: a study has the presets {', '.join(PRESETS)}")

    @property
    def family(self) -> str:
        return self.name.partition("/")[0]

    def preset(self, name: str) -> Preset:
        if name not in self.presets:
            raise UserError(f"no preset {name!r}: {nearest(name, PRESETS)}")
        return self.presets[name]

    def trials(
        self,
        preset: str = "laptop",
        *,
        seeds: int | None = None,
        seed_offset: int = 0,
        overrides: Condition | None = None,
    ) -> list[Trial]:
        """Every trial of `preset`: its conditions, with `overrides` on top, times its seeds."""
        chosen = self.preset(preset)
        overrides = dict(overrides or {})
        trials: dict[str, Trial] = {}
        for condition in chosen.conditions:
            condition = {**condition, **{k: v for k, v in overrides.items() if k in condition}}
            values = {**chosen.settings, **condition, **overrides}
            try:
                config = _plain(replace(self.config(), **values))
            except ValueError as error:
                raise UserError(f"{self.name}: {error}") from None
            for i in range(chosen.seeds if seeds is None else seeds):
                seed = seed_offset + i
                trial = Trial(self.name, preset, condition, overrides, config, seed, self.code)
                trials.setdefault(trial.id, trial)
        return list(trials.values())

    def parse(self, assignments: Sequence[str]) -> dict[str, Any]:
        """`["K=3", "mask=ring"]` as config fields with their types."""
        types = get_type_hints(self.config)
        parsed = {}
        for assignment in assignments:
            name, equals, text = assignment.partition("=")
            name = _field_name(name)
            if not equals:
                raise UserError(
                    f"--set {assignment!r}: write name=value, as in --set {next(iter(types))}=1"
                )
            if name not in types:
                raise UserError(f"{self.name} has no setting {name!r}: {nearest(name, types)}")
            try:
                parsed[name] = _parse(text.strip(), types[name])
            except ValueError as error:
                raise UserError(f"--set {assignment!r}: {error}") from None
        return parsed

    def has_setting(self, name: str) -> bool:
        return _field_name(name) in get_type_hints(self.config)

    def settings(self) -> list[tuple[str, Any, str]]:
        """Name, default and docstring of every field of the config."""
        docs = _field_docs(self.config)
        default = self.config()
        return [
            (f.name, getattr(default, f.name), docs.get(f.name, "")) for f in fields(self.config)
        ]


def _field_name(text: str) -> str:
    return text.strip().replace("-", "_")


def _plain(config: Any) -> dict[str, Any]:
    """A config as JSON-ready values: tuples as lists, integers given for reals as reals."""
    types = get_type_hints(type(config))
    values = {}
    for f in fields(config):
        value = getattr(config, f.name)
        if types[f.name] is float:
            value = float(value)
        values[f.name] = list(value) if isinstance(value, tuple) else value
    return values


def from_plain(values: Condition) -> dict[str, Any]:
    """Config fields from their JSON-ready form: the inverse of `_plain`."""
    return {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}


def _parse(text: str, kind: Any) -> Any:
    """`text` as a value of type `kind`, or a ValueError that says what was expected."""
    choices = get_args(kind)
    if get_origin(kind) is tuple:
        parts = text.split(",")
        if choices[-1] is not Ellipsis and len(parts) != len(choices):
            raise ValueError(f"expected {len(choices)} values with commas between, got {text!r}")
        return tuple(_parse(part.strip(), choices[0]) for part in parts)
    if get_origin(kind) is Literal:
        named = {str(choice): choice for choice in choices}
        if text not in named:
            raise ValueError(nearest(text, named))
        return named[text]
    if type(None) in choices:  # an optional value
        (kind,) = (choice for choice in choices if choice is not type(None))
        return None if text.lower() == "none" else _parse(text, kind)
    if kind is bool:
        if text.lower() not in ("true", "false", "1", "0", "yes", "no"):
            raise ValueError("expected true or false")
        return text.lower() in ("true", "1", "yes")
    try:
        return kind(text)
    except ValueError:
        word = {int: "a whole number", float: "a number"}.get(kind, kind.__name__)
        raise ValueError(f"expected {word}, got {text!r}") from None


def _field_docs(config: type) -> dict[str, str]:
    """The string that follows each field in the class body, or in that of a class it extends."""
    parent = config.__base__
    docs = {} if parent in (None, object) else _field_docs(parent)
    body = ast.parse(textwrap.dedent(inspect.getsource(config))).body[0]
    assert isinstance(body, ast.ClassDef)
    for item, following in itertools.pairwise(body.body):
        if (
            isinstance(item, ast.AnnAssign)
            and isinstance(item.target, ast.Name)
            and isinstance(following, ast.Expr)
            and isinstance(following.value, ast.Constant)
        ):
            docs[item.target.id] = inspect.cleandoc(str(following.value.value)).replace("\n", " ")
    return docs
