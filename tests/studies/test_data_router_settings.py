"""Preset paper of the data router has the settings of Tables D.3 to D.5, and of the code."""

import pytest

from recombine.lab.registry import load

ALL = ("batch_size", "learning_rate", "weight_decay", "model.dropout", "clip", "steps")
RECURRENT = (*ALL, "model.units", "model.embedding")
UNGATED = (
    *ALL, "model.width", "model.hidden", "model.heads", "model.layers", "model.attention.dropout",
)  # fmt: skip
GATED = (*UNGATED, "model.block.gate_dropout")

LOOKUP = {
    "lstm": (RECURRENT, (256, 1e-3, 0, 0.5, 5, 20_000, 200, 16)),
    "transformer": (UNGATED, (512, 1.5e-4, 0.0025, 0.1, 5, 30_000, 128, 256, 4, 11, 0)),
    "relative-gate": (GATED, (512, 2e-4, 0.01, 0.5, 5, 30_000, 256, 1024, 1, 14, 0.1, 0)),
    "ndr": (GATED, (512, 1.5e-4, 0.01, 0.5, 5, 30_000, 256, 512, 1, 14, 0.1, 0.1)),
}
LOOKUP |= dict.fromkeys(("bi-lstm", "dnc"), LOOKUP["lstm"])
LOOKUP |= dict.fromkeys(("relative", "geometric"), LOOKUP["transformer"])
LOOKUP |= {"position-gate": LOOKUP["relative-gate"]}
ARITHMETIC = {
    "lstm": (RECURRENT, (256, 1e-3, 0, 0.5, 5, 200_000, 200, 200)),
    "transformer": (UNGATED, (512, 1.5e-4, 0.0025, 0.5, 1, 200_000, 128, 256, 4, 11, 0)),
    "relative": (UNGATED, (512, 1.5e-4, 0.0025, 0.5, 1, 200_000, 128, 256, 4, 11, 0.1)),
    "ndr": (GATED, (512, 1.5e-4, 0.01, 0.5, 1, 100_000, 256, 1024, 4, 15, 0.1, 0.1)),
}
ARITHMETIC |= {"bi-lstm": ARITHMETIC["lstm"], "position-gate": ARITHMETIC["ndr"]}
LISTOPS = {
    "lstm": (RECURRENT, (512, 1e-3, 0.08, 0.1, 1, 200_000, 512, 512)),
    "transformer": (UNGATED, (512, 4e-4, 0.05, 0.015, 1, 200_000, 256, 1024, 16, 6, 0)),
    "relative": (UNGATED, (512, 4e-4, 0.05, 0.015, 1, 200_000, 256, 1024, 16, 6, 0.05)),
    "position-gate": (
        GATED, (512, 2e-4, 0.09, 0.1, 1, 100_000, 512, 2048, 16, 20, 0.1, 0.05)
    ),
    "ndr": (GATED, (512, 2e-4, 0.09, 0.1, 1, 100_000, 512, 1024, 16, 20, 0.1, 0.05)),
}  # fmt: skip
LISTOPS |= {"bi-lstm": LISTOPS["lstm"]}


def at(config, name):
    """A setting of a config in JSON form, by its full name."""
    for word in name.split("."):
        config = config[word]
    return config


def configs(study):
    return [trial.config for trial in load(f"data-router/{study}").trials("paper", seeds=1)]


@pytest.mark.parametrize(
    ("study", "table"),
    [
        ("table-lookup", LOOKUP), ("parts", LOOKUP), ("readout", LOOKUP), ("control-flow", LOOKUP),
        ("arithmetic", ARITHMETIC), ("listops", LISTOPS),
    ],
)  # fmt: skip
def test_networks_have_the_settings_of_the_paper(study, table):
    found = configs(study)
    assert found
    for config in found:
        names, expected = table[at(config, "model.spec")]
        assert tuple(at(config, name) for name in names) == expected, at(config, "model.spec")
        assert config["every"] == 1000


def test_networks_that_halt_are_deeper_and_learn_for_longer():
    names, (*expected,) = LOOKUP["transformer"]
    for config in configs("halting"):
        settings = dict(zip(names, expected, strict=True))
        if at(config, "model.halting") is not None:
            settings |= {"model.layers": 14, "steps": 60_000}
        assert {name: at(config, name) for name in names} == settings


def test_networks_of_different_depths_differ_in_nothing_else():
    names, expected = LOOKUP["ndr"]
    for config in configs("depth"):
        layers = {"model.layers": at(config, "model.layers")}
        settings = dict(zip(names, expected, strict=True)) | layers
        assert {name: at(config, name) for name in names} == settings
    assert {at(config, "model.layers") for config in configs("depth")} == {14, 12, 10, 8, 6, 4}


@pytest.mark.parametrize(
    ("study", "layers"), [("table-lookup", 1), ("arithmetic", 2), ("listops", 4)]
)
def test_recurrent_networks_have_the_layers_of_the_paper(study, layers):
    found = {spec["spec"]: spec.get("layers") for spec in (c["model"] for c in configs(study))}
    assert {found[name] for name in ("lstm", "bi-lstm")} == {layers}


@pytest.mark.parametrize(
    ("study", "model", "column"),
    [
        ("table-lookup", "ndr", "last"), ("table-lookup", "relative", "last"),
        ("arithmetic", "ndr", "last"), ("arithmetic", "position-gate", "last"),
        ("arithmetic", "relative", "first"), ("arithmetic", "transformer", "first"),
        ("listops", "ndr", "first"), ("listops", "transformer", "first"),
    ],
)  # fmt: skip
def test_the_column_of_the_paper_is_read(study, model, column):
    found = [config["model"] for config in configs(study)]
    assert {m["reads"] for m in found if m["spec"] == model} == {column}


@pytest.mark.parametrize("study", ["table-lookup", "arithmetic", "listops"])
def test_preset_paper_reads_what_the_published_bidirectional_lstm_reads(study):
    found = [config["model"] for config in configs(study)]
    (several,) = {m["layers"] > 1 for m in found if m["spec"] == "bi-lstm"}
    for spec in found:
        if spec["spec"] == "bi-lstm":
            # One layer is read alike either way.
            assert (spec["end_token"], spec["reads_halves"]) == (True, several)
        elif spec["spec"] == "lstm":
            assert not spec["end_token"]


def test_preset_paper_has_the_published_layer_and_price():
    (dnc,) = {c["model"]["output_layer"] for c in configs("parts") if c["model"]["spec"] == "dnc"}
    assert dnc
    assert all(config["ponder_padding"] for config in configs("halting"))


def sizes_on_laptop(study):
    """Width, hidden units, heads and layers of encoders, or units and embedding, by network."""
    found = {}
    for trial in load(f"data-router/{study}").trials("laptop", seeds=1):
        spec = trial.config["model"]
        names = (
            ("width", "hidden", "heads", "layers") if "width" in spec else ("units", "embedding")
        )
        found[spec["spec"]] = tuple(spec[name] for name in (*names, "dropout"))
    return found


def test_networks_of_preset_laptop_are_small():
    assert sizes_on_laptop("table-lookup") == {
        "lstm": (64, 16, 0.1), "bi-lstm": (64, 16, 0.1), "relative": (128, 256, 4, 10, 0.1),
        "relative-gate": (128, 256, 8, 10, 0.1), "ndr": (128, 256, 8, 10, 0.1),
    }  # fmt: skip
    arithmetic = dict.fromkeys(("ndr", "position-gate", "relative"), (64, 128, 8, 11, 0.2))
    assert sizes_on_laptop("arithmetic") == arithmetic | {"bi-lstm": (64, 64, 0.2)}
    lists = dict.fromkeys(("ndr", "position-gate", "relative"), (64, 128, 8, 12, 0.2))
    assert sizes_on_laptop("listops") == lists | {"bi-lstm": (64, 64, 0.2)}
