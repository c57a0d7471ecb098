from itertools import combinations, product

import numpy as np
import pytest

from recombine import splits
from recombine.splits._addition_plan import plan_additions
from recombine.splits._encoded_split import EncodedSplit
from recombine.splits._item_rules import ItemRules
from recombine.splits._item_support import ItemSupport


def split_of(trained, sizes):
    names = tuple("abcdefgh"[: len(sizes)])
    return EncodedSplit(names, tuple(tuple(range(s)) for s in sizes), np.array(trained))


def others(split):
    every = np.array(list(product(*map(range, split.sizes))))
    known = set(map(tuple, split.trained.tolist()))
    return np.array([item for item in every.tolist() if tuple(item) not in known])


def is_supported(split, added, asked):
    rows = np.concatenate([split.trained, np.array(added, int).reshape(-1, len(split.sizes))])
    kinds = ItemSupport(np.unique(rows, axis=0), split.sizes).kinds(asked)
    return bool((kinds <= 1).all())


@pytest.mark.parametrize("seed", range(10))
def test_support_of_everything_takes_as_few_as_the_support_report_says(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, size=3).tolist()
    trained = np.unique(np.stack([rng.integers(s, size=5) for s in sizes], axis=1), axis=0)
    seen = [np.unique(column) for column in trained.T]
    trained = np.stack([np.searchsorted(s, c) for s, c in zip(seen, trained.T, strict=True)], 1)
    split = split_of(trained, [len(s) for s in seen])
    asked = others(split)
    if not len(asked):
        return
    plan = plan_additions(split, asked, trains_asked=True)
    assert plan.needed == len(splits.support_report(trained).to_determine)
    assert plan.fewest
    assert plan.supported_after == 1
    assert is_supported(split, plan.items, asked)


@pytest.mark.parametrize("seed", range(6))
def test_no_cheaper_additions_give_support(seed):
    rng = np.random.default_rng(seed)
    split = split_of([(0, 0), (1, 1), (2, 2)], (3, 3))
    asked = others(split)
    prices = rng.integers(1, 9, size=len(asked)).tolist()
    costs = [
        {"a": a, "b": b, "cost": cost} for (a, b), cost in zip(asked.tolist(), prices, strict=True)
    ]
    plan = plan_additions(split, asked, rules=ItemRules(costs), trains_asked=True)
    cheapest = min(
        sum(prices[n] for n in chosen)
        for size in (1, 2, 3)
        for chosen in combinations(range(len(asked)), size)
        if is_supported(split, asked[list(chosen)], asked)
    )
    assert plan.cost == cheapest
    assert plan.fewest


@pytest.mark.parametrize("seed", range(6))
def test_what_is_tested_is_supported_and_not_trained(seed):
    rng = np.random.default_rng(seed)
    split = split_of([(0, 0, 0), (1, 1, 1), (2, 2, 2)], (3, 3, 3))
    asked = others(split)[rng.permutation(24)[:2]]
    plan = plan_additions(split, asked)
    assert plan.supported_after == 1
    assert is_supported(split, plan.items, asked)
    added = set(map(tuple, plan.items.tolist()))
    assert not added & set(map(tuple, asked.tolist()))
    for n in range(len(plan.items)):
        assert not is_supported(split, np.delete(plan.items, n, axis=0), asked), "one is to spare"


def test_impossible_combinations_are_not_added():
    split = split_of([(0, 0), (1, 1)], (2, 2))
    asked = others(split)
    plan = plan_additions(split, asked, rules=ItemRules((), [{"a": 0, "b": 1}]), trains_asked=True)
    assert plan.items.tolist() == [[1, 0]]
    none = [{"a": 0, "b": 1}, {"a": 1, "b": 0}]
    plan = plan_additions(split, asked, rules=ItemRules((), none), trains_asked=True)
    assert plan.needed is None
    assert not plan.additions


def test_a_budget_goes_to_support_then_coverage_then_evenness():
    split = split_of([(v, v) for v in range(4)], (4, 4))
    plan = plan_additions(split, others(split), budget=12, trains_asked=True)
    why = [addition.why for addition in plan.additions]
    assert why == ["support"] * 3 + ["coverage"] * 9
    assert plan.pairs_after == 1
    three = split_of([(v, v, v) for v in range(3)], (3, 3, 3))
    plan = plan_additions(three, others(three), budget=20, trains_asked=True)
    why = [addition.why for addition in plan.additions]
    assert why == sorted(why, key=["support", "coverage", "evenness"].index)
    assert why[-1] == "evenness"


def test_a_budget_is_a_cost_where_there_are_costs():
    split = split_of([(v, v) for v in range(4)], (4, 4))
    rules = ItemRules([{"a": 0, "cost": 9}])
    plan = plan_additions(split, others(split), budget=5, rules=rules, trains_asked=True)
    assert plan.cost <= 5
    assert all(item[0] != 0 for item in plan.items.tolist())


def test_coverage_comes_sooner_than_by_chance():
    split = split_of([(0, 0, 0)], (5, 5, 5))
    asked, rng = others(split), np.random.default_rng(0)
    plan = plan_additions(split, asked, budget=30, trains_asked=True)
    drawn = np.concatenate([split.trained, asked[rng.permutation(len(asked))[:30]]])
    pairs = [(f, g) for f in range(3) for g in range(f)]
    by_chance = len({(f, g, row[f], row[g]) for row in drawn.tolist() for f, g in pairs})
    assert plan.pairs_after * 75 > by_chance + 8


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"d": 1, "cost": 1}, "no factor 'd'"),
        ({"a": 9, "cost": 1}, "a is never 9"),
        ({"cost": 1}, "at least one factor"),
        ({"a": 1, "cost": "dear"}, "is no number"),
        ({"a": 1, "cost": -2}, "from 0 on"),
        ({"a": 1}, "is missing"),
    ],
)
def test_a_wrong_rule_is_named(rule, words):
    split = split_of([(0, 0), (1, 1)], (2, 2))
    with pytest.raises(ValueError, match=words):
        ItemRules([rule]).cost(split, split.trained)


def test_of_many_candidates_a_part_is_enough(monkeypatch):
    from recombine.splits import _addition_plan

    split = split_of([(v, v) for v in range(12)], (12, 12))
    asked = others(split)
    monkeypatch.setattr(_addition_plan, "_ENTRIES", 300)
    plan = plan_additions(split, asked, trains_asked=True)
    assert plan.needed == 11
    assert plan.supported_after == 1
