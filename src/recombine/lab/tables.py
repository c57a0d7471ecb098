"""Results as tables for the terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.markup import escape
from rich.table import Table

from .claims import Verdict
from .numbers import numbers
from .published import published_numbers
from .reference import artifact
from .results import Results
from .rounding import number
from .study import Study
from .words import count

if TYPE_CHECKING:
    from .run import Outlook

BESIDE_LEGEND = (
    "ours: mean ± half of its 95 % interval over seeds; inside: the paper's number is in that"
    " interval"
)
WIDE = 120
"""From this width on, tables have columns that help to compare."""


def plain_table(title: str = "") -> Table:
    """A table with a line below its header, and no other."""
    table = Table(title=title or None, title_justify="left", caption_justify="left")
    table.box, table.show_edge, table.pad_edge = box.SIMPLE_HEAD, False, False
    table.padding = (0, 2, 0, 0)
    return table


def outlook_lines(outlook: "Outlook") -> list[str]:
    """What a run of a study need not do, and what it does again, in a line each."""
    name = outlook.plan.study.name
    lines = [f"{name}: {count(n, 'trial')} done before by {by}" for by, n in outlook.shared.items()]
    if outlook.instead:
        lines.append(f"{name}: {count(outlook.earlier, 'trial')} of earlier code used as asked for")
    elif outlook.earlier:
        lines.append(
            f"{name}: {count(outlook.earlier, 'trial')} done before by earlier code, run again now;"
            " --keep-earlier uses the earlier results"
        )
    return lines


def earlier_line(results: Results) -> str:
    """Which results are from earlier code."""
    return (
        f"{results.study}: results of {results.earlier} of {count(len(results.records), 'trial')}"
        f" are from earlier code; `recombine run {results.study}` makes new ones"
    )


def data_table(found: Sequence[dict[str, Any]]) -> Table:
    """The data sets of `describe_data`, one per row."""
    table = plain_table()
    table.add_column("data set")
    table.add_column("what it is, where it is, which studies read it", overflow="fold")
    for one in found:
        where = one["folder"] or "comes with the package"
        here = where if one["cached"] else f"not here: `recombine data get {one['name']}`"
        size = f"{one['bytes'] / 1e6:.1f} MB; " if one["bytes"] else ""
        lines = [one["title"], f"{size}licence: {one['licence']}", here]
        if one["studies"]:
            studies = ", ".join(use["study"] for use in one["studies"])
            lines.append(f"--set data={one['name']}: {studies}")
        table.add_row(one["name"], escape("\n".join(lines)))
        table.add_section()
    return table


def beside_table(study: Study, results: Results, width: int) -> Table | None:
    """Our numbers beside the paper's, and those that come with the package; None at preset smoke,
    and where there are none. What does not fit into `width` is left out."""
    rows = [row for row in numbers(study.beside, results) if row.seeds]
    if not rows:
        return None
    is_wide = width >= WIDE
    usual = results.preset == "laptop" and not results.overrides
    known = published_numbers(study) if usual and is_wide else {}
    places = list(dict.fromkeys(artifact(row.paper.artifact) for row in rows))
    seeds = {row.seeds for row in rows}
    title = [f"{study.name}: ours beside the paper's"]
    title += places if len(places) == 1 else []
    title += [count(rows[0].seeds, "seed")] if len(seeds) == 1 else []
    table = plain_table(", ".join(title))
    table.add_column("quantity", overflow="fold")
    for name in ("paper", *(["published"] if known else []), "ours", "difference"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("inside")
    if len(seeds) > 1:
        table.add_column("seeds", justify="right")
    if is_wide and len(places) > 1:
        table.add_column("where", style="dim")
    for row in rows:
        cells = [escape(row.quantity), row.paper_text]
        if known:
            cells.append(known[row.quantity].ours_text if row.quantity in known else "–")
        inside = {True: "yes", False: "no", None: "–"}[row.paper_inside]
        cells += [row.ours_text, row.difference_text, inside]
        cells += [str(row.seeds)] if len(seeds) > 1 else []
        cells += [escape(artifact(row.paper.artifact))] if is_wide and len(places) > 1 else []
        table.add_row(*cells)
    return table


def gave_up_lines(verdicts: Sequence[Verdict]) -> list[str]:
    """What is said of claims that stay undecided although seeds were added."""
    return [
        f"gave up: {v.study} {v.claim} is still undecided; "
        + (f"{v.seeds} seeds would be likely to decide it" if v.seeds else _why(v))
        for v in verdicts
        if v.verdict == "undecided"
    ]


def _why(verdict: Verdict) -> str:
    reason = verdict.evidence.get("reason")
    return str(reason) if reason else "hardly any number of seeds would decide it"


def evidence_text(evidence: dict) -> str:
    """Evidence in one line of words."""
    if "reason" in evidence:
        return str(evidence["reason"])

    def show(value) -> str:
        if isinstance(value, float):
            return number(value)
        if isinstance(value, list):
            return "[" + ", ".join(show(v) for v in value) + "]"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{k}: {show(v)}" for k, v in value.items()) + "}"
        return str(value)

    return "; ".join(f"{k} {show(v)}" for k, v in evidence.items())
