"""Rows of the tables: feed-forward networks of equal size, by name; and columns: sizes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from recombine.models import specs
from recombine.models.specs import MixtureSpec, ProductKeysSpec


@dataclass(frozen=True)
class Sizes:
    """The sizes of a column of the tables."""

    experts: int
    """Number of experts of sigma-MoE, N_E."""
    size: int
    """Hidden units per expert, G."""
    largest: int
    """Hidden units of top-K that count."""
    keys: int
    """Sub-keys with which product keys have as many parameters as a dense network."""
    keys_by_value: int
    """Sub-keys with which they have as many values as a dense network has hidden units."""
    expert_dropout: float = 0.0
    """δ of sigma-MoE."""
    balance: float = 1e-3
    """γ of sigma-MoE."""
    chosen: int = 4
    """Experts per token, K."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Everything else."""

    def mixture(self, **changes: Any) -> MixtureSpec:
        """sigma-MoE, with changes."""
        made = MixtureSpec(
            experts=self.experts, size=self.size, chosen=self.chosen,
            expert_dropout=self.expert_dropout,
        )  # fmt: skip
        return replace(made, **changes)

    def regrouped(self, factor: float, **changes: Any) -> MixtureSpec:
        """A mixture of as many hidden units, in experts of `factor` times the size."""
        size = round(self.size * factor)
        experts = max(1, self.experts * self.size // size)
        return self.mixture(**{"experts": experts, "size": size} | changes)

    def switch(self, factor: float, **changes: Any) -> MixtureSpec:
        """Switch: the softmax over all, one expert by default, with dropout in experts."""
        options: dict[str, Any] = {
            "chosen": 1, "selection": specs.SoftmaxBeforeSelectionSpec(),
            "balance": specs.SwitchBalanceSpec(), "expert_dropout": 0.0, "dropout": None,
            "init": "switch",
        }  # fmt: skip
        return self.regrouped(factor, **options | changes)


SWITCH_BALANCE = 0.01
"""γ of Switch."""
Make = Callable[[Sizes], specs.AbstractFeedForwardSpec]
Row = Literal[
    "dense", "top-k", "top-k-half", "top-k-twice", "top-k-four-times", "top-k-contribution",
    "pkm-relu", "pkm-softmax", "pkm-relu-init", "pkm-relu-by-value", "pkm-softmax-by-value",
    "sigma-moe", "standard-dropout", "softmax-after", "softmax-after-released", "softmax-before",
    "standard-init", "no-regularisation", "smaller-experts", "larger-experts", "largest-experts",
    "twice-as-many", "one-chosen", "two-chosen", "eight-chosen",
    "switch", "switch-released", "switch-no-dropout", "switch-four", "switch-small",
    "s-base", "s-base-released", "s-base-one", "noisy", "base",
]  # fmt: skip
"""The networks of Tables 7.1 to 7.4, F.1 and F.4, and three that the thesis describes only."""
MAKERS: dict[str, Make] = {
    "dense": lambda s: specs.DepthScaledFeedForwardSpec(),
    "top-k": lambda s: specs.TopKSpec(largest=s.largest),
    "top-k-half": lambda s: specs.TopKSpec(largest=s.largest // 2),
    "top-k-twice": lambda s: specs.TopKSpec(largest=2 * s.largest),
    "top-k-four-times": lambda s: specs.TopKSpec(largest=4 * s.largest),
    "top-k-contribution": lambda s: specs.TopKSpec(largest=s.largest, rank="contribution"),
    "pkm-relu": lambda s: ProductKeysSpec(keys=s.keys),
    "pkm-softmax": lambda s: ProductKeysSpec(keys=s.keys, activation="softmax"),
    "pkm-relu-init": lambda s: ProductKeysSpec(keys=s.keys, value_init="values"),
    "pkm-relu-by-value": lambda s: ProductKeysSpec(keys=s.keys_by_value),
    "pkm-softmax-by-value": lambda s: ProductKeysSpec(keys=s.keys_by_value, activation="softmax"),
    "sigma-moe": lambda s: s.mixture(),
    "standard-dropout": lambda s: s.mixture(expert_dropout=0.0, dropout=None),
    "softmax-after": lambda s: s.mixture(selection=specs.SoftmaxAfterSelectionSpec()),
    "softmax-after-released": lambda s: s.mixture(
        selection=specs.SoftmaxAfterSelectionSpec(),
        balance=specs.EntropyBalanceSpec(over_chosen=True),
    ),
    "softmax-before": lambda s: s.mixture(selection=specs.SoftmaxBeforeSelectionSpec()),
    "standard-init": lambda s: s.mixture(init="standard"),
    "no-regularisation": lambda s: s.mixture(expert_dropout=0.0, balance=None),
    "smaller-experts": lambda s: s.regrouped(0.5, chosen=8),
    "larger-experts": lambda s: s.regrouped(2, chosen=2),
    "largest-experts": lambda s: s.regrouped(4, chosen=1),
    "twice-as-many": lambda s: s.regrouped(0.5),
    "one-chosen": lambda s: s.mixture(chosen=1),
    "two-chosen": lambda s: s.mixture(chosen=2),
    "eight-chosen": lambda s: s.mixture(chosen=8),
    "switch": lambda s: s.switch(4),
    "switch-released": lambda s: s.switch(4, balance=specs.SwitchBalanceSpec(released=True)),
    "switch-no-dropout": lambda s: s.switch(4, dropout=0.0),
    "switch-four": lambda s: s.switch(1, chosen=4),
    "switch-small": lambda s: s.switch(1),
    "s-base": lambda s: s.mixture(
        selection=specs.SinkhornSelectionSpec(), expert_dropout=0.0
    ),
    "s-base-released": lambda s: s.mixture(
        selection=specs.SinkhornSelectionSpec(released=True), expert_dropout=0.0
    ),
    "s-base-one": lambda s: s.regrouped(
        4, chosen=1, selection=specs.SinkhornSelectionSpec(), expert_dropout=0.0
    ),
    "noisy": lambda s: s.mixture(
        selection=specs.NoisySelectionSpec(), balance=specs.ImportanceBalanceSpec()
    ),
    "base": lambda s: s.regrouped(
        4, chosen=1, selection=specs.BaseSelectionSpec(), balance=None
    ),
}  # fmt: skip
TITLES: dict[str, str] = {
    "dense": "dense", "top-k": "top-K", "top-k-half": "top-K, K / 2", "top-k-twice": "top-K, 2 K",
    "top-k-four-times": "top-K, 4 K", "top-k-contribution": "top-K by contribution",
    "pkm-relu": "PKM, ReLU", "pkm-softmax": "PKM, softmax", "pkm-relu-init": "PKM + init",
    "pkm-relu-by-value": "PKM, ReLU, value-matched",
    "pkm-softmax-by-value": "PKM, softmax, value-matched",
    "sigma-moe": "sigma-MoE", "standard-dropout": "standard dropout",
    "softmax-after": "softmax after top-k", "softmax-after-released": "softmax after, as released",
    "softmax-before": "softmax before top-k", "standard-init": "standard init",
    "no-regularisation": "no regularisation", "smaller-experts": "K = 8, G / 2",
    "larger-experts": "K = 2, 2 G", "largest-experts": "K = 1, 4 G",
    "twice-as-many": "2 N, G / 2, K = 4", "one-chosen": "K = 1", "two-chosen": "K = 2",
    "eight-chosen": "K = 8", "switch": "Switch", "switch-released": "Switch, as released",
    "switch-no-dropout": "Switch, no dropout", "switch-four": "Switch, K = 4",
    "switch-small": "Switch, K = 1, G", "s-base": "S-BASE",
    "s-base-released": "S-BASE, as released",
    "s-base-one": "S-BASE, K = 1", "noisy": "noisy top-k", "base": "BASE",
}  # fmt: skip
"""What rows are called in figures and tables."""
_ANY = Sizes(experts=16, size=8, largest=2, keys=1, keys_by_value=1)
ROUTED = tuple(row for row, make in MAKERS.items() if isinstance(make(_ANY), MixtureSpec))
"""Rows with experts."""


def of_network(**sizes: Any) -> dict[str, Any]:
    """Settings of fields of the network."""
    return {f"model.{name}": value for name, value in sizes.items()}


THESIS: dict[str, Any] = {
    "learning_rate": 2.5e-4, "clip": 0.25, "steps": 100_000, "every": 5000, "test_streams": 4,
    "test_memory": 4, "warmup_steps": 0, "evaluated": None,
}  # fmt: skip
WIKITEXT: dict[str, Any] = THESIS | {"data": "wikitext-103", "pieces": 8000, "streams": 64}
SMALL: dict[str, Any] = WIKITEXT | {"context": 256} | of_network(
    width=412, hidden=2053, heads=10, head_width=41, layers=16, dropout=0.1
)  # fmt: skip
COLUMNS: dict[str, Sizes] = {
    "laptop": Sizes(
        experts=16, size=24, largest=64, keys=26, keys_by_value=20,
        settings=of_network(
            width=96, hidden=390, heads=4, head_width=None, layers=2, dropout=0.0
        ),
    ),
    "E8": Sizes(
        experts=16, size=128, largest=128, keys=62, keys_by_value=46, expert_dropout=0.05,
        balance=1e-4,
        settings=THESIS | {"data": "enwik8", "streams": 32, "context": 512} | of_network(
            width=512, hidden=2053, heads=8, head_width=64, layers=12, dropout=0.1
        ),
    ),
    "WT-S": Sizes(
        experts=16, size=128, largest=128, keys=62, keys_by_value=46, settings=SMALL
    ),
    "WT-S*": Sizes(
        experts=128, size=128, largest=128, keys=180, keys_by_value=128, expert_dropout=0.05,
        settings=SMALL | of_network(hidden=16480),
    ),
    "WT-B": Sizes(
        experts=32, size=128, largest=128, keys=89, keys_by_value=64, expert_dropout=0.2,
        settings=WIKITEXT | {"context": 512, "warmup_steps": 4000} | of_network(
            width=1024, hidden=4110, heads=16, head_width=64, layers=18, dropout=0.2
        ),
    ),
}  # fmt: skip
"""Columns of the tables; "laptop" is the size of two cores. PKM has no row for WT-S*, and there its
sub-keys match by the same rule."""


def of_row(row: str, sizes: Sizes) -> dict[str, Any]:
    """What follows from a row: its feed-forward network, and the weight of its balance."""
    balance = SWITCH_BALANCE if row.startswith("switch") else sizes.balance
    return {"feed_forward": MAKERS[row](sizes), "balance": balance}


def from_condition(condition: dict[str, Any]) -> dict[str, Any]:
    """What follows from a condition: from its column, and from its row."""
    sizes = COLUMNS[condition.get("column", "laptop")]
    return dict(sizes.settings) | of_row(condition["row"], sizes)
