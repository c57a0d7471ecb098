import jax
import numpy as np
import pytest

from recombine.splits import TASK_SETS, masks_of
from recombine.tasks._task_latents import continuous_latents, discrete_latents
from recombine.theory import (
    collinear_fraction,
    disconnected_tasks,
    memorising_student,
    theorem9_assumptions,
    unseen_module,
    wider_student,
)
from recombine.theory._compositional_theorem import (
    has_collinear_rows,
    null_coefficients,
    vanishing_combinations,
)

M, H, N = 6, 8, 10
RNG = np.random.default_rng(0)
THETA, READOUT = RNG.normal(size=(M, H, N)), RNG.normal(size=(2, H))
INPUTS = RNG.uniform(-1, 1, size=(50, N))
RING = masks_of(["01", "12", "23", "34", "45"], M)
DRAWS = np.asarray(continuous_latents(np.repeat(RING, 10, axis=0), key=jax.random.key(0)))


def report(Theta=THETA, a=READOUT, modules=M, hidden=H, masks=RING, latents=DRAWS, **others):
    return theorem9_assumptions(
        Theta, a, student_modules=modules, student_hidden=hidden, masks=masks, latents=latents,
        **{"inputs": INPUTS} | others,
    )  # fmt: skip


def test_a_generic_teacher_on_a_connected_support_meets_all_assumptions():
    found = report()
    assert found.holds
    assert found.broken == ()
    assert found["every family is drawn"].measured == 10
    assert len(str(found).splitlines()) == 13
    assert str(found).startswith("Theorem 9 (Eq. 61) applies.\n  ok inputs have full support: 10")


@pytest.mark.parametrize(
    ("change", "broken", "measured"),
    [
        ({"inputs": INPUTS * (np.arange(N) > 0)}, "inputs have full support", N - 1),
        ({"modules": M + 1}, "M̂ = M", M + 1),
        ({"hidden": H - 1}, "ĥ = h", H - 1),
        ({"a": READOUT * (np.arange(H) > 0)}, "no aᵢ is 0", 0),
        ({"masks": RING[:4]}, "compositional support", 1),
        ({"masks": RING[[0, 1, 3, 4]]}, "connected support", 2),
        ({"latents": np.vstack([DRAWS, np.zeros(M)])}, "z is never 0", 1),
        ({"latents": DRAWS[10:]}, "every family is drawn", 0),
        ({"latents": np.vstack([DRAWS, 2 * DRAWS[:3]])}, "latents have a density on the sphere", 3),
    ],
)
def test_each_broken_assumption_is_named_with_its_number(change, broken, measured):
    found = report(**change)
    assert found.broken == (broken,)
    assert found[broken].measured == measured
    assert f" NOT {broken}: {measured}" in str(found)
    assert not found.holds


def test_degenerate_modules_are_flagged():
    collinear = THETA.copy()
    collinear[2, 1] = -3 * collinear[2, 0]
    assert report(collinear).broken == ("no module has collinear rows",)
    silent = THETA.copy()
    silent[3, 4] = 0
    assert report(silent).broken == ("no module has collinear rows",)
    doubled = THETA.copy()
    doubled[5] = THETA[4]
    assert report(doubled).broken == ("Σ aᵢΘᵢ has full rank",)
    assert "M ≤ n" in report(THETA[:, :, :5], inputs=INPUTS[:, :5]).broken


@pytest.mark.parametrize("name", TASK_SETS)
def test_the_report_tells_which_task_sets_are_enough(name):
    task_set = TASK_SETS[name]
    if task_set.discrete:
        found = report(masks=task_set.masks, latents=discrete_latents(task_set.masks), finite=True)
        assert found.holds == task_set.expected
        assert found["connected support"].holds == task_set.connected
    else:
        z = continuous_latents(np.repeat(task_set.masks, 5, axis=0), key=jax.random.key(2))
        assert report(masks=task_set.masks, latents=z).holds == task_set.connected


def test_each_counterexample_breaks_the_one_assumption_it_is_about():
    rng = np.random.default_rng(1)
    Theta, a = rng.normal(size=(3, 5, 4)), rng.normal(size=(1, 5))
    tasks = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1]]
    examples = {
        "ĥ = h": wider_student(),
        "connected support": disconnected_tasks(),
        "compositional support": unseen_module(Theta, a, rng.normal(size=(5, 4))),
        "M̂ = M": memorising_student(Theta, tasks, [[1, 0, 1]], consistent=False),
    }
    for assumption, example in examples.items():
        found = theorem9_assumptions(
            example.Theta,
            example.a,
            student_modules=len(example.Theta_hat),
            student_hidden=example.Theta_hat.shape[1],
            masks=example.masks,
            latents=example.train,
            inputs=rng.normal(size=(20, example.Theta.shape[-1])),
            finite=True,
        )
        assert found.broken == (assumption,)


@pytest.mark.parametrize("name", ["masks", "latents", "inputs"])
def test_arrays_of_the_wrong_width_are_refused(name):
    with pytest.raises(ValueError, match=f"{name} has shape"):
        report(**{name: np.ones((3, N + 1))})


def test_an_unknown_assumption_is_an_error():
    with pytest.raises(KeyError, match="no assumption"):
        report()["nonsense"]


def test_almost_no_task_has_collinear_rows_if_one_has_none():
    masks = np.eye(M)[[0, 1]]
    assert collinear_fraction(THETA, masks, key=jax.random.key(0)) == 0
    Theta = THETA.copy()
    Theta[0, 1] = 2 * Theta[0, 0]  # only module 0 itself is degenerate
    assert has_collinear_rows(Theta, np.eye(M)).tolist() == [True] + [False] * (M - 1)
    assert collinear_fraction(Theta, masks, key=jax.random.key(1)) == 0
    assert collinear_fraction(Theta, masks[:1], key=jax.random.key(1)) == 1
    Theta[1, 1] = 2 * Theta[1, 0]
    assert collinear_fraction(Theta, masks, key=jax.random.key(2)) == 1
    assert collinear_fraction(Theta, np.eye(M), key=jax.random.key(3)) == 0


def test_the_exceptions_of_lemma_6_can_be_a_cone():
    # Rows (z1, z2) and (z2, z3), padded to three inputs: collinear where z1 z3 = z2².
    Theta = np.zeros((3, 2, 3))
    Theta[0, 0, 0] = Theta[1, 0, 1] = Theta[1, 1, 0] = Theta[2, 1, 1] = 1
    t = np.linspace(0.5, 2, 7)
    on_cone = np.stack([np.ones_like(t), t, t**2], axis=1)
    assert has_collinear_rows(Theta, on_cone).all()
    # Any three of these tasks span all tasks, so no finite union of planes holds a whole cone.
    assert np.linalg.matrix_rank(on_cone[:3]) == 3
    assert collinear_fraction(Theta, np.eye(3), key=jax.random.key(0)) == 0


def test_null_coefficients_of_hand_made_vectors():
    found = null_coefficients([[1, 0], [0, 1], [1, 1]])
    np.testing.assert_allclose(found * np.sign(found[0]), np.array([1, 1, -1]) / np.sqrt(3))
    with pytest.raises(ValueError, match="d \\+ 1 vectors"):
        null_coefficients(np.eye(3))


@pytest.mark.parametrize(("h", "d"), [(3, 2), (5, 2), (2, 3), (1, 2), (2, 1)])
def test_only_the_constant_choices_of_lemma_10_vanish(h, d):
    rng = np.random.default_rng(h + d)
    Theta, z = rng.normal(size=(d, h, 4)), rng.normal(size=(d + 1, d))
    neurons, signs = vanishing_combinations(Theta, z)
    assert len(neurons) == 2 * h
    assert (neurons == neurons[:, :1]).all()
    assert (signs == signs[:, :1]).all()
    assert {(i, s) for i, s in zip(neurons[:, 0], signs[:, 0], strict=True)} == {
        (i, s) for i in range(h) for s in (1, -1)
    }


def test_more_choices_vanish_where_lemma_10_does_not_apply():
    rng = np.random.default_rng(3)
    Theta, z = rng.normal(size=(2, 3, 4)), rng.normal(size=(3, 2))
    doubled = Theta.copy()
    doubled[:, 1] = doubled[:, 0]  # two neurons alike: either may stand in any of three places
    assert len(vanishing_combinations(doubled, z)[0]) == 2 * (2**3 + 1)
    special = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])  # two tasks on one line
    assert len(vanishing_combinations(Theta, special)[0]) > 2 * 3


def test_a_search_that_would_not_end_is_refused():
    with pytest.raises(ValueError, match="are not tried"):
        vanishing_combinations(np.ones((4, 16, 4)), np.ones((5, 4)))
