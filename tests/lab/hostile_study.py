"""A study whose trials do what no trial should do to the process that runs them."""

import os
import sys
import time
from dataclasses import dataclass

from recombine.lab import Preset, Source, Study, grid


@dataclass(frozen=True)
class Config:
    """What goes wrong."""

    act: str = "nothing"
    """The name of a function below."""
    size: int = 1
    """How much of it."""


def nothing(config, run):
    pass


def die(config, run):
    os.kill(os.getpid(), config.size)


def leave(config, run):
    sys.exit(config.size)


def read(config, run):
    input()


def speak(config, run):
    for _ in range(config.size):
        print("x" * 99)


def sleep(config, run):
    time.sleep(config.size)


def hold(config, run):
    """Sleep and let no other thread of Python run meanwhile."""
    import ctypes

    ctypes.PyDLL(None).sleep(config.size)


def fork(config, run):
    """Both processes come back from the trial, with arrays of their own."""
    child = os.fork()
    run.array("who", [child == 0])
    if child:
        assert os.waitpid(child, 0)[1] == 0


def orphan(config, run):
    """Die, and leave a child that goes on for a while."""
    if os.fork():
        os.kill(os.getpid(), 9)
    time.sleep(config.size)


def raise_surrogate(config, run):
    raise RuntimeError("half a pair: \ud800")


def name_surrogate(config, run):
    run.metric("half a pair: \ud800", 1)
    run.curve("half a pair: \ud800", [1], [1])


def name_tuple(config, run):
    run.metric((1, 2), 1)


def curve(config, run):
    import numpy as np

    run.curve("long", np.arange(config.size), np.zeros(config.size))


HOARD = []


def hoard(config, run):
    """Keep 200 MB for good, and report how much there is of it by now, and the process."""
    HOARD.append(b"x" * 200_000_000)
    run.metric("megabytes", sum(map(len, HOARD)) / 1e6)
    run.metric("process", os.getpid())


def trial(config, key, run):
    globals()[config.act](config, run)
    run.metric("survived", 1)


study = Study(
    name="tests/hostile",
    title="Hostile trials",
    source=Source("Nobody", "nowhere"),
    question="Does the lab survive?",
    config=Config,
    trial=trial,
    presets={
        "smoke": Preset(seeds=1),
        "laptop": Preset(
            seeds=1,
            conditions=[
                *grid(act=("die",), size=(40, 11)),
                *grid(act=("leave",), size=(0, 3)),
                *grid(act=("nothing", "read", "fork", "raise_surrogate", "name_surrogate",
                           "name_tuple")),
                {"act": "orphan", "size": 600},
            ],
        ),
        "paper": Preset(seeds=1),
    },
)  # fmt: skip
