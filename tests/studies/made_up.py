"""Results that no trial has measured, to see what claims make of them."""

from functools import partial
from typing import NamedTuple

import numpy as np

from recombine.lab.conditions import at
from recombine.lab.registry import load
from recombine.lab.results import Record, Results
from recombine.lab.settings import from_plain, plain


def nothing(config, name):
    return np.zeros(1), np.zeros(1)


def blank(config, name):
    return np.zeros((1, 1))


def results(name, values, preset="laptop", curve=nothing, array=blank, seeds=None, overrides=None):
    """A study, and results in which `values(config, seed)` gives the metrics of a trial.

    `curve(config, name)` and `array(config, name)` give what else is read from a trial.
    """
    study = load(name)
    records = []
    for trial in study.trials(preset, seeds=seeds, overrides=overrides):
        config = from_plain(study.config, trial.config)
        records.append(
            Record(
                trial.id,
                dict(trial.condition),
                dict(trial.config),
                trial.seed,
                values(config, trial.seed),
                1,
                0,
                partial(curve, config),
                partial(array, config),
            )
        )
    return study, Results(name, preset, {}, tuple(records))


def settings_are(config, where):
    """Whether a config has these settings; a spec has the name, and fields have dots."""
    plain_config = plain(config)

    def same(found, value):
        return found["spec"] == value if isinstance(found, dict) else found == value

    return all(same(at(plain_config, name, None), value) for name, value in where.items())


class Judged(NamedTuple):
    """What a claim makes of results."""

    verdict: str
    evidence: dict

    @property
    def holds(self):
        return self.verdict == "holds"


def judged(study, found, claim):
    """What a claim of the study makes of the results."""
    finding = next(c for c in study.claims if c.name == claim).check.judge(found)
    return Judged(finding.verdict, finding.evidence)
