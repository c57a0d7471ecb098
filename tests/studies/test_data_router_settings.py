"""Preset paper of the data router has the settings of Tables D.3 to D.5, and of the code."""

import pytest

from recombine.lab.registry import load

ALL = ("batch", "learning_rate", "weight_decay", "dropout", "clip", "steps")
RECURRENT = (*ALL, "units", "embedding")
UNGATED = (*ALL, "size", "hidden", "heads", "layers", "attention_dropout")
GATED = (*UNGATED, "gate_dropout")

LOOKUP = {
    "LSTM": (RECURRENT, (256, 1e-3, 0, 0.5, 5, 20_000, 200, 16)),
    "Transformer": (UNGATED, (512, 1.5e-4, 0.0025, 0.1, 5, 30_000, 128, 256, 4, 11, 0)),
    "+ rel + gate": (GATED, (512, 2e-4, 0.01, 0.5, 5, 30_000, 256, 1024, 1, 14, 0.1, 0)),
    "NDR": (GATED, (512, 1.5e-4, 0.01, 0.5, 5, 30_000, 256, 512, 1, 14, 0.1, 0.1)),
}
LOOKUP |= dict.fromkeys(("Bidirectional LSTM", "DNC"), LOOKUP["LSTM"])
LOOKUP |= dict.fromkeys(("+ rel", "+ geom."), LOOKUP["Transformer"])
LOOKUP |= {"+ abs/rel + gate": LOOKUP["+ rel + gate"]}
ARITHMETIC = {
    "LSTM": (RECURRENT, (256, 1e-3, 0, 0.5, 5, 200_000, 200, 200)),
    "Transformer": (UNGATED, (512, 1.5e-4, 0.0025, 0.5, 1, 200_000, 128, 256, 4, 11, 0)),
    "+ rel": (UNGATED, (512, 1.5e-4, 0.0025, 0.5, 1, 200_000, 128, 256, 4, 11, 0.1)),
    "NDR": (GATED, (512, 1.5e-4, 0.01, 0.5, 1, 100_000, 256, 1024, 4, 15, 0.1, 0.1)),
}
ARITHMETIC |= {"Bidirectional LSTM": ARITHMETIC["LSTM"], "+ abs/rel + gate": ARITHMETIC["NDR"]}
LISTOPS = {
    "LSTM": (RECURRENT, (512, 1e-3, 0.08, 0.1, 1, 200_000, 512, 512)),
    "Transformer": (UNGATED, (512, 4e-4, 0.05, 0.015, 1, 200_000, 256, 1024, 16, 6, 0)),
    "+ rel": (UNGATED, (512, 4e-4, 0.05, 0.015, 1, 200_000, 256, 1024, 16, 6, 0.05)),
    "+ abs/rel + gate": (
        GATED, (512, 2e-4, 0.09, 0.1, 1, 100_000, 512, 2048, 16, 20, 0.1, 0.05)
    ),
    "NDR": (GATED, (512, 2e-4, 0.09, 0.1, 1, 100_000, 512, 1024, 16, 20, 0.1, 0.05)),
}  # fmt: skip
LISTOPS |= {"Bidirectional LSTM": LISTOPS["LSTM"]}


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
        names, expected = table[config["model"]]
        assert tuple(config[name] for name in names) == expected, config["model"]
        assert config["every"] == 1000


def test_networks_that_halt_are_deeper_and_learn_for_longer():
    names, (*expected,) = LOOKUP["Transformer"]
    for config in configs("halting"):
        settings = dict(zip(names, expected, strict=True))
        if config["halting"] != "none":
            settings |= {"layers": 14, "steps": 60_000}
        assert {name: config[name] for name in names} == settings


def test_networks_of_different_depths_differ_in_nothing_else():
    names, expected = LOOKUP["NDR"]
    for config in configs("depth"):
        settings = dict(zip(names, expected, strict=True)) | {"layers": config["layers"]}
        assert {name: config[name] for name in names} == settings
    assert {config["layers"] for config in configs("depth")} == {14, 12, 10, 8, 6, 4}


@pytest.mark.parametrize(
    ("study", "layers"), [("table-lookup", 1), ("arithmetic", 2), ("listops", 4)]
)
def test_recurrent_networks_have_the_layers_of_the_paper(study, layers):
    for config in configs(study):
        if "LSTM" in config["model"]:
            assert config.get("recurrent_layers", 1) == layers


@pytest.mark.parametrize(
    ("study", "model", "column"),
    [
        ("table-lookup", "NDR", "last"), ("table-lookup", "+ rel", "last"),
        ("arithmetic", "NDR", "last"), ("arithmetic", "+ abs/rel + gate", "last"),
        ("arithmetic", "+ rel", "first"), ("arithmetic", "Transformer", "first"),
        ("listops", "NDR", "first"), ("listops", "Transformer", "first"),
    ],
)  # fmt: skip
def test_the_column_of_the_paper_is_read(study, model, column):
    assert {c["readout"] for c in configs(study) if c["model"] == model} == {column}
