from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from recombine.lab import (
    Claim,
    Missing,
    all_of,
    any_of,
    curve,
    every_seed,
    exact,
    for_all,
    largest,
    largest_rise,
    mean,
    paired,
    per_seed,
    rank_correlation,
    ranked,
    ratio,
    share,
    slope,
    statistic,
    trend,
)
from recombine.lab.claims import judge
from recombine.lab.results import Record, Results

LOSS = (np.array([0.0, 10.0, 20.0]), np.array([3.0, 2.0, 1.0]))


def results(*cells, preset="laptop", seeds=range(4)):
    """Trials of every cell: a config, and a function of the seed that gives its metrics."""
    records = [
        Record(f"{i}-{seed}", config, config, seed, of(seed), 1.0, 0.0, lambda name: LOSS, None)
        for i, (config, of) in enumerate(cells)
        for seed in seeds
    ]
    return Results("made/up", preset, {}, tuple(records))


def with_values(values):
    return results(({}, lambda seed: {"a": float(values[seed])}), seeds=range(len(values)))


def by_model(**values):
    """One condition per model, whose metric `a` has these values by seed."""
    return results(
        *(({"model": m}, lambda seed, v=v: {"a": float(v[seed])}) for m, v in values.items())
    )


def verdict(statement, found):
    return statement.judge(found).verdict


VALUES = np.array([0.9, 1.0, 1.1, 1.2])
LOW, HIGH = stats.t.interval(0.9, 3, VALUES.mean(), stats.sem(VALUES))


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (mean("a") >= LOW - 1e-9, "holds"),
        (mean("a") >= LOW + 1e-9, "undecided"),
        (mean("a") > HIGH - 1e-9, "undecided"),
        (mean("a") > HIGH + 1e-9, "fails"),
        (mean("a") <= HIGH + 1e-9, "holds"),
        (mean("a") <= HIGH - 1e-9, "undecided"),
        (mean("a") < LOW - 1e-9, "fails"),
    ],
)
def test_a_one_sided_statement_has_a_one_sided_interval_of_95_percent(statement, expected):
    assert verdict(statement, with_values(VALUES)) == expected


def test_a_statement_of_two_bounds_has_an_interval_of_two_sides():
    low, high = stats.t.interval(0.95, 3, VALUES.mean(), stats.sem(VALUES))
    found = with_values(VALUES)
    assert verdict(mean("a").between(low - 1e-9, high + 1e-9), found) == "holds"
    assert verdict(mean("a").between(low + 1e-9, high + 1e-9), found) == "undecided"
    assert verdict(mean("a").between(high + 1e-9, 9), found) == "fails"
    assert verdict(mean("a").near(1.05, high - 1.05 + 1e-9), found) == "holds"


def test_values_without_spread_are_compared_as_they_are():
    found = with_values([0.3, 0.3, 0.3])
    assert verdict(mean("a") >= 0.3, found) == "holds"
    assert verdict(mean("a") > 0.3, found) == "fails"


def test_a_paired_difference_is_taken_seed_by_seed():
    one = np.array([1.0, 5.0, 9.0, 13.0])
    found = by_model(new=one + np.array([0.5, 0.6, 0.4, 0.5]), old=one)
    assert verdict(paired("a", "new", "old") >= 0.3, found) == "holds"
    assert verdict(paired("a", {"model": "old"}, {"model": "new"}) >= 0.3, found) == "fails"
    assert verdict(mean("a", model="new") > mean("a", model="old"), found) == "holds"
    evidence = (paired("a", "new", "old") >= 0.3).judge(found).evidence
    assert evidence["a [model=new] − a [model=old] ≥ 0.3"]["mean"] == pytest.approx(0.5)


def test_conditions_with_different_numbers_of_seeds_are_not_paired():
    found = by_model(new=VALUES, old=VALUES)
    fewer = Results("made/up", "laptop", {}, found.records[1:])
    with pytest.raises(Missing, match="3 trials"):
        (paired("a", "new", "old") > 0).judge(fewer)


def test_several_trials_of_a_seed_count_once():
    found = by_model(one=VALUES - 0.5, two=VALUES + 0.5)
    ours = mean("a").estimate(found)
    assert (ours.n, ours.value) == (4, pytest.approx(VALUES.mean()))
    assert ours.deviation == pytest.approx(VALUES.std(ddof=1))
    assert verdict(share(per_seed("a") > 1.0) >= 0.2, found) == "undecided"
    assert verdict(every_seed("a") > 0.5, found) == "fails"


def test_one_bad_seed_refutes_a_statement_on_every_seed():
    assert verdict(every_seed("a") < 1.3, with_values(VALUES)) == "holds"
    assert verdict(every_seed("a") < 1.2, with_values(VALUES)) == "fails"
    assert verdict(every_seed("a") >= 0.9, with_values(VALUES)) == "holds"
    assert verdict(every_seed("a").equals(1.05, within=0.16), with_values(VALUES)) == "holds"
    assert verdict(every_seed("a").equals(1.05, within=0.14), with_values(VALUES)) == "fails"


def test_an_exact_number_needs_no_seeds():
    assert verdict(exact(lambda r: 4).equals(4), with_values([1.0])) == "holds"
    assert verdict(exact(lambda r: [4, 5]) < 5, with_values([1.0])) == "fails"


def test_a_share_has_the_exact_interval_of_a_share():
    found = with_values([0.0] * 2 + [1.0] * 38)
    low = stats.binomtest(38, 40, alternative="greater").proportion_ci(0.95).low
    high = stats.binomtest(38, 40, alternative="less").proportion_ci(0.95).high
    assert verdict(share(per_seed("a") > 0.5) >= low - 1e-9, found) == "holds"
    assert verdict(share(per_seed("a") > 0.5) >= low + 1e-9, found) == "undecided"
    assert verdict(share(per_seed("a") > 0.5) > high + 1e-9, found) == "fails"
    assert verdict(share("a") <= high + 1e-9, found) == "holds"
    # Three of three seeds do not show that it is so for nine of ten.
    assert verdict(share("a") >= 0.9, with_values([1.0, 1.0, 1.0])) == "undecided"


def test_all_of_fails_if_one_fails_and_holds_if_all_hold():
    found = with_values(VALUES)
    sure, never, open_ = mean("a") > 0, mean("a") < 0, mean("a") > 1.05
    assert verdict(all_of(sure, sure), found) == "holds"
    assert verdict(all_of(sure, open_), found) == "undecided"
    assert verdict(all_of(one for one in (open_, never)), found) == "fails"
    assert verdict(sure & never, found) == "fails"
    assert verdict(any_of(never, sure), found) == "holds"
    assert verdict(any_of(never, open_), found) == "undecided"
    assert verdict(any_of(never, never), found) == "fails"
    assert all_of(sure, open_, mean("b") < 1.05).bounds == (0.0, 1.05)
    with pytest.raises(ValueError, match="no statement"):
        all_of([])


def test_a_statement_is_neither_true_nor_false_before_it_is_judged():
    with pytest.raises(TypeError, match="between"):
        0 < mean("a") < 1  # noqa: B015


def test_an_undecided_statement_says_how_many_seeds_would_decide_it():
    finding = (mean("a") >= 1.0).judge(with_values(VALUES))
    assert finding.verdict == "undecided"
    reach = [stats.t.ppf(0.95, n - 1) * VALUES.std(ddof=1) / n**0.5 for n in range(4, 50)]
    fewest = 4 + int(np.argmax(np.array(reach) <= 0.05))
    assert finding.seeds == fewest
    assert (mean("a") >= VALUES.mean()).judge(with_values(VALUES)).seeds is None


@given(st.lists(st.floats(-1, 1), min_size=3, max_size=9), st.floats(-1, 1))
def test_a_statement_and_its_opposite_never_both_hold(values, bound):
    found = with_values(values)
    both = {verdict(mean("a") > bound, found), verdict(mean("a") <= bound, found)}
    assert both in ({"holds", "fails"}, {"undecided"})


def test_the_jackknife_of_a_mean_is_students_interval():
    found = with_values(VALUES)
    value = statistic(lambda r: float(r.metric("a").mean()), "mean of a")
    ours, plain = value.estimate(found), mean("a").estimate(found)
    assert ours.value == pytest.approx(plain.value)
    assert ours.deviation == pytest.approx(plain.deviation)


def test_a_ratio_is_that_of_means_and_not_the_mean_of_ratios():
    found = by_model(one=VALUES, two=VALUES[::-1] * 2)
    one, two = per_seed("a", model="one"), per_seed("a", model="two")
    assert ratio(two, one).estimate(found).value == pytest.approx(2)
    assert (two / one)(found).mean() > 2.01
    assert verdict(ratio("a", lambda r: r.metric("a") / 3, model="one") > 2.99, found) == "holds"
    assert verdict(ratio(two, one) > 2, found) == "undecided"


def test_conditions_are_ranked_by_their_means():
    found = by_model(best=VALUES + 2, middle=VALUES + 1, worst=VALUES)
    assert verdict(ranked("a", ["best", "middle", "worst"]), found) == "holds"
    assert verdict(ranked("a", ["best", "middle", "worst"], margin=1.5), found) == "fails"
    assert verdict(ranked("a", ["best", "worst", "middle"]), found) == "fails"


def along_k(of):
    return results(*(({"K": k}, lambda seed, k=k: {"a": of(k, seed)}) for k in (1, 2, 4)))


def test_slopes_and_trends_are_computed_for_every_seed():
    found = along_k(lambda k, seed: 3.0 * k + seed)
    assert slope("a", "K").estimate(found).value == pytest.approx(3)
    assert slope("a", "K", scale=np.log2, values=(2, 4)).estimate(found).value == pytest.approx(6)
    assert trend("a", "K").estimate(found).value == pytest.approx(1)
    assert trend(lambda r: -r.metric("a"), "K").estimate(found).value == pytest.approx(-1)
    with pytest.raises(Missing, match="1 of the 2"):
        (trend("a", "K", values=(1,)) > 0).judge(found)


def test_the_rank_correlation_is_spearmans():
    x, y = [3.0, 1.0, 4.0, 1.0, 5.0], [2.0, 7.0, 1.0, 8.0, 2.0]
    assert rank_correlation(x, y) == pytest.approx(stats.spearmanr(x, y).statistic)
    assert rank_correlation(x, [1.0] * 5) == 0


def test_a_rise_is_measured_in_standard_errors():
    values = {1: VALUES, 2: VALUES[::-1] + 0.1, 4: VALUES - 3}
    found = along_k(lambda k, seed: float(values[k][seed]))
    scale = (2 * VALUES.var(ddof=1) / 4) ** 0.5
    assert verdict(largest_rise("a", "K") < 0.1 / scale + 1e-9, found) == "holds"
    assert verdict(largest_rise("a", "K") < 0.1 / scale - 1e-9, found) == "fails"


def test_a_statement_can_be_on_all_values_that_have_been_run():
    found = along_k(lambda k, seed: float(k))
    above = lambda k: mean("a", K=k) > 1.5  # noqa: E731
    assert verdict(for_all("K", above), found) == "fails"
    assert verdict(for_all("K", above, but=(1,)), found) == "holds"
    assert verdict(for_all("K", above, among=(2, 8)), found) == "holds"
    assert verdict(for_all("K", above, among=lambda r, k: k > 1), found) == "holds"
    assert for_all("K", above).bounds == (1.5,)
    with pytest.raises(Missing, match="no trial with any K"):
        for_all("K", above, among=(3,)).judge(found)


def test_quantities_are_computed_seed_by_seed():
    found = by_model(one=VALUES, two=2 * VALUES)
    one, two = per_seed("a", model="one"), per_seed("a", model="two")
    assert np.allclose((two - one)(found), VALUES)
    assert np.allclose((1 - one / two)(found), 0.5)
    assert np.allclose((2 * one + 1)(found), 2 * VALUES + 1)
    assert np.allclose(abs(one - two)(found), VALUES)
    assert np.allclose(largest([one, two])(found), 2 * VALUES)
    assert (one >= 1.05)(found).tolist() == [0, 0, 1, 1]
    assert (two - one).label == "a [model=two] − a [model=one]"


def test_curves_are_read_at_a_place():
    found = with_values(VALUES)
    assert curve("loss", 10)(found).tolist() == [2.0] * 4
    assert curve("loss", -1)(found).tolist() == [1.0] * 4
    with pytest.raises(Missing, match="no point at 15"):
        curve("loss", 15)(found)


def test_a_claim_says_its_bounds_once():
    check = all_of(mean("a") >= 0.95, paired("a", "new", "old") > 0.3)
    claim = Claim("x", "Right on {0:%}, ahead by {1:points}, or {1}.", "Table 1", check)
    assert claim.statement == "Right on 95 %, ahead by 30 points, or 0.3."
    with pytest.raises(ValueError, match="text and its bounds differ"):
        Claim("x", "More than {2}.", "Table 1", check)


def test_a_claim_is_judged_by_its_statement():
    claim = Claim("x", "Above {0}.", "Table 1", mean("a") > 1.0)
    judged = judge(claim, "made/up", with_values(VALUES))
    assert (judged.verdict, judged.statement) == ("undecided", "Above 1.")
    assert judged.seeds > 4
    assert judge(claim, "made/up", with_values(VALUES + 1)).verdict == "holds"
    few = judge(claim, "made/up", with_values(VALUES[:2]))
    assert (few.verdict, few.seeds) == ("undecided", 3)


def test_looking_more_often_takes_a_wider_interval():
    low = stats.t.interval(1 - 2 * 0.05 / 3, 3, VALUES.mean(), stats.sem(VALUES))[0]
    claim = Claim("x", "Above {0}.", "Table 1", mean("a") > (low + LOW) / 2)
    found = with_values(VALUES)
    assert judge(claim, "made/up", found).verdict == "holds"
    assert judge(claim, "made/up", replace(found, looks=3)).verdict == "undecided"
