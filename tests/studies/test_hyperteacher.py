"""The settings of the hyperteacher's studies: the paper's, and what a config makes of them."""

from dataclasses import replace

import equinox as eqx
import jax
import pytest

from recombine.lab.reference import reference, references
from recombine.studies import meta_learner
from recombine.studies.hyperteacher import trial
from recombine.studies.meta_learner import MODELS, TITLES, Learner

KEY = jax.random.key(0)
FIELDS = {
    "lr_outer": "outer_rate",
    "lr_inner": "inner_rate",
    "grad_clip": "clip",
    "weight_decay": "weight_decay",
}


def row(model, metric):
    return reference("hyperteacher", artifact="table-A10", model=TITLES[model], metric=metric).value


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("metric", FIELDS)
def test_hyperparameters_are_those_that_the_paper_chose(model, metric):
    learner = trial.PAPER[model]
    assert getattr(learner, FIELDS[metric]) == row(model, f"{metric}_chosen")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("metric", FIELDS)
def test_what_was_chosen_was_a_candidate(model, metric):
    candidates = {
        r.value
        for r in references("hyperteacher")
        if (r.artifact, r.model, r.metric) == ("table-A10", TITLES[model], f"{metric}_candidate")
    }
    assert len(candidates) == 2
    assert row(model, f"{metric}_chosen") in candidates


def test_every_table_has_every_model():
    for table, _ in trial.TABLES.values():
        assert set(table) == set(MODELS)


PAPER = trial.Config(**trial.PAPER_SETTINGS)
# Slow and fast parameters with 16 modules. MAML is as wide as the paper's text says, 368, not 384.
COUNTS = {
    "linear": (1_262_336, 264),
    "nonlinear": (648_192, 256),
    "anil": (538_120, 4_104),
    "maml": (280_792, 280_792),
}


@pytest.mark.parametrize("model", MODELS)
def test_models_of_the_paper_have_the_sizes_of_the_published_code(model):
    config = replace(PAPER, model=model, M=16)
    learner = trial.learner_of(config)
    assert learner.embedding == 64
    assert learner.inner_steps == (100 if model == "anil" else 10)

    def parts(key):
        made = meta_learner.build(config, learner, 16, 8, key=key)
        return made.partition()[0], made.initial()

    sizes = eqx.filter_eval_shape(parts, KEY)
    assert tuple(sum(a.size for a in jax.tree.leaves(part)) for part in sizes) == COUNTS[model]


def test_a_config_overrides_what_it_names_and_nothing_else():
    table = {"linear": Learner(3, 128, 64, 0.001, 0.3, 1.0, 0.01)}
    config = meta_learner.MetaConfig(width=16, inner_rate=0.2, inner_steps=4)
    assert config.learner(table) == Learner(3, 16, 64, 0.001, 0.2, 1.0, 0.01, inner_steps=4)
    assert meta_learner.MetaConfig().learner(table) == table["linear"]


@pytest.mark.parametrize(
    ("settings", "size"),
    [({"M": 6}, 12), ({"M": 8, "table": "paper"}, 32), ({"M": 6, "embedding_factor": 0.5}, 3),
     ({"M": 6, "embedding": 7}, 7)],
)  # fmt: skip
def test_embeddings_grow_with_the_number_of_modules(settings, size):
    assert trial.learner_of(trial.Config(**settings)).embedding == size


@pytest.mark.parametrize(
    ("support", "train", "held_out"),
    [("compositional", 972, 324), ("non-compositional", 1008, 288), ("connected", 576, 698),
     ("disconnected", 104, 698)],
)  # fmt: skip
def test_the_papers_splits_have_the_papers_sizes(support, train, held_out):
    split = trial.split_of(replace(PAPER, support=support), key=KEY)
    assert (len(split.train), len(split.held_out)) == (train, held_out)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"M": 4, "K": 5}, "K=5 of M=4 modules cannot be mixed"),
        ({"held_out": 1.0}, "held_out=1 is not between 0 and 1"),
        ({"M": 4, "K": 2, "held_out": 0.9}, "held_out=0.9 leaves 1 of 10 combinations, too few"),
        ({"steps": 10, "measure_every": 4}, "steps=10 is not a multiple of measure_every=4"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        trial.Config(**settings)
