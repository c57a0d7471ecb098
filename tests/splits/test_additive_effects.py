"""What is determined, and what to add, as by the plain projection onto the span of all codes."""

from dataclasses import replace
from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine import splits
from recombine.splits._additive_effects import AdditiveEffects
from recombine.splits._missing_combinations import determining_combinations


@st.composite
def tables(draw):
    sizes = draw(st.lists(st.integers(1, 4), min_size=2, max_size=4))
    every = list(product(*map(range, sizes)))
    rows = st.lists(st.sampled_from(every), min_size=1, max_size=12, unique=True)
    return draw(rows), draw(rows)


def span(codes):
    """Orthonormal rows that span the codes."""
    flat = codes.reshape(len(codes), -1).astype(float)
    size, directions = np.linalg.eigh(flat.T @ flat)
    return directions[:, size > 10 * len(size) * np.finfo(float).eps * size.max()].T


def residual(codes, span):
    flat = codes.reshape(len(codes), -1).astype(float)
    return flat - flat @ span.T @ span


def determining_by_projection(trained, joining):
    added = list(joining)
    first = trained.combinations[0]
    known = span(replace(trained, combinations=(*trained, *added)).codes)
    for f, values in enumerate(trained.values):
        for value in values:
            candidate = (*first[:f], value, *first[f + 1 :])
            left = residual(replace(trained, combinations=(candidate,)).codes, known)
            size = np.linalg.norm(left)
            if size > 1e-6:
                known = np.vstack([known, left / size])
                added.append(candidate)
    return tuple(added)


@settings(deadline=None)
@given(tables())
def test_what_is_determined_is_what_a_projection_says(tables):
    train, test = tables
    report = splits.support_report(train, test)
    joined = (*report.within, *report.undetermined)
    if joined:
        trained = report.trained
        codes = replace(trained, combinations=joined).codes
        expected = np.linalg.norm(residual(codes, span(trained.codes)), axis=1) < 1e-6
        effects = AdditiveEffects(trained.numbers, [len(values) for values in trained.values])
        assert np.array_equal(effects.are_determined(trained.numbers_of(joined)), expected)
        assert expected.sum() == len(report.within)


@settings(deadline=None)
@given(tables())
def test_what_to_determine_is_what_a_projection_adds(tables):
    train, test = tables
    report = splits.support_report(train, test)
    every = splits.FactorTable.of([*train, *test]).values
    seen = [
        (*known, *(value for value in values if value not in known))
        for known, values in zip(report.trained.values, every, strict=True)
    ]
    known = replace(report.trained, values=tuple(seen))
    expected = determining_by_projection(known, report.to_add)
    assert determining_combinations(known, report.to_add) == report.to_determine == expected


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(5, 60))
def test_sparse_tables_leave_open_what_a_projection_says(seed, factors, rows):
    drawn = np.random.default_rng(seed).integers(10, size=(rows, factors))
    report = splits.support_report(drawn)
    assert report.to_determine == determining_by_projection(report.trained, report.to_add)


def test_a_table_with_more_combinations_than_64_bits_can_count_is_judged():
    rows = [(n,) * 13 for n in range(40)] + [(0,) * 12 + (1,)]
    report = splits.support_report(rows, [(0,) * 12 + (2,)])
    assert len(report.components) == 39
    assert report.across == ((0,) * 12 + (2,),)
