"""Figures 6.3, E.2 and E.5 to E.7: one vector for a symbol or several, and who can read them.

The analysis is tried on networks that are made by hand, so that what it has to find is known.
"""

from __future__ import annotations

import numpy as np

from recombine.lab import (
    Claim,
    Figure,
    Judgement,
    Missing,
    Preset,
    Results,
    Source,
    Study,
    figures,
)

from . import DOCUMENT
from .pattern_trial import as_published, on_laptop
from .patterns import AS_PUBLISHED
from .representations_trial import Config, trial
from .symbols import compatibility, first_maps, maps_of

NOISE = 0.3
"""Noise of representations, relative to their norm, in the controls with noise."""
NEAR_CHANCE = 0.05
"""How far from chance an accuracy may be and still be at chance."""


def hand_made(results: Results, network: str, **condition) -> Results:
    return results.where(network=network, noise=0.0, **condition)


def two_codes_cluster(results: Results) -> Judgement:
    runs = hand_made(results, "two codes")
    agreement, clusters = runs.metric("lowest_rand_index"), runs.metric("most_clusters")
    evidence = {
        "lowest adjusted Rand index of clusters and groups (bound: 1)": agreement.min(),
        "most clusters of a symbol": clusters.max(),
    }
    return Judgement(bool(agreement.min() == 1), evidence)


def one_code_does_not(results: Results) -> Judgement:
    runs = hand_made(results, "one code")
    clusters, lowest = runs.metric("most_clusters"), runs.metric("lowest_cosine")
    evidence = {
        "most clusters of a symbol (bound: 1)": clusters.max(),
        "lowest cosine (bound: at least 0.99)": lowest.min(),
    }
    return Judgement(bool(clusters.max() == 1 and lowest.min() >= 0.99), evidence)


def more_alike_within(results: Results) -> Judgement:
    runs = hand_made(results, "two codes")
    within, across = runs.metric("within"), runs.metric("across")
    evidence = {"mean cosine within groups": within.mean(), "across groups": across.mean()}
    return Judgement(bool((within > across).all()), evidence)


def at_chance(chance: float) -> str:
    return f"{chance:g} ± {NEAR_CHANCE:g}"


def is_near(accuracy: float, chance: float) -> bool:
    return abs(accuracy - chance) <= NEAR_CHANCE


def only_one_code_generalizes(results: Results) -> Judgement:
    one, two = (hand_made(results, network) for network in ("one code", "two codes"))
    chance = two.metric("chance").max()
    evidence = {
        "IID accuracy (bound: 1)": {"one code": one.metric("iid"), "two codes": two.metric("iid")},
        "OOD accuracy, one code (bound: 1)": one.metric("ood"),
        f"OOD accuracy, two codes (bound: mean {at_chance(chance)})": two.metric("ood"),
    }
    learned = min(one.metric("iid").min(), two.metric("iid").min()) == 1
    apart = one.metric("ood").min() == 1 and is_near(two.metric("ood").mean(), chance)
    return Judgement(bool(learned and apart), evidence)


def codes_decide(results: Results) -> Judgement:
    """Whether pairs of training can be read, and no others."""
    evidence, holds = {}, True
    for variant, trained, new in (
        ("A", ("a_to_b", "b_to_a"), ("a_to_a", "b_to_b")),
        ("R", ("a_to_a", "b_to_b"), ("a_to_b", "b_to_a")),
    ):
        runs = hand_made(results, "two codes", variant=variant)
        chance = runs.metric("chance").max()
        seen, unseen = (np.array([runs.metric(name) for name in names]) for names in (trained, new))
        evidence[f"{variant}: read as in training (bound: all 1)"] = seen.min()
        evidence[f"{variant}: read otherwise (bound: mean {at_chance(chance)})"] = unseen.mean()
        holds &= bool(seen.min() == 1 and is_near(unseen.mean(), chance))
    one = hand_made(results, "one code")
    ways = [f"{first}_to_{second}" for first in "ab" for second in "ab"]
    least = min(one.metric(way).min() for way in ways)
    evidence["one code: all pairs (bound: 1)"] = least
    return Judgement(holds and bool(least == 1), evidence)


def half_a_group(results: Results) -> Judgement:
    runs = hand_made(results, "half a group")
    chance = runs.metric("chance").max()
    by_cluster = compatibility(runs)
    by_group = {way: runs.metric(way).mean() for way in ("a_to_a", "a_to_b", "b_to_a", "b_to_b")}
    evidence = {
        f"by clusters C1, C2 (rows) and groups a, b (bound: 1, {at_chance(chance)}; 1, 1)": (
            by_cluster
        ),
        "by groups (bound: a to b between 0.4 and 0.65, all others 1)": by_group,
    }
    if by_cluster is None:
        return Judgement(False, evidence)
    read = [*by_cluster[[0, 1, 1], [0, 0, 1]], *(by_group[w] for w in by_group if w != "a_to_b")]
    unread = is_near(by_cluster[0, 1], chance) and 0.4 <= by_group["a_to_b"] <= 0.65
    return Judgement(bool(unread and min(read) == 1), evidence)


def noise_makes_clusters(results: Results) -> Judgement:
    one, two = (results.where(network=n, noise=NOISE) for n in ("one code", "two codes"))
    evidence = {
        "clusters of a symbol, one code (bound: at least 2)": one.metric("mean_clusters").min(),
        "their Rand index with groups (bound: at most 0.1)": one.metric("rand_index").mean(),
        "within minus across, one code (bound: within ±0.02)":
            (one.metric("within") - one.metric("across")).mean(),
        "Rand index, two codes (bound: 1)": two.metric("lowest_rand_index").min(),
    }  # fmt: skip
    found, agreement, apart, kept = evidence.values()
    return Judgement(
        bool(found >= 2 and agreement <= 0.1 and abs(apart) <= 0.02 and kept == 1), evidence
    )


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
            two_codes_cluster,
        ),
        Claim(
            "one-code-does-not",
            "In the network with one code no symbol has clusters, and all cosines are at least "
            "0.99.",
            "Figure E.5; on networks made by hand",
            one_code_does_not,
        ),
        Claim(
            "more-alike-within-groups",
            "With two codes, the mean cosine within groups is higher than across groups.",
            "Figure 6.3; on networks made by hand",
            more_alike_within,
        ),
        Claim(
            "only-one-code-generalizes",
            "Both networks are right on all IID tests; the one with one code on all OOD tests, the "
            "one with two codes at chance, to 0.05.",
            "Section 6.3.1; on networks made by hand",
            only_one_code_generalizes,
        ),
        Claim(
            "codes-decide-who-reads",
            "With two codes, pairs of groups as in training are compatible without exception, and "
            "others at chance, to 0.05; with one code all are compatible.",
            "Figure E.2; on networks made by hand",
            codes_decide,
        ),
        Claim(
            "half-a-group",
            "If half of group a writes a code that only a reads, cluster C1 is compatible with a "
            "and, to 0.05, at chance with b, C2 with both; by groups, a is compatible with b in "
            "about half of the cases (0.4 to 0.65), and all else fully.",
            "Figure E.2; on a network made by hand",
            half_a_group,
        ),
        Claim(
            "noise-makes-clusters",
            "Noise on one code makes clusters, but not those of the groups: their adjusted Rand "
            "index is at most 0.1, and cosines within and across groups differ by at most 0.02. "
            "With two codes the clusters stay the groups.",
            "a control that the paper does not have",
            noise_makes_clusters,
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
