"""What combinations cost, and which are impossible: rules that users write."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from .._errors import nearest
from ._encoded_split import EncodedSplit, Items
from ._frames import frame_of

Rule = Mapping[str, Any]
"""Values by factor, such as `{"colour": "gold"}`; a cost under `cost`."""
Rules = Sequence[Rule] | str | Path
"""Rules, or a file with one per row: cells that are empty stand for any value."""

COST = "cost"


@dataclass(frozen=True)
class ItemRules:
    """Costs and impossible combinations.

    A combination costs 1, and what the rules for its values say on top; a rule that names a value
    of every factor says what this combination costs in all.
    """

    costs: Sequence[Rule] = ()
    impossible: Sequence[Rule] = ()

    @classmethod
    def read(cls, costs: Rules, impossible: Rules) -> "ItemRules":
        """Rules as they are, or from files."""
        return cls(read_rules(costs), read_rules(impossible))

    def cost(self, split: EncodedSplit, items: Items) -> Float[np.ndarray, " items"]:
        """What each combination costs."""
        total = np.ones(len(items))
        whole: list[tuple[np.ndarray, float]] = []
        for rule in self.costs:
            if COST not in rule:
                raise ValueError(f"the cost of {dict(rule)} is missing; give it as {COST!r}")
            try:
                cost = float(rule[COST])
            except (TypeError, ValueError):
                raise ValueError(f"the cost {rule[COST]!r} is no number") from None
            if not 0 <= cost < np.inf:
                raise ValueError(f"a cost is a number from 0 on, not {cost:g}")
            values = {name: value for name, value in rule.items() if name != COST}
            matching = _matching(split, items, values)
            if len(values) == len(split.factors):
                whole.append((matching, cost))
            else:
                total[matching] += cost
        for matching, cost in whole:
            total[matching] = cost
        return total

    def allows(self, split: EncodedSplit, items: Items) -> Bool[np.ndarray, " items"]:
        """Whether each combination is possible."""
        allowed = np.ones(len(items), bool)
        for rule in self.impossible:
            allowed &= ~_matching(split, items, {n: v for n, v in rule.items() if n != COST})
        return allowed


def read_rules(rules: Rules) -> Sequence[Rule]:
    """Rules as they are or, of a file, one per row, without the cells that are empty."""
    if not isinstance(rules, (str, Path)):
        return rules
    rows = frame_of(rules).to_dicts()
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def _matching(split: EncodedSplit, items: Items, rule: Rule) -> Bool[np.ndarray, " items"]:
    if not rule:
        raise ValueError("a rule names at least one factor and its value")
    matching = np.ones(len(items), bool)
    for name, value in rule.items():
        if name not in split.factors:
            raise ValueError(f"a rule has no factor {name!r}: {nearest(str(name), split.factors)}")
        f = split.factors.index(name)
        known = [str(v) for v in split.values[f]]
        if str(value) not in known:
            raise ValueError(f"{name} is never {value!r}: {nearest(str(value), known)}")
        matching &= items[:, f] == known.index(str(value))
    return matching
