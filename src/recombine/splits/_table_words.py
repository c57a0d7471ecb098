"""What a diagnosis says of a table of factors."""

from typing import TYPE_CHECKING

from ._diagnosis_words import (
    SHOWN,
    Grid,
    Section,
    Statement,
    count,
    difficulty_section,
    divergence_section,
    percent,
    shown_list,
)
from ._item_support import SUPPORT_KINDS
from ._table_diagnosis import TableDiagnosis, shown_combination

if TYPE_CHECKING:
    from ._diagnosis import Diagnosis

_LONG = 10
_NEARLY_ALL = 0.9
WHY = {
    "supported": "supported by what is trained",
    "undetermined": "effects of their values cannot be told apart",
    "unconnected": "values that no trained combination relates",
    "new value": "a value that is never trained",
    "trained": "trained themselves",
}
"""What the kinds of support mean."""


def table_verdict(table: TableDiagnosis) -> str:
    if table.asked_are != "the test":
        share = table.supported_share
        if share is None:
            return "All combinations of these values are trained."
        return f"Training supports {percent(share)} of {table.asked_are}."
    total, repeated = int(table.rows.sum()), table.repeated_rows
    if repeated == total:
        return "Every tested combination is trained: this test asks for no recombination."
    if repeated > _NEARLY_ALL * total:
        return (
            f"{percent(repeated / total)} of the test has trained combinations: it hardly asks for"
            " recombination."
        )
    share = table.supported_share or 0.0
    if share == 1:
        return "Training can support everything that the test asks for."
    if share == 0:
        return "Training supports none of the new combinations that the test asks for."
    return f"Training supports {percent(share)} of the new combinations that the test asks for."


def table_sections(d: "Diagnosis", table: TableDiagnosis) -> list[Section]:
    found = [_support(table)]
    if table.asked_are == "the test":
        found.append(_duplicates(d, table.repeated_rows, int(table.rows.sum())))
    found += [_coverage(table), _information(d, table)]
    if table.divergence:
        rows = tuple(
            (g.compounds_are, f"{g.atoms:.3f}", f"{g.compounds:.3f}") for g in table.divergence
        )
        found.append(divergence_section("divergence", rows))
    if table.new.any():
        found.append(difficulty_section(table))
    if table.plan is not None:
        found.append(_additions(d, table))
    return found


def _support(table: TableDiagnosis) -> Section:
    s, factors = table.support, table.split.factors
    lines = [
        Statement(
            "fails" if table.unseen else "holds",
            "S1 values that are never trained: "
            + shown_list([f"{factor} {value}" for factor, value in table.unseen])
            if table.unseen
            else "S1 every value is trained",
        )
    ]
    connected = s.components == 1
    parts = [
        ", ".join(
            f"{name} {shown_list(values, ' | ')}"
            for name, values in zip(factors, part, strict=True)
        )
        for part in table.parts[:3]
    ]
    lines.append(
        Statement(
            "holds" if connected else "fails",
            "S2 trained combinations connect all trained values"
            if connected
            else f"S2 trained combinations fall into {s.components} parts that share no value",
            () if connected else (*parts, *(["..."] if s.components > 3 else [])),
        )
    )
    lines.append(
        Statement(
            "fails" if s.open_effects else "holds",
            f"S3 the effects of values cannot all be told apart:"
            f" {count(s.open_effects, 'combination')} more of trained values would do it"
            if s.open_effects
            else "S3 the effects of all trained values can be told apart",
        )
    )
    counts, share = table.kind_counts, table.supported_share
    if share is None:
        lines.append(Statement("undecided", "S4 no combination is asked for that is not trained"))
    else:
        new = int(table.new.sum())
        more = [
            f"{counts[kind]}: {WHY[kind]}, such as"
            f" {', '.join(map(shown_combination, table.examples(place)))}"
            for place, kind in enumerate(SUPPORT_KINDS)
            if place > 1 and counts[kind]
        ]
        lines.append(
            Statement(
                "holds" if share == 1 else "fails",
                f"S4 {counts['supported']} of {new} new combinations that are asked for are"
                f" supported ({percent(share)} of their rows)",
                tuple(more),
            )
        )
    grids: tuple[Grid, ...] = ()
    if table.thin:
        shown = table.thin[:SHOWN]
        lines.append(
            Statement(
                "undecided",
                f"{count(len(table.thin), 'value')} trained in one or two combinations only, and"
                " asked for in others:",
            )
        )
        grids = (
            Grid(
                ("value", "trained in", "asked for in"),
                tuple((f"{t.factor} {t.value}", str(t.trained), str(t.asked)) for t in shown),
                left_out=len(table.thin) - len(shown),
            ),
        )
    title = "Support: can it be done at all?"
    return Section("support", title, tuple(lines), grids, "kinds", table)


def _duplicates(d: "Diagnosis", repeated: int, total: int) -> Section:
    lines = [
        Statement(
            "undecided" if repeated else "holds",
            f"{repeated} of {count(total, 'tested row')} ({percent(repeated / total)}) have a"
            " combination that is trained"
            if repeated
            else "no tested row has a trained combination",
        ),
        _identical(d),
    ]
    return Section("duplicates", "Duplicates: is the test in training?", tuple(lines))


def _identical(d: "Diagnosis") -> Statement:
    if not d.identical_rows:
        return Statement("holds", "no tested row is the same as one of training, in all columns")
    return Statement(
        "fails",
        f"{count(d.identical_rows, 'tested row')} the same as one of training, in all columns",
    )


def _coverage(table: TableDiagnosis) -> Section:
    rows, worst = [], []
    names = {2: "pairs", 3: "triples"}
    for way in table.coverage:
        asked = "–" if way.asked_share is None else percent(way.asked_share)
        rows.append((f"{names[way.t]} of values", percent(way.share), asked))
    sets = [s for way in table.coverage if way.t == 2 for s in way.sets]
    sets.sort(key=lambda s: s.asked_covered / s.asked if s.asked else s.covered / s.possible)
    for s in sets[:SHOWN]:
        asked = f"{s.asked_covered} of {s.asked}" if s.asked else "–"
        worst.append((" x ".join(s.factors), f"{s.covered} of {s.possible}", asked))
    header = ("of", "trained, of all", "trained, of those asked for")
    return Section(
        "coverage",
        "Coverage: how many pairs and triples are trained?",
        (),
        (
            Grid(header, tuple(rows)),
            Grid(("pairs of", *header[1:]), tuple(worst), left_out=len(sets) - len(worst)),
        ),
        "pairs",
        table,
    )


def _information(d: "Diagnosis", table: TableDiagnosis) -> Section:
    lines, grids = [], []
    with_test = table.asked_are == "the test"
    between = [one for one in table.information if one.is_shortcut] if with_test else [
        one for one in table.information if one.share > 0.1
    ]  # fmt: skip
    for one in between[:SHOWN]:
        told = f", {one.test:.2f} in the test" if one.test is not None else ""
        lines.append(
            Statement(
                "undecided",
                f"{one.first} and {one.second} go together in training: {one.train:.2f} of"
                f" {one.entropy:.2f} bits{told}; one may be learned in place of the other",
            )
        )
    if not between:
        lines.append(Statement("holds", "no factor gives another away in training only"))
    if table.target_information:
        target = table.target_information[0].second
        tested = any(one.test is not None for one in table.target_information)
        for one in table.target_information:
            if tested and one.is_shortcut:
                lines.append(
                    Statement(
                        "undecided",
                        f"{one.first} tells {one.train:.2f} bits of {target} in training, and"
                        f" {one.test:.2f} in the test: gradient descent will take this shortcut",
                    )
                )
        grids.append(
            Grid(
                (f"bits of {target}", "in training", "in the test"),
                tuple(
                    (one.first, f"{one.train:.2f}", "–" if one.test is None else f"{one.test:.2f}")
                    for one in table.target_information
                ),
            )
        )
    title = "Information: which shortcuts are there?"
    return Section("information", title, tuple(lines), tuple(grids))


def _additions(d: "Diagnosis", table: TableDiagnosis) -> Section:
    plan = table.plan
    assert plan is not None
    lines = []
    what = "what the test asks for" if table.asked_are == "the test" else table.asked_are
    if plan.needed is None:
        lines.append(
            Statement("fails", f"no possible additions support all of {what}, only a part of it")
        )
    elif plan.needed == 0:
        lines.append(Statement("holds", f"{what} is supported already"))
    else:
        best = "the cheapest possible" if plan.has_costs else "the fewest possible"
        lines.append(
            Statement(
                "",
                f"{count(plan.needed, 'combination')} more would support {what}, {best}"
                if plan.fewest
                else f"{count(plan.needed, 'combination')} more would support {what}",
            )
        )
    if not plan.additions:
        if plan.needed == 0 and d.budget is None:
            lines.append(Statement("", "with a budget (--budget N), pairs are covered next"))
        return Section("additions", "What to add", tuple(lines))
    lines.append(
        Statement(
            "",
            f"with the {count(len(plan.additions), 'combination')} below (cost {plan.cost:g}):"
            f" supported {percent(plan.supported_before)} → {percent(plan.supported_after)}, pairs"
            " asked for that are trained"
            f" {percent(plan.pairs_before)} → {percent(plan.pairs_after)}",
        )
    )
    shown = plan.additions[:_LONG]
    grid = Grid(
        (*table.split.factors, "for", "cost"),
        tuple((*map(str, a.values.values()), a.why, f"{a.cost:g}") for a in shown),
        tuple(range(len(table.split.factors) + 1)),
        left_out=len(plan.additions) - len(shown),
    )
    return Section("additions", "What to add", tuple(lines), (grid,))
