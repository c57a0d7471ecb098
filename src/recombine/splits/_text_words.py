"""What a diagnosis says of sequences and parse trees."""

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
    quoted,
    shown_list,
)
from ._item_support import SUPPORT_KINDS
from ._text_diagnosis import TextDiagnosis

if TYPE_CHECKING:
    from ._diagnosis import Diagnosis

_LONG = 10
_SAME = 0.1
"""A compound divergence below this is that of a test drawn like training."""
WHY = {
    "undetermined": "a pair whose effects cannot be told apart",
    "unconnected": "a pair of tokens that nothing relates",
    "new value": "a token that is new, or new in its place",
}
"""What the kinds of support mean."""


def text_verdict(text: TextDiagnosis) -> str:
    if not text.has_test:
        return "Give a test to learn whether training supports its sequences."
    assert text.divergence is not None
    total = int(text.rows.sum())
    if text.repeated_rows == total:
        return "Every tested item is trained: this test asks for no recombination."
    if text.new_tokens:
        return f"The test has tokens that are never trained: {shown_list(text.new_tokens)}."
    longer = text.longer_share
    said = f"; {percent(longer)} are longer than any trained one" if longer else ""
    if text.new_pair_share == 0:
        alike = text.divergence.compounds < _SAME
        return (
            "Every pair of neighbours that the test asks for is trained"
            + (", about as often as tested" if alike else "")
            + said
            + "."
        )
    thin = text.thin[:1]
    because = (
        f"; {thin[0].token!r} is in {count(thin[0].trained, 'trained item')} only" if thin else ""
    )
    return (
        f"{percent(text.new_pair_share)} of the tested items have pairs of neighbours that are"
        f" never trained{because}{said}."
    )


def text_sections(d: "Diagnosis", text: TextDiagnosis) -> list[Section]:
    name, of = text.column, f"Sequences in {text.column!r}"
    if not text.has_test:
        parts = text.parts
        line = (
            f"{count(text.trained_items, 'different item')} of {len(parts.atoms)} tokens and"
            f" {len(text.split.trained)} pairs of neighbours; the longest has"
            f" {text.longest_trained}"
        )
        return [Section(f"{name}-support", of, (Statement("", line),))]
    counts, share = text.kind_counts, text.supported_share
    lines = [
        Statement(
            "fails" if text.new_tokens else "holds",
            f"S1 tokens that are never trained: {shown_list(text.new_tokens)}"
            if text.new_tokens
            else "S1 every token is trained",
        ),
        Statement(
            "undecided" if text.new_pair_share else "holds",
            f"{percent(text.new_pair_share)} of the tested items have a pair of neighbours that is"
            " never trained"
            if text.new_pair_share
            else "every pair of neighbours that is asked for is trained",
        ),
        Statement(
            "fails" if text.longer_share else "holds",
            f"{percent(text.longer_share)} of the tested items are longer than any trained one: up"
            f" to {text.longest_tested}, trained up to {text.longest_trained}"
            if text.longer_share
            else f"no tested item is longer than the longest trained one ({text.longest_trained})",
        ),
    ]
    if share is None:
        lines.append(Statement("undecided", "S4 every tested item is trained"))
    else:
        lines.append(
            Statement(
                "holds" if share == 1 else "fails",
                f"S4 {counts['supported']} of {int((text.kinds > 0).sum())} new items have"
                f" supported pairs only ({percent(share)} of their rows)",
                tuple(
                    f"{counts[kind]}: {WHY[kind]}, such as"
                    f" {', '.join(map(quoted, text.examples(place, 2)))}"
                    for place, kind in enumerate(SUPPORT_KINDS)
                    if place > 1 and counts[kind]
                ),
            )
        )
    grids = []
    if text.thin:
        shown = text.thin[:SHOWN]
        lines.append(Statement("undecided", "tokens in few trained items, asked for in new pairs:"))
        rows = tuple((t.token, str(t.trained), str(t.asked)) for t in shown)
        header = ("token", "trained in", "asked for in new pairs in")
        grids.append(Grid(header, rows, left_out=len(text.thin) - len(shown)))
    found = [
        Section(f"{name}-support", f"{of}: support", tuple(lines), tuple(grids), "kinds", text)
    ]
    total = int(text.rows.sum())
    repeated = text.repeated_rows
    found.append(
        Section(
            f"{name}-duplicates",
            f"{of}: duplicates",
            (
                Statement(
                    "undecided" if repeated else "holds",
                    f"{repeated} of {count(total, 'tested row')} ({percent(repeated / total)})"
                    " are trained"
                    if repeated
                    else "no tested item is trained",
                ),
            ),
        )
    )
    if text.divergence is not None:
        g = text.divergence
        row = (g.compounds_are, f"{g.atoms:.3f}", f"{g.compounds:.3f}")
        found.append(divergence_section(f"{name}-divergence", [row]))
    if (text.kinds > 0).any():
        found.append(difficulty_section(text, f"{name}-difficulty"))
    if text.missing:
        shown_pairs = text.missing[:_LONG]
        found.append(
            Section(
                f"{name}-additions",
                "What to add: items with these pairs of neighbours",
                (),
                (
                    Grid(
                        ("first", "second", "tested items with it"),
                        tuple((a, b, str(n)) for a, b, n in shown_pairs),
                        (0, 1),
                        left_out=len(text.missing) - len(shown_pairs),
                    ),
                ),
            )
        )
    return found


def target_section(text: TextDiagnosis) -> Section:
    lines = []
    if text.has_test:
        longer = text.longer_share
        lines = [
            Statement(
                "fails" if text.new_tokens else "holds",
                f"tokens that are never trained as targets: {shown_list(text.new_tokens)}"
                if text.new_tokens
                else "every token of the tested targets is trained",
            ),
            Statement(
                "fails" if longer else "holds",
                f"{percent(longer)} of the tested targets are longer than any trained one: up to"
                f" {text.longest_tested}, trained up to {text.longest_trained}"
                if longer
                else "no tested target is longer than the longest trained one"
                f" ({text.longest_trained})",
            ),
        ]
    return Section("target", f"Target {text.column!r}", tuple(lines))
