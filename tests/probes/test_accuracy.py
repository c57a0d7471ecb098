import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from recombine.data import prototypes
from recombine.models import GatedClassifier
from recombine.probes import encoder_sharing, route_accuracies
from recombine.tasks import ImageRouting, pixel_permutations, random_labels
from recombine.tasks._image_routing import RouteBatch

M = 3


@functools.cache
def small_task():
    data = prototypes(classes=4, shape=(3, 3), train=8, test=30, key=jax.random.key(0))
    return ImageRouting(data, pixel_permutations(M, 9), random_labels(M, 4, key=jax.random.key(1)))


def small_model(key=2, **options):
    return GatedClassifier(M, 9, 5, 4, key=jax.random.key(key), **options)


def test_route_accuracies_count_right_answers_route_by_route():
    batch, model = small_task().first_test(30), small_model()
    accuracies = np.asarray(jax.jit(route_accuracies)(model, batch))
    logits, labels = np.asarray(eqx.filter_jit(model)(batch.inputs)), np.asarray(batch.labels)
    for i in range(M):
        for j in range(M):
            right = sum(int(np.argmax(logits[b, i, j])) == labels[b, j] for b in range(30))
            assert np.isclose(accuracies[i, j], right / 30)


def test_labels_taken_from_the_answers_of_one_input_domain_make_its_routes_perfect():
    inputs, model = small_task().first_test(30).inputs, small_model()
    answers = eqx.filter_jit(model)(inputs)[:, 1].argmax(-1)
    accuracies = jax.jit(route_accuracies)(model, RouteBatch(inputs, answers))
    assert np.array_equal(accuracies[1], np.ones(M))
    assert float(accuracies[0].min()) < 1


def aligned(model, task, sign=1.0):
    """Encoders that undo their domain's permutation: all give one code, the last times `sign`."""
    common = model.encoders[0].weight[0]
    weight = jnp.stack([common[:, task.transforms.source[i]] for i in range(M)])
    return eqx.tree_at(lambda m: m.encoders[0].weight, model, weight.at[-1].multiply(sign))


def test_encoders_that_undo_their_transform_share_their_code_whatever_their_bias():
    task = small_task()
    model = aligned(small_model(), task)
    bias = jax.random.normal(jax.random.key(5), (M, 5)) * 10
    model = eqx.tree_at(lambda m: m.encoders[0].bias, model, bias)
    assert np.isclose(jax.jit(encoder_sharing)(model, task.first_test(30)), 1, atol=1e-5)


def test_one_encoder_of_opposite_sign_lowers_the_sharing_to_minus_a_third():
    task = small_task()
    model = aligned(small_model(), task, sign=-2.0)
    # Of three pairs one agrees and two are opposite.
    assert np.isclose(jax.jit(encoder_sharing)(model, task.first_test(30)), -1 / 3, atol=1e-5)


def test_independent_encoders_share_next_to_nothing():
    data = prototypes(train=2, test=200, key=jax.random.key(0))
    task = ImageRouting(data, pixel_permutations(8, 64), random_labels(8, key=jax.random.key(1)))
    model = GatedClassifier(8, 64, 128, 10, key=jax.random.key(2))
    assert abs(float(jax.jit(encoder_sharing)(model, task.first_test(200)))) < 0.05
