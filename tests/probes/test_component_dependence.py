"""What the answers of a predictor depend on."""

import jax
import numpy as np
import pytest

from recombine import probes, splits

DIGITS = np.arange(10)


def test_answers_of_their_own_component_depend_on_nothing_else():
    report = probes.component_dependence(lambda a, b: np.stack([a, b % 5], axis=1), [DIGITS] * 2)
    assert report.holds
    assert np.allclose(report.dependence, [[np.log2(10), 0], [0, np.log2(5)]])


def test_an_answer_of_the_other_component_alone_depends_on_all_of_it():
    report = probes.component_dependence(lambda a, b: b[:, None], [DIGITS] * 2)
    assert np.allclose(report.dependence, [[0, np.log2(10)]])
    assert report.leaks == ((0, 1),)


def test_dependence_on_the_second_component_is_leakage():
    rng = np.random.default_rng(0)
    answers = rng.integers(4, size=(6, 8))
    report = probes.component_dependence(
        lambda a, b: answers[a, b][:, None], [DIGITS[:6], DIGITS[:8]]
    )
    assert report.dependence[0, 1] == pytest.approx(
        float(jax.jit(probes.leakage, static_argnums=1)(answers.astype(np.int32), 4)), abs=1e-5
    )


def test_examples_may_be_arrays_and_components_more_than_two():
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(n, 2, 3)) for n in (3, 4, 5)]
    report = probes.component_dependence(
        lambda a, b, c: np.stack(
            [a[:, 0, 0] > 0, (b[:, 0, 0] > 0) ^ (c[:, 1, 1] > 0), c[:, 0, 0] > 0], axis=1
        ).astype(int),
        parts,
    )
    assert report.leaks == ((1, 2),)


def test_a_predictor_and_its_table_are_judged_alike():
    table = np.zeros((2, 2, 2, 2))
    for a, b in np.ndindex(2, 2):
        table[a, b, a & b, b] = 1
    of_table = splits.conditional_independence(table)
    of_predictor = probes.component_dependence(
        lambda a, b: np.stack([a & b, b], axis=1), [np.arange(2)] * 2
    )
    assert np.allclose(of_table.dependence, of_predictor.dependence)
    assert np.allclose(of_table.coupling, of_predictor.coupling)


def test_answers_that_are_no_classes_are_refused():
    with pytest.raises(ValueError, match="take an argmax"):
        probes.component_dependence(lambda a, b: a / 2, [DIGITS] * 2)
    with pytest.raises(ValueError, match="3 outputs cannot each have one of 2 inputs"):
        probes.component_dependence(lambda a, b: np.stack([a, a, a], axis=1), [DIGITS] * 2)
