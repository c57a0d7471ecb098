"""Verdicts for the terminal."""

import io

from rich.console import Console

from recombine.lab.claims import Verdict
from recombine.lab.verdict_lines import evidence_lines, summaries, verdict_groups


def verdict(claim="small", word="holds", evidence=None, preset="laptop", **overrides):
    return Verdict("family/study", claim, "It is small.", word, evidence or {}, preset, overrides)


PART = {"mean": 0.93456789, "95 % interval": {"at least": 0.91}, "n": 10, "verdict": "holds"}


def drawn(verdicts, width=80):
    console = Console(file=io.StringIO(), width=width)
    for part in verdict_groups(verdicts):
        console.print(part, highlight=False)
    return console.file.getvalue()


def test_a_claim_has_its_name_statement_and_numbers_under_preset_and_settings():
    text = drawn([verdict(evidence={"seeds": 10, "accuracy > 0.9": PART}, sigma_0=0.1)])
    assert [line.strip() for line in text.splitlines()[:4]] == [
        "family/study  preset laptop, sigma_0=0.1, 10 seeds",
        "holds  small",
        "It is small.",
        "accuracy > 0.9: mean 0.9346, 95 % interval at least 0.91",
    ]


def test_lines_fit_into_the_terminal():
    one = verdict("a-very-long-name-of-a-claim-" * 4, "undecided", {"reason": "a reason " * 40})
    for width in (40, 80, 200):
        assert max(map(len, drawn([one], width).splitlines())) <= width


def test_a_reason_is_a_sentence():
    assert evidence_lines(
        verdict(word="undecided", evidence={"reason": "2 conditions are missing"})
    ) == ["2 conditions are missing."]


def test_statements_that_decided_come_first_and_the_others_are_counted():
    parts = {f"a{i} > 0": PART for i in range(6)} | {"b > 0": PART | {"verdict": "fails"}}
    lines = evidence_lines(verdict(word="fails", evidence={"seeds": 3, **parts, "fit": 0.5}))
    assert lines[0].startswith("b > 0")
    assert lines[-2:] == ["… and 3 statements more: 3 hold", "fit 0.5"]
    needed = PART | {"seeds needed": 12}
    assert evidence_lines(verdict(evidence={"c": needed})) == [
        "c: mean 0.9346, 95 % interval at least 0.91, 12 seeds needed"
    ]


def test_presets_and_settings_are_counted_apart():
    many = [verdict() for _ in range(22)]
    assert list(summaries([*many, verdict(word="fails")])) == ["claims: 22 hold, 1 fails"]
    assert list(summaries([*many, verdict(word="fails", sigma_0=0.1)])) == [
        "claims (preset laptop): 22 hold",
        "claims (preset laptop, sigma_0=0.1): 1 fails",
    ]
    assert list(summaries([verdict(word="undecided", preset="smoke")])) == [
        "claims (preset smoke): 1 undecided"
    ]


def test_markup_in_names_is_text():
    text = drawn([verdict("[/x]", evidence={"reason": "[bold]"})])
    assert "[/x]" in text
    assert "[bold]." in text
