"""What a study is: conditions x seeds of a trial, with figures, claims and the paper's numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, get_origin

from .claims import Claim
from .code import code_digest, function_name, has_name
from .conditions import Case, Condition, Preset, axes_of, resolve
from .conditions import grid as grid
from .errors import UserError, nearest
from .networks import Trained as Trained
from .reference import Beside
from .settings import (
    Setting,
    canonical,
    classes_in,
    described,
    from_plain,
    parse,
    plain,
    types_of,
    without_folders,
)
from .specs import shown

if TYPE_CHECKING:
    from plotly.graph_objects import Figure as PlotlyFigure

    from .results import Results

MOST_CHARACTERS = 100
"""How long the name of a study may be."""
PRESETS = ("smoke", "laptop", "paper")
"""Those that every study of the package has; a user's own has some of them, or others."""


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
class Trial:
    """One call of a trial function with a config and a seed, and who asks for it."""

    study: str
    preset: str
    condition: Condition
    """The settings that the condition makes, by full name; specs by the names that are shown."""
    overrides: Condition
    """The settings that the user makes, by full name."""
    config: Condition
    """All fields of the config, resolved. A spec is its name, `spec`, and its fields."""
    seed: int
    function: str = ""
    """The trial function, as `recombine.lab.code.function_name` has it."""
    code: str = ""
    """The digest of the code that it can reach."""
    float64: bool = False
    """Whether it runs with 64-bit numbers."""
    needs: str = ""
    """The identity of the trial whose network it looks at."""
    asked_by: Condition | None = None
    """The config of the trial that needs this one; None if the study asks for it itself."""

    @cached_property
    def id(self) -> str:
        """The trial's identity: equal for equal function, code, config and seed.

        Who asks for it is no part of it: studies and presets share their trials.
        """
        needs = {"needs": self.needs} if self.needs else {}
        return _checksum({"recipe": self.recipe, "code": self.code, **needs})

    @cached_property
    def recipe(self) -> str:
        """What is equal for trials that differ only in their code."""
        return _checksum(
            {
                "function": self.function or self.study,
                "config": self.key,
                "seed": self.seed,
                "float64": self.float64,
            }
        )

    @cached_property
    def key(self) -> str:
        """The config as text, equal wherever the files of a user's specs lie."""
        return canonical(without_folders(self.config))

    @property
    def shape(self) -> str:
        """Equal for trials that run the same compiled program: all but the real-valued fields."""
        whose = self.function or self.study
        return canonical({"function": whose, "config": _without_reals(self.config)})

    @property
    def label(self) -> str:
        """The condition in words: `K=3, mask=ring`, or `model=ndr, model.layers=12`."""
        return in_words(self.condition)


def _checksum(identity: Any) -> str:
    return sha256(canonical(identity).encode()).hexdigest()[:20]


def _without_reals(values: Condition) -> dict[str, Any]:
    return {
        name: _without_reals(value) if isinstance(value, dict) else value
        for name, value in values.items()
        if not isinstance(value, float)
    }


def in_words(settings: Condition) -> str:
    """Settings by full name, as a user would write them: `K=3, rate=0.1`."""
    return ", ".join(f"{name}={setting_text(value)}" for name, value in settings.items())


def setting_text(value: Any) -> str:
    """The value of a setting as a user would write it."""
    if isinstance(value, (list, tuple)):
        return ",".join(map(setting_text, value))
    return f"{value:g}" if isinstance(value, float) else str(shown(value))


def _check_name(name: Any) -> None:
    """Refuse what cannot be the name of a study: it is part of addresses and file names."""
    if not isinstance(name, str) or not name:
        raise ValueError(f"the name of a study is a text such as family/study, not {name!r}")
    if len(name) > MOST_CHARACTERS:
        raise ValueError(
            f"the name of a study has at most {MOST_CHARACTERS} characters, not {len(name)}:"
            f" {name[:20]}..."
        )
    if not name.isprintable() or any(not part.strip(". ") for part in name.split("/")):
        raise ValueError(f"{name!r} cannot be the name of a study: write family/study")


def _has_no_default(field: Any) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


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
    """`trial(config, key, recorder)`: a pure function of `config` and the PRNG `key` that reports
    metrics, curves and arrays to `recorder`, a [`recombine.lab.Recorder`][]."""
    presets: Mapping[str, Preset]
    claims: Sequence[Claim] = ()
    figures: Sequence[Figure] = ()
    needs: Callable[[Any], Trained | None] | None = None
    """Of a config, the trial whose network a trial with this config looks at, with the same seed.
    It runs first, unless any study has had it done; what it measures counts as measured by the one
    that looks, too. See `Recorder.trained`."""
    beside: Sequence[Beside] = ()
    """Our numbers beside the paper's."""
    notes: str = ""
    """What differs from the paper, and why."""
    float64: bool = False
    """Whether trials run with 64-bit numbers."""

    def __post_init__(self):
        _check_name(self.name)
        if not self.presets:
            raise ValueError(f"{self.name} has no preset: give one, such as laptop")
        for name, preset in self.presets.items():
            if not isinstance(preset, Preset):
                raise TypeError(f"{self.name}: preset {name} is {preset!r}: write Preset(...)")
        if not callable(self.trial):
            raise TypeError(f"{self.name}: the trial is {self.trial!r}: give a function")
        if not is_dataclass(self.config):
            raise TypeError(f"{self.name}: the config must be a frozen dataclass")
        bare = [f.name for f in fields(self.config) if f.init and _has_no_default(f)]
        if bare:
            raise ValueError(f"{self.name}: its config needs a default for {', '.join(bare)}")

    @property
    def family(self) -> str:
        return self.name.partition("/")[0]

    @property
    def default_preset(self) -> str:
        """`laptop`, or the first preset that is not for the mechanics only."""
        return next((n for n in ("laptop", *self.presets) if n in self.presets and n != "smoke"),
                    next(iter(self.presets)))  # fmt: skip

    def preset(self, name: str) -> Preset:
        if name not in self.presets:
            raise UserError(f"{self.name} has no preset {name!r}: {nearest(name, self.presets)}")
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
        count = self.preset(preset).seeds if seeds is None else seeds
        return [
            self._trial(preset, case, seed)
            for case in self.cases(preset, overrides)
            for seed in range(seed_offset, seed_offset + count)
        ]

    def _trial(self, preset: str, case: Case, seed: int) -> Trial:
        trial = Trial(
            self.name, preset, case.condition, case.overrides, case.config, seed,
            function=self._function_name(self.trial),
            code=code_digest(self.trial, classes_in(self.config, case.config)),
            float64=self.float64,
        )  # fmt: skip
        needed = self.needed_by(trial)
        if needed is None:
            return trial
        return replace(trial, needs=needed.id, code=_checksum([trial.code, needed.code]))

    def needed_by(self, trial: Trial) -> Trial | None:
        """The trial whose network `trial` looks at, if it looks at any."""
        if self.needs is None:
            return None
        needed = self.needs(from_plain(self.config, trial.config))
        if needed is None:
            return None
        config = plain(needed.config)
        return replace(
            trial,
            config=config,
            function=self._function_name(needed.trial),
            code=code_digest(needed.trial, classes_in(type(needed.config), config)),
            needs="",
            asked_by=trial.config,
        )

    def work(self, trial: Trial) -> tuple[Callable[..., None], Any]:
        """The function to call for a trial of this study, and its config.

        Raises `UserError` if the code is no longer that of the plan.
        """
        asked = dict(trial.config if trial.asked_by is None else trial.asked_by)
        now = self._trial(trial.preset, Case({}, {}, asked, {}), trial.seed)
        if trial.asked_by is not None:
            needed = self.needed_by(now)
            assert needed is not None
            now = needed
        if now.code != trial.code:
            raise UserError("its code has changed since the run began: run it again")
        config = from_plain(self.config, asked)
        if trial.asked_by is None:
            return self.trial, config
        assert self.needs is not None
        trained = self.needs(config)
        assert trained is not None
        return trained.trial, trained.config

    def _function_name(self, function: Callable) -> str:
        """A function without a name of its own is this study's alone."""
        name = function_name(function)
        return name if has_name(function) else f"{name} of {self.name}"

    def cases(self, preset: str, overrides: Condition | None = None) -> list[Case]:
        """The conditions of `preset` with all that follows from them, and `overrides` on top."""
        try:
            return resolve(self.config, self.preset(preset), overrides or {})
        except (ValueError, UserError) as error:
            raise UserError(f"{self.name}: {error}") from None

    def parse(self, assignments: Sequence[str], preset: str = "laptop") -> dict[str, Any]:
        """`["K=3", "mask=ring"]` as settings with their types.

        An axis of the preset's conditions may have several values, with commas between. Fields of
        specs stay text, since their types depend on the spec.
        """
        types = types_of(self.config)
        axes = axes_of(self.preset(preset))
        parsed: dict[str, Any] = {}
        for assignment in assignments:
            name, equals, text = assignment.partition("=")
            name, text = _field_name(name), text.strip()
            if not equals:
                raise UserError(
                    f"--set {assignment!r}: write name=value, as in --set {next(iter(types))}=1"
                )
            root, dot, _ = name.partition(".")
            if root not in types:
                raise UserError(f"{self.name} has no setting {name!r}: {nearest(root, types)}")
            kind = types[root]
            several = name in axes and get_origin(kind) is not tuple and "," in text
            try:
                if dot:
                    parsed[name] = text
                elif several:
                    parsed[name] = tuple(parse(part.strip(), kind) for part in text.split(","))
                else:
                    parsed[name] = parse(text, kind)
            except ValueError as error:
                known = f" (several values are for axes: {', '.join(axes)})" if axes else ""
                hint = known if "," in text and not several else ""
                raise UserError(f"--set {assignment!r}: {error}{hint}") from None
        return parsed

    def has_setting(self, name: str) -> bool:
        return _field_name(name).partition(".")[0] in types_of(self.config)

    def settings(self) -> list[Setting]:
        """Every field of the config, and of the specs that it holds, with default and docstring."""
        return list(described(self.config()))


def _field_name(text: str) -> str:
    return text.strip().replace("-", "_")
