import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine.learning import AbstractRule, Progress, train


class Noisy(AbstractRule):
    """A rule with momentum-like state, noise that depends on the step, and something to see."""

    rate: float
    key: jax.Array

    def step(self, state, t):
        w, v = state
        noise = jax.random.normal(jax.random.fold_in(self.key, t), w.shape)
        v = 0.9 * v - self.rate * (jnp.sin(w) + noise)
        return w + v, v

    def observe(self, state):
        return {"loss": jnp.sum(state[0] ** 2), "w": state[0]}


def start():
    return jnp.linspace(-1.0, 1.0, 5), jnp.zeros(5)


class Counter(AbstractRule):
    """Counts, and remembers the step it was last told."""

    def step(self, state, t):
        return {"count": state["count"] + 1, "t": t.astype(jnp.int32)}

    def observe(self, state):
        return {"count": state["count"], "t": state["t"]}


COUNT = {"count": jnp.asarray(0), "t": jnp.asarray(-1, jnp.int32)}


def test_a_loop_takes_the_steps_it_is_told_to_take_with_the_right_numbers():
    state, curves = train(Counter(), COUNT, 7, chunk=3)
    assert (state["count"], state["t"]) == (7, 6)
    np.testing.assert_array_equal(curves["step"], np.arange(8))
    np.testing.assert_array_equal(curves["count"], np.arange(8))
    np.testing.assert_array_equal(curves["t"], np.arange(8) - 1)


@pytest.mark.parametrize("chunk", [1, 4, 8, 100])
def test_observations_are_made_before_the_first_step_every_so_often_and_at_the_end(chunk):
    _, curves = train(Counter(), COUNT, 12, every=4, chunk=chunk)
    np.testing.assert_array_equal(curves["step"], [0, 4, 8, 12])
    np.testing.assert_array_equal(curves["count"], [0, 4, 8, 12])
    np.testing.assert_array_equal(curves["t"], [-1, 3, 7, 11])


def test_no_steps_leave_the_state_and_observe_it_once():
    state, curves = train(Counter(), COUNT, 0)
    assert state["count"] == 0
    np.testing.assert_array_equal(curves["step"], [0])
    np.testing.assert_array_equal(curves["count"], [0])


def test_a_loop_does_what_a_plain_python_loop_does(x64):
    rule, state = Noisy(0.1, jax.random.key(0)), start()
    trained, curves = train(rule, state, 30, every=5, chunk=10)
    seen = []
    for t in range(30):
        if t % 5 == 0:
            seen.append(state[0])
        state = rule.step(state, jnp.asarray(t))
    np.testing.assert_allclose(trained[0], state[0], rtol=1e-12)
    np.testing.assert_allclose(curves["w"], [*seen, state[0]], rtol=1e-12)


@pytest.mark.parametrize("stop", [0, 2, 3])
def test_a_resumed_run_equals_the_uninterrupted_one_bit_for_bit(stop):
    rule, reports = Noisy(0.1, jax.random.key(0)), []
    arguments = {"every": 5, "chunk": 20}
    final, curves = train(rule, start(), 90, on_chunk=reports.append, **arguments)
    interrupted = reports[stop]
    assert interrupted.step < 90
    saved = Progress(
        interrupted.step,
        jax.tree.map(np.asarray, interrupted.state),
        {name: curve.copy() for name, curve in interrupted.curves.items()},
    )
    resumed, resumed_curves = train(rule, start(), 90, resume=saved, **arguments)
    for one, other in zip(final, resumed, strict=True):
        np.testing.assert_array_equal(one, other)
    assert curves.keys() == resumed_curves.keys()
    for name in curves:
        np.testing.assert_array_equal(curves[name], resumed_curves[name])


def test_every_chunk_is_reported_with_all_that_was_observed_so_far():
    reports = []
    train(Counter(), COUNT, 10, every=2, chunk=4, on_chunk=reports.append)
    assert [r.step for r in reports] == [4, 8, 10]
    assert [int(r.state["count"]) for r in reports] == [4, 8, 10]
    np.testing.assert_array_equal(reports[1].curves["step"], [0, 2, 4, 6])
    np.testing.assert_array_equal(reports[1].curves["count"], [0, 2, 4, 6])


def test_a_grid_of_learning_rates_compiles_once():
    traces = []

    class Traced(AbstractRule):
        rate: float

        def step(self, state, t):
            traces.append("step")
            return state * (1 - self.rate)

        def observe(self, state):
            traces.append("observe")
            return {"loss": state}

    results = []
    for rate in (0.1, 0.2, 0.3):
        results.append(float(train(Traced(rate), jnp.asarray(1.0), 10)[0]))
        if rate == 0.1:
            first = len(traces)
    assert len(traces) == first > 0
    np.testing.assert_allclose(results, [0.9**10, 0.8**10, 0.7**10], rtol=1e-5)


def test_a_state_may_hold_keys_and_numbers_without_a_type_of_their_own_and_compiles_once():
    traces = []

    class Walk(AbstractRule):
        def step(self, state, t):
            traces.append("step")
            key, w = state
            key, drawn = jax.random.split(key)
            return key, w + jax.random.normal(drawn)

        def observe(self, state):
            return {"loss": state[1]}

    counts, moved = [], []
    for w in (jnp.asarray(1.0), jnp.asarray(2.0, jnp.float32), 3.0):  # the first has a weak type
        (key, end), _ = train(
            Walk(), (jax.random.key(0), w), 40, every=5, chunk=20,
            on_chunk=lambda _: counts.append(len(traces)),
        )  # fmt: skip
        assert jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
        moved.append(end - w)
    assert len(counts) == 6
    assert set(counts) == {counts[0]}
    np.testing.assert_allclose(moved, moved[0], rtol=1e-4)


def test_a_static_field_selects_another_program():
    class Power(AbstractRule):
        power: int = eqx.field(static=True)

        def step(self, state, t):
            return state * 2**self.power

        def observe(self, state):
            return {"loss": state}

    assert train(Power(1), jnp.asarray(1.0), 3)[0] == 8.0
    assert train(Power(2), jnp.asarray(1.0), 3)[0] == 64.0


def test_steps_that_are_not_a_multiple_of_every_are_an_error():
    with pytest.raises(ValueError, match="multiple of every"):
        train(Counter(), COUNT, 10, every=3)


class Peak(AbstractRule):
    """Remembers the largest value that was seen of its state, and when."""

    every: int = 3

    def step(self, state, t):
        return state | {"x": jnp.sin(t + 1.0)}

    def observe(self, state):
        return {"x": state["x"]}

    def noted(self, state, seen, t):
        better = seen["x"] > state["peak"]
        return state | {
            "peak": jnp.where(better, seen["x"], state["peak"]),
            "at": jnp.where(better, t, state["at"]),
            "notes": state["notes"] + 1,
        }


PEAK = {"x": 0.0, "peak": -2.0, "at": jnp.asarray(-1), "notes": jnp.asarray(0)}


@pytest.mark.parametrize("chunk", [3, 6, 100])
def test_a_rule_is_told_of_every_observation_the_last_one_included(chunk):
    end, curves = train(Peak(), PEAK, 15, chunk=chunk)
    assert end["notes"] == len(curves["x"]) == 6
    assert end["at"] == curves["step"][curves["x"].argmax()]
    assert end["peak"] == curves["x"].max()
    assert end["at"] == 15


def test_the_steps_between_observations_are_the_rules_own_unless_told_otherwise():
    np.testing.assert_array_equal(train(Peak(), PEAK, 6)[1]["step"], [0, 3, 6])
    np.testing.assert_array_equal(train(Peak(), PEAK, 6, every=2)[1]["step"], [0, 2, 4, 6])
    np.testing.assert_array_equal(train(Counter(), COUNT, 2)[1]["step"], [0, 1, 2])


def test_a_resumed_run_is_told_of_the_same_observations():
    reports = []
    straight, _ = train(Peak(), PEAK, 15, chunk=6, on_chunk=reports.append)
    resumed, _ = train(Peak(), PEAK, 15, chunk=6, resume=reports[0])
    assert straight == resumed


def test_a_state_may_hold_functions_and_whole_numbers_which_stay():
    class Applying(AbstractRule):
        def step(self, state, t):
            return state | {"x": state["function"](state["x"]) * state["factor"]}

        def observe(self, state):
            return {"x": state["x"]}

    def half(x):
        return x / 2

    state, curves = train(Applying(), {"x": 1.0, "function": half, "factor": 3}, 2)
    np.testing.assert_allclose(curves["x"], [1, 1.5, 2.25])
    assert (state["function"], state["factor"]) == (half, 3)
