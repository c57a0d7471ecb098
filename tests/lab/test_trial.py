import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine.lab import Diverged, Recorder
from recombine.learning import AbstractRule


class Walk(AbstractRule):
    rate: float

    def step(self, state, t):
        return jnp.sin(state) + self.rate * t

    def observe(self, state):
        return {"loss": jnp.sum(state)}


class Stop(Exception):
    pass


def test_an_interrupted_loop_goes_on_bit_for_bit(tmp_path):
    start = jax.random.normal(jax.random.key(0), (5,))
    expected, curves = Recorder().train(Walk(0.01), start, 100, every=5, chunk=20)

    def stop(step, steps, loss):
        if step == 60:
            raise Stop

    with pytest.raises(Stop):
        Recorder(tmp_path, stop, 0).train(Walk(0.01), start, 100, every=5, chunk=20)
    seen = []
    resumed, again = Recorder(tmp_path, lambda step, steps, loss: seen.append(step), 0).train(
        Walk(0.01), start, 100, every=5, chunk=20
    )
    assert seen == [60, 80, 100]
    assert np.array_equal(resumed, expected)
    assert np.array_equal(again["loss"], curves["loss"])
    assert np.array_equal(again["step"], np.arange(0, 101, 5))


def test_two_loops_of_one_name_are_refused(tmp_path):
    recorder = Recorder(tmp_path)
    recorder.train(Walk(0.01), jnp.ones(3), 4)
    with pytest.raises(ValueError, match="two loops"):
        recorder.train(Walk(0.01), jnp.ones(3), 4)


def test_divergence_ends_a_trial_and_says_where():
    with pytest.raises(Diverged, match="at step 2"):
        Recorder().train(Walk(float("inf")), jnp.ones(3), 10, every=2, chunk=4)


def test_divergence_is_seen_at_the_last_step_too_and_comes_with_a_remedy():
    with pytest.raises(Diverged, match="at step 2: lower the learning rate"):
        Recorder().train(Walk(float("inf")), jnp.ones(3), 2, every=2)


def test_a_metric_that_is_not_finite_ends_a_trial():
    with pytest.raises(Diverged, match="error is nan"):
        Recorder().metric("error", float("nan"))


def test_a_curve_must_have_an_ordinate_for_each_abscissa():
    with pytest.raises(ValueError, match="curve loss"):
        Recorder().curve("loss", [1, 2, 3], [1, 2])
