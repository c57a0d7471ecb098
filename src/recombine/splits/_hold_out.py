"""Which codes are trained and which are held out."""

from dataclasses import dataclass
from math import comb, floor
from typing import Literal

import numpy as np
from jaxtyping import ArrayLike, Bool, PRNGKeyArray

from .._host_random import host_generator
from ._masks import halves_masks, k_hot_masks, layered_codes, ring_masks, up_to_k_hot_masks
from ._support import checked_codes, connected_support

_MOST_REDRAWS = 10_000

Coupling = Literal["half and count", "half", "none"]


@dataclass(frozen=True, eq=False)
class Split:
    """The codes to train on and the codes to generalize to."""

    train: Bool[np.ndarray, "trained layers modules"]
    held_out: Bool[np.ndarray, "untrained layers modules"]
    redraws: int = 0
    """How many random splits were discarded because a module would never have been trained."""

    def __post_init__(self) -> None:
        if not len(self.train):
            raise ValueError("a split without trained codes has no support; train at least one")
        shared = np.isin(_words(self.held_out), _words(self.train))
        if shared.any():
            raise ValueError(f"{shared.sum()} held-out codes are trained as well; list a code once")

    @property
    def compositional(self) -> bool:
        """Whether every module of the held-out codes is trained, in its own layer."""
        return _covers(self.train, self.held_out)

    @property
    def connected(self) -> bool:
        """Whether the masks trained in a layer chain its modules together, in every layer."""
        return bool(connected_support(self.train))

    @property
    def connected_across_layers(self) -> bool:
        """Whether trained codes chain the modules of all layers together.

        The condition on tables of factors, where every layer is a factor and has one value.
        """
        return bool(connected_support(self.train, across_layers=True))

    def held_out_with(
        self, k: int, *, most: int = 4096, key: PRNGKeyArray | None = None
    ) -> Bool[np.ndarray, "codes layers modules"] | None:
        """Untrained codes that use exactly k modules in every layer; None if there are none.

        Up to the largest number of modules in the split these are held-out codes; beyond it, all
        codes with k modules (the rows "OOD accuracy (K=k)" of Tables A2 to A8).

        **Arguments:**

        - `k`: the number of modules.
        - `most`: where there are more codes beyond the split's, so many are drawn at random.
        - `key`: needed if they are drawn.
        """
        _, layers, modules = self.train.shape
        if k <= max(codes.sum(-1).max(initial=0) for codes in (self.train, self.held_out)):
            chosen = self.held_out[(self.held_out.sum(-1) == k).all(-1)]
            return chosen if len(chosen) else None
        if k > modules:
            return None
        if comb(modules, k) ** layers <= most:
            return layered_codes(k_hot_masks(modules, k), layers)
        if key is None:
            raise ValueError(f"there are more than {most} codes with {k} modules; give a key")
        order = host_generator(key).random((most, layers, modules)).argsort(-1)
        return order < k

    def thinned(self, size: int, *, key: PRNGKeyArray) -> "Split":
        """The same split with only `size` of the trained codes, for comparisons of equal numbers.

        Drawn at random until the split is compositional and connected if it was so before.
        """
        if not 1 <= size <= len(self.train):
            raise ValueError(f"there are {len(self.train)} trained codes to choose {size} from")
        rng = host_generator(key)
        for redraws in range(_MOST_REDRAWS):
            train = self.train[np.sort(rng.permutation(len(self.train))[:size])]
            if self.compositional and not _covers(train, self.held_out):
                continue
            if not self.connected or connected_support(train):
                return Split(train, self.held_out, redraws)
        raise ValueError(
            f"{size} of {len(self.train)} codes hardly ever keep the support as it is; keep more"
        )


def _covers(train: np.ndarray, held_out: np.ndarray) -> bool:
    """Whether every module of the held-out codes is trained in its layer."""
    return not (held_out.any(0) & ~train.any(0)).any()


def _words(codes: np.ndarray) -> np.ndarray:
    """Every code as one item that can be compared."""
    packed = np.packbits(codes.reshape(len(codes), -1), axis=1)
    return np.ascontiguousarray(packed).view(f"V{packed.shape[1]}").ravel()


def random_hold_out(
    codes: Bool[ArrayLike, "codes *layers modules"], fraction: float = 0.25, *, key: PRNGKeyArray
) -> Split:
    """Hold out a random fraction of the codes, so that every module is still trained in its layer.

    The last floor(fraction N) of a random permutation are held out; it is drawn anew until every
    module that occurs in a layer is trained there.

    **Arguments:**

    - `codes`: all masks or codes, such as `layered_codes(...)` or `FactorTable.codes`.
    - `fraction`: how many to hold out.
    """
    every = checked_codes(codes)
    if not 0 < fraction < 1:
        raise ValueError(f"the held-out fraction must lie between 0 and 1, not {fraction}")
    num_held_out = floor(fraction * len(every) + 1e-9)
    num_trained = len(every) - num_held_out
    if not num_held_out:
        raise ValueError(
            f"a fraction of {fraction} of {len(every)} codes is none; hold out a larger one"
        )
    counts = every.sum(0)
    irreplaceable = (every & (counts == 1)).any((1, 2)).sum()
    if irreplaceable > num_trained:
        layer, module = np.argwhere(counts == 1)[0]
        raise ValueError(
            f"{irreplaceable} codes are the only ones with some module (module {module} of layer"
            f" {layer} occurs once), and only {num_trained} are to be trained; hold out fewer"
        )
    rng = host_generator(key)
    for redraws in range(_MOST_REDRAWS):
        order = rng.permutation(len(every))
        trained = every[order[:num_trained]]
        held_out = every[order[num_trained:]]
        if _covers(trained, held_out):
            return Split(trained, held_out, redraws)
    raise ValueError(
        f"{num_trained} of {len(every)} codes hardly ever contain every module; hold out fewer"
    )


def module_hold_out(
    codes: Bool[ArrayLike, "codes *layers modules"],
    module: int = -1,
    layers: Literal["last", "all"] | int = "last",
) -> Split:
    """Hold out every code that uses a module: the support is not compositional.

    **Arguments:**

    - `codes`: all masks or codes.
    - `module`: the module; -1 is the last one.
    - `layers`: where it must not be used in training. `"last"` is the published choice: the module
        still occurs in the other layers. `"all"` removes it altogether. A number is one layer, or
        the factor of a table (see `FactorTable.find`).
    """
    every = checked_codes(codes)
    _, num_layers, num_modules = every.shape
    if not -num_modules <= module < num_modules:
        raise ValueError(f"module {module} is not among modules 0 to {num_modules - 1}")
    if layers not in ("last", "all", *range(num_layers)):
        raise ValueError(f"layers is 'last', 'all' or one of 0 to {num_layers - 1}, not {layers!r}")
    uses = every[:, :, module]
    if layers != "all":
        uses = uses[:, [-1 if layers == "last" else layers]]
    held_out = uses.any(1)
    if not held_out.any():
        raise ValueError(f"no code uses module {module}; hold out another one")
    if held_out.all():
        raise ValueError(f"every code uses module {module}, none is left to train on")
    return Split(every[~held_out], every[held_out])


def connected_split(
    num_modules: int = 8, K: int = 2, layers: int = 1, *, coupling: Coupling = "half and count"
) -> Split:
    """Train on neighbours on a ring: a connected support (`ring_masks` in every layer).

    Held out are the codes with at most K modules per layer that belong neither to this nor to
    `disconnected_split`, so that the two have the same ones.
    """
    return _connectedness_split(num_modules, K, layers, coupling, train="ring")


def disconnected_split(
    num_modules: int = 8, K: int = 2, layers: int = 1, *, coupling: Coupling = "half and count"
) -> Split:
    """Train on modules of one half at a time: a disconnected support (`halves_masks`).

    Held out are the codes with at most K modules per layer that belong neither to this nor to
    `connected_split`. There are fewer training codes than in `connected_split` (104 and 576 for two
    layers); `Split.thinned` makes them equally many.

    **Arguments:**

    - `num_modules`, `K`, `layers`: M, the most modules per layer, and the number of layers.
    - `coupling`: what the layers of a code have in common: the half and the number of modules, as
        in the published code; the half; or nothing, so that all products of masks are trained. Of
        no effect with one layer.
    """
    return _connectedness_split(num_modules, K, layers, coupling, train="halves")


def _connectedness_split(
    num_modules: int, K: int, layers: int, coupling: Coupling, train: Literal["ring", "halves"]
) -> Split:
    every = layered_codes(up_to_k_hot_masks(num_modules, K), layers)
    ring = _are_among(every, ring_masks(num_modules, K))
    halves = _are_among(every, halves_masks(num_modules, K)) & _coupled(every, coupling)
    neither = ~(ring | halves)
    if not neither.any():
        raise ValueError(
            f"every code with up to {K} of {num_modules} modules is connected or disconnected, none"
            " is left to hold out; take more modules"
        )
    return Split(every[ring if train == "ring" else halves], every[neither])


def _are_among(codes: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Whether every layer of a code has one of the masks."""
    flat = codes.reshape(-1, codes.shape[-1])
    return np.all(np.isin(_words(flat), _words(masks)).reshape(codes.shape[:2]), axis=1)


def _coupled(codes: np.ndarray, coupling: Coupling) -> np.ndarray:
    first_half = np.any(codes[:, :, : codes.shape[-1] // 2], axis=-1)
    same_half = np.all(first_half == first_half[:, :1], axis=1)
    ones = codes.sum(-1)
    match coupling:
        case "half and count":
            return same_half & (ones == ones[:, :1]).all(1)
        case "half":
            return same_half
        case "none":
            return np.ones(len(codes), bool)
    raise ValueError(f"coupling is 'half and count', 'half' or 'none', not {coupling!r}")
