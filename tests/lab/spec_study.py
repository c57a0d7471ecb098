"""A study for the lab's own tests: networks that are specs, with parts that are specs."""

from dataclasses import dataclass

from recombine._spec import AbstractSpec, spec_name
from recombine.lab import Claim, Preset, Source, Study, every_seed, figures, grid, per_seed
from recombine.lab.study import Figure


class AbstractScores(AbstractSpec):
    """How columns attend."""


@dataclass(frozen=True)
class Softmax(AbstractScores):
    """Plain attention."""

    dropout: float = 0.1
    """Dropout of the weights."""

    def build(self, sizes, key):
        return self.dropout


@dataclass(frozen=True)
class Nearest(AbstractScores):
    """Attention to the closest match."""

    dropout: float = 0.2
    """Dropout of the keys."""
    bias: float = -2.0
    """Where the bias of matches starts."""

    def build(self, sizes, key):
        return self.dropout + self.bias


class AbstractNetwork(AbstractSpec):
    """A network."""


@dataclass(frozen=True)
class Router(AbstractNetwork):
    """A network with attention."""

    width: int = 4
    """Column width."""
    layers: int = 2
    """How often the layer is applied."""
    scores: AbstractScores = Nearest()
    """How columns attend."""
    halting: AbstractScores | None = None
    """What decides when to stop."""
    shares: tuple[float, ...] = (0.5, 0.5)
    """Shares of lengths."""

    def __post_init__(self):
        if self.width % 2:
            raise ValueError(f"width={self.width} is odd")

    def build(self, sizes, key):
        return sizes + self.layers * self.scores.build(sizes, key)


@dataclass(frozen=True)
class Recurrent(AbstractNetwork):
    """A network without attention."""

    name = "lstm"
    width: int = 8
    """Number of units."""

    def build(self, sizes, key):
        return sizes + self.width


@dataclass(frozen=True)
class Config:
    """Settings of the study."""

    model: AbstractNetwork = Router()
    """The network that learns."""
    direction: str = "forward"
    """How inputs are written."""
    rate: float = 0.1
    """Step size."""
    steps: int = 10
    """Updates."""
    sizes: tuple[int, ...] = (1, 2)
    """Sizes of something."""


def trial(config, key, recorder):
    recorder.metric("score", config.model.build(config.steps, key))
    recorder.metric("rate", config.rate)


def depends(condition):
    """Networks without attention learn at a rate of their own, and backward takes longer."""
    follows = {"steps": 20 if condition["direction"] == "backward" else 10}
    if spec_name(condition["model"]) == "lstm":
        follows["rate"] = 0.5
    else:
        follows["model.layers"] = 6
    return follows


def draw(results):
    figure = figures.panels("", x="network", y="score")
    names = results.values("model")
    figures.add_points(figure, names, [results.metric("score", model=m) for m in names], "score")
    return figure


study = Study(
    name="tests/specs",
    title="Networks as specs",
    source=Source("Nobody", "nowhere"),
    question="Which network?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(
            seeds=1, conditions=grid(model=("router", "lstm")), settings={"model.width": 2}
        ),
        "laptop": Preset(
            seeds=3,
            conditions=grid(model=("router", "lstm"), direction=("forward", "backward")),
            depends=depends,
        ),
        "paper": Preset(
            seeds=3, conditions=grid(model=(Router(width=16, scores=Softmax()), Recurrent(64)))
        ),
    },
    claims=(
        Claim(
            "router-ahead",
            "The router scores less.",
            "nowhere",
            every_seed(per_seed("score", model="router") - per_seed("score", model="lstm")) < 0,
        ),
    ),
    figures=(Figure("scores", "Scores", "Scores.", draw),),
)
