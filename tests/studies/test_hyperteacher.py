"""The settings of the hyperteacher's studies: the paper's, and what a config makes of them."""

from dataclasses import replace

import equinox as eqx
import jax
import pytest

from recombine._spec import known_specs
from recombine.lab.reference import reference, references
from recombine.lab.registry import load
from recombine.lab.settings import from_plain
from recombine.models import specs
from recombine.studies.hyperteacher import trial
from recombine.studies.meta_models import ANIL, LINEAR, MAML, MODELS, NONLINEAR, TITLES

KEY = jax.random.key(0)
FIELDS = {
    "lr_outer": "outer_rate",
    "lr_inner": "inner_rate",
    "grad_clip": "clip",
    "weight_decay": "weight_decay",
}


def row(model, metric):
    return reference("hyperteacher", artifact="table-A10", model=TITLES[model], metric=metric).value


def config_of(preset, study="hyperteacher/support", **settings):
    """The config of the first trial of a preset."""
    found = load(study)
    return from_plain(found.config, found.trials(preset, overrides=settings)[0].config)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("metric", FIELDS)
def test_hyperparameters_are_those_that_the_paper_chose(model, metric):
    config = config_of("paper", model=model)
    assert getattr(config, FIELDS[metric]) == row(model, f"{metric}_chosen")


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


def test_the_models_of_the_papers_have_specs():
    assert set(MODELS) <= set(known_specs(specs.AbstractMetaSpec))
    assert set(MODELS) == set(TITLES)


@pytest.mark.parametrize("study", ["hyperteacher/support", "preferences/support", "goals/support"])
def test_a_config_without_a_preset_is_the_linear_hypernetwork_of_the_small_table(study):
    usual, config = load(study).config(), config_of("laptop", study, model=LINEAR)
    names = ("model", "outer_rate", "inner_rate", "inner_steps", "clip", "weight_decay")
    assert all(getattr(usual, name) == getattr(config, name) for name in names)


PAPER = trial.Config(**trial.PAPER_SETTINGS)
# Slow and fast parameters with 16 modules. MAML is as wide as the paper's text says, 368, not 384.
COUNTS = {
    LINEAR: (1_262_336, 264),
    NONLINEAR: (648_192, 256),
    ANIL: (538_120, 4_104),
    MAML: (280_792, 280_792),
}


@pytest.mark.parametrize("model", MODELS)
def test_models_of_the_paper_have_the_sizes_of_the_published_code(model):
    config = config_of("paper", model=model, M=16)
    assert getattr(config.model, "embedding", 64) == 64
    assert config.inner_steps == (100 if model == ANIL else 10)

    def parts(key):
        made = config.model.build(specs.VectorSizes(16, 8), key)
        return made.partition()[0], made.initial()

    sizes = eqx.filter_eval_shape(parts, KEY)
    assert tuple(sum(a.size for a in jax.tree.leaves(part)) for part in sizes) == COUNTS[model]


def test_a_setting_overrides_what_it_names_and_nothing_else():
    usual = config_of("paper", model=LINEAR)
    changed = {"model.width": "16", "inner_rate": 0.2, "inner_steps": 4}
    config = config_of("paper", model=LINEAR, **changed)
    assert config == replace(
        usual, model=replace(usual.model, width=16), inner_rate=0.2, inner_steps=4
    )


@pytest.mark.parametrize(
    ("preset", "settings", "size"),
    [("laptop", {}, 12), ("laptop", {"M": 8}, 16), ("paper", {}, 32), ("paper", {"M": 6}, 24),
     ("laptop", {"M": 8, "model.embedding": "7"}, 7)],
)  # fmt: skip
def test_embeddings_grow_with_the_number_of_modules(preset, settings, size):
    assert config_of(preset, model=LINEAR, **settings).model.embedding == size


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
        ({"steps": 10, "every": 4}, "steps=10 is not a multiple of every=4"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        trial.Config(**settings)
