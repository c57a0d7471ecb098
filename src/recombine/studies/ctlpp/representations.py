"""Figures 6.3, E.2 and E.5 to E.7: one vector for a symbol or several, and who can read them.

The analysis is tried on networks that are made by hand, so that what it has to find is known.
"""

from __future__ import annotations

import numpy as np

from recombine.lab import (
    Claim,
    Figure,
    Missing,
    Preset,
    Quantity,
    Results,
    Source,
    Statement,
    Study,
    all_of,
    every_seed,
    exact,
    figures,
    mean,
    per_seed,
)

from . import DOCUMENT
from .pattern_trial import as_published, on_laptop
from .patterns import AS_PUBLISHED
from .representations_trial import Config, needed, trial
from .symbols import compatibility, first_maps, maps_of

NOISE = 0.3
"""Noise of representations, relative to their norm, in the controls with noise."""
NEAR_CHANCE = 0.05
"""How far from chance an accuracy may be and still be at chance."""


def hand_made(results: Results, network: str, **condition) -> Results:
    return results.where(network=network, noise=0.0, **condition)


ONE, TWO, HALF = (
    {"network": network, "noise": 0.0} for network in ("one code", "two codes", "half a group")
)
WAYS = tuple(f"{first}_to_{second}" for first in "ab" for second in "ab")
"""A function of which group reads what one of which group wrote."""
READABLE = {"A": ("a_to_b", "b_to_a"), "R": ("a_to_a", "b_to_b")}
"""The pairs of training, by variant."""


def all_right(metric: str, **where) -> Statement:
    return every_seed(metric, **where).equals(1)


def at_chance(metric: str, **where) -> Statement:
    """The mean is at chance, up to a margin."""
    return mean(per_seed(metric) - per_seed("chance"), **where).near(0, margin=NEAR_CHANCE)


def of_cluster(first: int, second: int) -> Quantity:
    """How often a function of a group reads what one of a cluster wrote, over all seeds."""

    def read(results: Results) -> np.ndarray:
        found = compatibility(results)
        if found is None:
            raise Missing("not all symbols have two clusters")
        return found[first, second : second + 1]

    return per_seed(read, f"cluster {first + 1} read by group {'ab'[second]}", **HALF)


def above_chance(results: Results) -> float:
    """How often group b reads what the first cluster wrote, minus chance."""
    chance = results.metric("chance", **HALF).max()
    return float(of_cluster(0, 1)(results)[0] - chance)


def draw_one(results: Results):
    return first_maps(results, network="one code", variant="R", noise=0.0)


def draw_two(results: Results):
    return first_maps(results, network="two codes", variant="R", noise=0.0)


def draw_half(results: Results):
    return first_maps(results, network="half a group", noise=0.0)


def draw_noise(results: Results):
    return first_maps(results, network="one code", noise=NOISE)


def draw_trained(variant: str, choose):
    """The maps of one seed of trained networks."""
    return lambda results: maps_of(results, choose, network="trained", variant=variant)


def draw_compatibility(results: Results):
    """Figure E.2: who reads what, by clusters and by groups."""
    runs = hand_made(results, "half a group")
    by_group = [[runs.metric(f"{first}_to_{second}").mean() for second in "ab"] for first in "ab"]
    by_cluster = compatibility(runs)
    if by_cluster is None:
        raise Missing("not all symbols have two clusters")
    figure = figures.heatmaps(
        [by_cluster, np.array(by_group)],
        ["rows: clusters C1, C2", "rows: groups a, b"],
        x="read by",
        y="written by",
        across=("a", "b"),
        along=("first", "second"),
    )
    figure.update_layout(coloraxis={"cmin": 0.0, "cmax": 1.0})
    return figure


HAND_MADE = (
    *({"network": n, "variant": v} for n in ("one code", "two codes") for v in ("A", "R")),
    {"network": "half a group", "variant": "R"},
)
NOISY = tuple({"network": n, "variant": "R", "noise": NOISE} for n in ("one code", "two codes"))
FULL_SIZE = {"symbols": 8, "functions": 32, "longest": 6, "train": 3000}

study = Study(
    name="ctlpp/representations",
    title="Two codes for one symbol: what the analysis finds, and what it must find",
    source=Source(DOCUMENT, "Figures 6.3, E.2 and E.5 to E.7"),
    question="If a network has several vectors for one symbol, do cosines, clusters and "
    "compatibility show which functions write which, and who can read them?",
    config=Config,
    trial=trial,
    needs=needed,
    presets={
        "smoke": Preset(
            seeds=1,
            conditions=(*HAND_MADE, *NOISY),
            settings={"symbols": 4, "functions": 12, "longest": 2, "tested": 40},
            cost="5 s on two cores",
        ),
        "laptop": Preset(
            seeds=5,
            conditions=(*HAND_MADE, *NOISY),
            settings=FULL_SIZE,
            depends=on_laptop,
            cost="20 s on two cores",
        ),
        "paper": Preset(
            seeds=25,
            conditions=(
                *HAND_MADE,
                *NOISY,
                *({"network": "trained", "variant": v} for v in ("A", "R")),
            ),
            settings=AS_PUBLISHED,
            depends=as_published,
            cost="an accelerator; 82 min per trained network on one P100",
        ),
    },
    claims=(
        Claim(
            "two-codes-cluster",
            "In the network with two codes the clusters of every symbol are the groups of "
            "functions.",
            "Figures 6.3 and E.6; on networks made by hand",
            every_seed("lowest_rand_index", **TWO).equals(1),
        ),
        Claim(
            "one-code-does-not",
            "In the network with one code no symbol has clusters, and all cosines are at least "
            "{1}.",
            "Figure E.5; on networks made by hand",
            all_of(
                every_seed("most_clusters", **ONE).equals(1),
                every_seed("lowest_cosine", **ONE) >= 0.99,
            ),
        ),
        Claim(
            "more-alike-within-groups",
            "With two codes, the mean cosine within groups is higher than across groups.",
            "Figure 6.3; on networks made by hand",
            every_seed(per_seed("within", **TWO) - per_seed("across", **TWO)) > 0,
        ),
        Claim(
            "only-one-code-generalizes",
            "Both networks are right on all IID tests; the one with one code on all OOD tests, the "
            "one with two codes at chance, to {1}.",
            "Section 6.3.1; on networks made by hand",
            all_of(
                *(all_right("iid", **code) for code in (ONE, TWO)),
                all_right("ood", **ONE),
                at_chance("ood", **TWO),
            ),
        ),
        Claim(
            "codes-decide-who-reads",
            "With two codes, pairs of groups as in training are compatible without exception, and "
            "others at chance, to {0}; with one code all are compatible.",
            "Figure E.2; on networks made by hand",
            all_of(
                *(
                    (all_right if way in READABLE[variant] else at_chance)(
                        way, variant=variant, **TWO
                    )
                    for variant in READABLE
                    for way in WAYS
                ),
                *(all_right(way, **ONE) for way in WAYS),
            ),
        ),
        Claim(
            "half-a-group",
            "If half of group a writes a code that only a reads, cluster C1 is compatible with a "
            "and, to {1}, at chance with b, C2 with both; by groups, a is compatible with b in "
            "about half of the cases ({2} to {3}), and all else fully.",
            "Figure E.2; on a network made by hand",
            all_of(
                *(every_seed(of_cluster(*place)).equals(1) for place in ((0, 0), (1, 0), (1, 1))),
                exact(above_chance).equals(0, within=NEAR_CHANCE),
                mean("a_to_b", **HALF).between(0.4, 0.65),
                *(all_right(way, **HALF) for way in WAYS if way != "a_to_b"),
            ),
        ),
        Claim(
            "noise-makes-clusters",
            "Noise on one code makes clusters, but not those of the groups: their adjusted Rand "
            "index is at most {1}, and cosines within and across groups differ by at most {2}. "
            "With two codes the clusters stay the groups.",
            "a control that the paper does not have",
            all_of(
                every_seed("mean_clusters", network="one code", noise=NOISE) >= 2,
                mean("rand_index", network="one code", noise=NOISE) <= 0.1,
                mean(per_seed("within") - per_seed("across"), network="one code", noise=NOISE).near(
                    0, margin=0.02
                ),
                every_seed("lowest_rand_index", network="two codes", noise=NOISE).equals(1),
            ),
        ),
    ),
    figures=(
        Figure(
            "one-code",
            "One code",
            "As Figure E.5: cosines between the vectors of a symbol that two functions produce. "
            "Functions are in the order of their clusters, which are boxed; dots are red for group "
            "a, blue for group b. First seed.",
            draw_one,
        ),
        Figure(
            "two-codes",
            "Two codes, one for each group",
            "As Figures 6.3 and E.6, if the groups were all that there is. First seed.",
            draw_two,
        ),
        Figure(
            "half-a-group-maps",
            "A code of half a group",
            "As the second symbol of Figure 6.3, where clusters follow the groups in part. First "
            "seed.",
            draw_half,
        ),
        Figure(
            "compatibility",
            "Who reads what",
            "Figure E.2: how often a function of a group reads what a function of a cluster, or of "
            "a group, wrote. Half of group a (C1) writes a code that only a reads.",
            draw_compatibility,
        ),
        Figure(
            "noise",
            "One code, with noise",
            "Clusters are cut at half the largest distance: noise alone has clusters, of any "
            "functions.",
            draw_noise,
        ),
        Figure(
            "trained-r-best",
            "The best NDR trained on R",
            "Figure E.5: the seed with the highest OOD accuracy, at preset paper only.",
            draw_trained("R", np.argmax),
        ),
        Figure(
            "trained-r-worst",
            "The worst NDR trained on R",
            "Figure E.6: the seed with the lowest OOD accuracy, at preset paper only; see also the "
            "study of patterns.",
            draw_trained("R", np.argmin),
        ),
        Figure(
            "trained-a-worst",
            "The worst NDR trained on A",
            "Figure E.7: the seed with the lowest OOD accuracy, at preset paper only.",
            draw_trained("A", np.argmin),
        ),
    ),
    notes="The paper shows maps of single trained networks, and prints no numbers of them. Here "
    "the same analysis is tried on networks whose codes are known, at the paper's numbers of "
    "symbols and functions; trained networks are in the study of patterns and, at preset paper, "
    "here. The paper's clusters are cut at half the largest distance, which leaves two or more "
    "wherever vectors differ at all: so agreement with the groups is judged, not the number of "
    "clusters.",
)
