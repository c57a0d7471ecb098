"""Two modules of the Mathematics data set: place values, and sums and differences."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from random import Random

from ._translations import Translations, characters_of

Pair = tuple[str, str]

_PLACES = (
    "units", "tens", "hundreds",
    *(f"{first}{second}"
      for second in ("thousands", "millions", "billions", "trillions", "quadrillions")
      for first in ("", "ten ", "hundred ")),
)  # fmt: skip
_SUMS = (
    "{p} + {q}", "{p}+{q}", "Work out {p} + {q}.", "Add {p} and {q}.", "Put together {p} and {q}.",
    "Sum {p} and {q}.", "Total of {p} and {q}.", "Add together {p} and {q}.",
    "What is {p} plus {q}?", "Calculate {p} + {q}.", "What is {p} + {q}?",
)  # fmt: skip
_DIFFERENCES = (
    "{p} - {q}", "Work out {p} - {q}.", "What is {p} minus {q}?", "What is {p} take away {q}?",
    "What is {q} less than {p}?", "Subtract {q} from {p}.", "Calculate {p} - {q}.",
    "What is {p} - {q}?",
)  # fmt: skip
_DISTANCES = tuple(
    f"What is the {word} between {pair}?"
    for word in ("distance", "difference")
    for pair in ("{p} and {q}", "{q} and {p}")
)


def place_value_question(entropy: float, rng: Random) -> Pair:
    """What is one digit of a number of about `entropy` digits?

    ```python
    place_value_question(5.0, Random(0))  # "What is the tens digit of 50495?", "9"
    ```
    """
    digits = str(rng.randint(1, math.ceil(10**entropy + 1)))
    place = rng.randint(1, len(digits))
    return f"What is the {_PLACES[place - 1]} digit of {digits}?", digits[-place]


def add_or_sub_question(entropy: float, rng: Random) -> Pair:
    """What is the sum or the difference of two numbers with about `entropy` digits in all?

    Numbers are whole with probability ½, and decimal fractions otherwise.
    """
    adds = rng.random() < 0.5
    of_first = max(1.0, rng.uniform(0, entropy))
    first, second = (_number(e, rng) for e in (of_first, max(1.0, entropy - of_first)))
    with localcontext(prec=100):
        answer = first + second if adds else first - second
    templates = _SUMS if adds else _DIFFERENCES + (_DISTANCES if first >= second else ())
    question = rng.choice(templates).format(p=written(first), q=written(second))
    return question, written(answer)


def written(number: Decimal) -> str:
    """A number without an exponent, and without needless zeros: `-0.05`, `120`."""
    text = f"{number:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def _number(entropy: float, rng: Random) -> Decimal:
    if rng.random() < 0.5:
        return Decimal(_integer(entropy, rng))
    while True:
        shift, whole = rng.randint(1, math.ceil(entropy)), _integer(entropy, rng)
        if whole % 10**shift:
            with localcontext(prec=100):
                return Decimal(whole).scaleb(-shift)


def _integer(entropy: float, rng: Random) -> int:
    largest = math.ceil(10**entropy / 2)
    return rng.randint(-largest, largest)


_MODULES: dict[str, tuple[Callable[[float, Random], Pair], tuple[tuple[float, float], ...]]] = {
    "place_value": (place_value_question, ((3.0, 10.0), (8.0, 8.0), (12.0, 12.0))),
    "add_or_sub": (add_or_sub_question, ((4.0, 16.0), (12.0, 12.0), (16.0, 20.0))),
}
"""How modules ask, and their entropies in training, interpolation and extrapolation."""


@dataclass(frozen=True)
class Mathematics:
    """Questions and answers, character by character (Saxton et al., 2019).

    ```python
    pairs = Mathematics("add_or_sub").pairs(train=9, iid=2, ood=2)
    pairs["train"][0]  # a question such as "Sum -12 and 0.5.", and its answer, "-11.5"
    ```

    How hard a question is depends on its entropy, about the number of digits. In training it is
    uniform in thirds of a range: easy, medium and hard questions are equally many.
    """

    module: str = "place_value"
    """`place_value`, or `add_or_sub`."""
    train_entropy: tuple[float, float] | None = None
    """The range of entropies in training; None: 3 to 10 for place values, 4 to 16 for sums."""
    iid_entropy: tuple[float, float] | None = None
    """That of interpolation; None: 8 for place values, 12 for sums."""
    ood_entropy: tuple[float, float] | None = None
    """That of extrapolation; None: 12 for place values, 16 to 20 for sums."""

    def __post_init__(self):
        if self.module not in _MODULES:
            raise ValueError(f"unknown module {self.module!r}: {' or '.join(_MODULES)}")
        for name in ("train_entropy", "iid_entropy", "ood_entropy"):
            low, high = getattr(self, name) or (1.0, 1.0)
            if not 1 <= low <= high <= 20:
                raise ValueError(f"{name}=({low:g}, {high:g}) must rise and lie in 1 to 20")

    def pairs(self, *, train: int, iid: int, ood: int, seed: int = 0) -> dict[str, list[Pair]]:
        """Different questions: to train, like these, and about larger numbers (`ood`)."""
        ask, published = _MODULES[self.module]
        given = self.train_entropy, self.iid_entropy, self.ood_entropy
        ranges = [own or usual for own, usual in zip(given, published, strict=True)]
        rng, seen = Random(seed), set[str]()
        (low, high), third = ranges[0], (ranges[0][1] - ranges[0][0]) / 3
        thirds = [(low + i * third, high - (2 - i) * third) for i in range(3)]
        parts = []
        for sizes, entropies in (
            ([train // 3 + (i < train % 3) for i in range(3)], thirds),
            ([iid], ranges[1:2]),
            ([ood], ranges[2:]),
        ):
            part: list[Pair] = []
            for size, entropy in zip(sizes, entropies, strict=True):
                part += _different(ask, entropy, size, rng, seen)
            parts.append(part)
        return dict(zip(("train", "iid", "ood"), parts, strict=True))

    def translations(self, *, train: int, iid: int, ood: int, seed: int = 0) -> Translations:
        """`pairs` as numbers, in one vocabulary of characters."""
        found = self.pairs(train=train, iid=iid, ood=ood, seed=seed)
        return Translations.of(found, characters_of, shared=True)


def _different(
    ask: Callable[[float, Random], Pair],
    entropy: tuple[float, float],
    size: int,
    rng: Random,
    seen: set[str],
) -> Iterator[Pair]:
    """Questions that have not been asked before."""
    left, tries = size, 0
    while left:
        tries += 1
        if tries > 1000 + 100 * size:
            raise ValueError(f"there are not {size} questions of entropy {entropy[0]:g}; use fewer")
        question, answer = ask(rng.uniform(*entropy), rng)
        if question not in seen:
            seen.add(question)
            left -= 1
            yield question, answer
