"""Results as tables for the terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from .claims import Verdict
from .conditions import Case
from .numbers import numbers
from .published import published_means
from .results import Results
from .settings import Setting
from .specs import shown
from .study import Study, in_words, setting_text
from .words import count

if TYPE_CHECKING:
    from .run import Outlook

VERDICT_STYLE = {"holds": "green", "fails": "bold red", "undecided": "yellow"}


def number(value: float) -> str:
    """A number with six significant digits."""
    return f"{value:.6g}"


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
    table = Table(title="data sets", title_justify="left", show_lines=True)
    table.caption = "`recombine data get NAME` gets one that is not here"
    for column in ("data set", "what it is", "read by"):
        table.add_column(column, overflow="fold")
    for one in found:
        where = (one["folder"] or "comes with the package") if one["cached"] else "not here"
        size = f"{one['bytes'] / 1e6:.1f} MB; " if one["bytes"] else ""
        studies = [use["study"] for use in one["studies"]]
        table.add_row(
            one["name"],
            escape(f"{one['title']}\n{size}licence: {one['licence']}\n{where}"),
            "\n".join([f"--set data={one['name']}:", *studies] if studies else []),
        )
    return table


def axes_text(cases: Sequence[Case]) -> str:
    """What conditions differ in, and the values that they have: `model = ndr, lstm; K = 1, 2`."""
    axes: dict[str, dict[str, None]] = {}
    for case in cases:
        for name, value in case.condition.items():
            axes.setdefault(name, {})[setting_text(value)] = None
    return "; ".join(f"{name} = {', '.join(values)}" for name, values in axes.items())


def depends_table(preset: str, cases: Sequence[Case]) -> Table:
    """What follows from each condition of a preset; conditions of which the same follows share a
    row."""
    table = Table(title=f"settings that follow at preset {preset}", title_justify="left")
    for column in ("condition", "settings"):
        table.add_column(column)
    rows: dict[str, list[str]] = {}
    for case in cases:
        follows = in_words(case.depends) or "as they are"
        rows.setdefault(follows, []).append(in_words(case.condition))
    for follows, conditions in rows.items():
        table.add_row(escape("\n".join(conditions)), escape(follows))
    return table


def settings_table(settings: Sequence[Setting]) -> Table:
    """Every setting with its default, its meaning, and the specs that it can be."""
    table = Table(title="settings (--set name=value)", title_justify="left")
    for column in ("name", "default", "meaning"):
        table.add_column(column)
    for setting in settings:
        choices = ", ".join((*setting.choices, "or FILE.py:NAME")) if setting.choices else ""
        meaning = " ".join(filter(None, (setting.meaning, choices and f"One of {choices}.")))
        table.add_row(setting.name, escape(str(shown(setting.default))), escape(meaning))
    return table


def beside_table(study: Study, results: Results) -> Table:
    """Our numbers beside the paper's, and those that come with the package; those with results
    come first."""
    table = Table(title=f"{study.name}: ours beside the paper's", title_justify="left")
    table.add_column("quantity")
    table.add_column("paper", justify="right")
    table.add_column("published", justify="right")
    table.add_column("yours", justify="right")
    table.add_column("95 % interval", style="dim")
    table.add_column("where", style="dim")
    known = published_means(study) if results.preset == "laptop" else {}
    for row in numbers(study.beside, results):
        mean = number(row.mean) if row.seeds else "–"
        spread = f"[{number(row.low)}, {number(row.high)}]"
        interval = "" if row.seeds < 2 or row.low == row.high else spread
        quantity, where = escape(row.quantity), escape(row.paper.artifact)
        came = known.get(row.quantity)
        with_package = "–" if came is None else number(came)
        paper = number(row.paper.value)
        table.add_row(quantity, paper, with_package, mean, escape(interval), where)
    return table


def verdict_table(verdicts: Sequence[Verdict]) -> Table:
    """Claims with their verdicts and the numbers behind them."""
    table = Table(title="claims", title_justify="left", show_lines=True)
    table.add_column("study", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("statement", ratio=3)
    table.add_column("evidence", ratio=2, style="dim")
    for v in verdicts:
        style = VERDICT_STYLE[v.verdict]
        evidence = escape(evidence_text(v.evidence))
        settings = [v.preset] if v.preset not in ("", "laptop") else []
        settings += [in_words(v.overrides)] if v.overrides else []
        where = escape("\n".join([v.study, *settings]))
        table.add_row(where, f"[{style}]{v.verdict}[/]", escape(v.statement), evidence)
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

    def show(value) -> str:
        if isinstance(value, float):
            return number(value)
        if isinstance(value, list):
            return "[" + ", ".join(show(v) for v in value) + "]"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{k}: {show(v)}" for k, v in value.items()) + "}"
        return str(value)

    return "; ".join(f"{k} {show(v)}" for k, v in evidence.items())
