"""Tables of the pages of studies, made from published results when the site is built.

A page says where they go: `<!-- claims -->` for the claims with their verdicts, `<!-- numbers -->`
for numbers beside the paper's, `<!-- measured -->` for all metrics, and for some of them
`<!-- table K: trained_error, sharing; mask=ring -->`, with one row per value of the setting K
among the conditions that have no other settings than it and mask=ring (with `...`, also others).
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from recombine.lab import confidence_interval
from recombine.lab.numbers import numbers
from recombine.lab.published import Published, judged, published
from recombine.lab.registry import listed, load
from recombine.lab.study import Study, in_words, setting_text
from recombine.lab.tables import evidence_text

FEW = 3
"""More lines of evidence than these are folded."""


def on_page_markdown(markdown: str, page: Any, **kwargs: Any) -> str:
    """Called by MkDocs for every page before it is rendered."""
    name = page.file.src_uri.removeprefix("studies/").removesuffix(".md")
    return rendered(markdown, name) if name in listed() else markdown


def rendered(markdown: str, name: str) -> str:
    """The page of a study with its tables."""
    for marker, make in TABLES.items():
        if marker in markdown:
            markdown = markdown.replace(marker, make(load(name), published(name)))
    return CHOSEN.sub(lambda match: chosen_table(name, *match.groups("")), markdown)


def chosen_table(name: str, field: str, metrics: str, where: str) -> str:
    """Some metrics, by the values of one setting."""
    found = published(name)
    if found is None:
        return ""
    fixed = set(filter(None, re.split(r",\s*", where)))
    columns = re.split(r",\s*", metrics)
    groups: dict[Any, list[Any]] = {}
    for record in found.results.records:
        others = {k: v for k, v in record.condition.items() if k != field}
        said = set(filter(None, in_words(others).split(", ")))
        if field in record.condition and (said == fixed or fixed - said == {"..."}):
            groups.setdefault(record.condition[field], []).append(record)
    known = {m for records in groups.values() for r in records for m in r.metrics}
    if missing := set(columns) - known:
        raise ValueError(f"{name}: no {sorted(missing)} by {field} where {where or 'nothing else'}")
    rows = [
        [setting_text(value), *(_mean(groups[value], column) for column in columns)]
        for value in sorted(groups, key=lambda value: 0 if isinstance(value, str) else value)
    ]
    return table((field, *(column.replace("_", " ") for column in columns)), rows)


def _mean(records: Sequence[Any], name: str) -> str:
    """The mean of a metric and half of its 95 % interval over seeds."""
    values = [r.metrics[name] for r in records if name in r.metrics]
    if not values:
        return ""
    mean, low, high = confidence_interval(values)
    return f"{mean:.4g}" + (f" ± {(high - low) / 2:.2g}" if high > low else "")


def claims_table(study: Study, found: Published | None) -> str:
    """Claims with their verdicts and the numbers behind them."""
    verdicts = {v.claim: v for v in judged(study)}

    def row(claim: Any) -> list[str]:
        start = [f"`{claim.name}`", claim.statement, claim.where]
        if claim.name not in verdicts:
            return [*start, "not run yet", ""]
        verdict = verdicts[claim.name]
        return [*start, f"**{verdict.verdict}**", brief(verdict.evidence)]

    header = ("claim", "statement", "where", "verdict", "evidence")
    return table(header, map(row, study.claims)) + origin(found)


def brief(evidence: dict[str, Any]) -> str:
    """Evidence in lines: every number with what is known of it."""
    lines = []
    for name, value in evidence.items():
        if name == "seeds":
            continue
        text = evidence_text(value) if isinstance(value, dict) else evidence_text({"": value})
        lines.append(f"{name}: {text.strip()}")
    text = "<br>".join(lines)
    if len(lines) <= FEW:
        return text
    return f"<details><summary>{len(lines)} numbers</summary>{text}</details>"


def numbers_table(study: Study, found: Published | None) -> str:
    """Our numbers beside the paper's: mean, interval, and whether the paper's lies inside."""
    if found is None:
        return ""
    rows = [
        [
            n.quantity,
            f"{n.paper.value:.4g}",
            f"{n.mean:.4g}",
            f"{n.low:.4g} to {n.high:.4g}" if n.high > n.low else "",
            "yes" if n.low <= n.paper.value <= n.high else "no",
            n.paper.artifact,
        ]
        for n in numbers(study.beside, found.results)
        if n.seeds
    ]
    header = ("quantity", "paper", "here", "95 % interval", "paper inside", "where")
    return table(header, rows) if rows else ""


def measured_table(study: Study, found: Published | None) -> str:
    """Every metric of every condition: mean and half the 95 % interval over seeds."""
    if found is None:
        return ""
    groups: dict[str, list[Any]] = {}
    for record in found.results.records:
        groups.setdefault(in_words(record.condition) or "all", []).append(record)
    names = list(dict.fromkeys(m for r in found.results.records for m in r.metrics))

    rows = [[words, *(_mean(records, n) for n in names)] for words, records in groups.items()]
    inside = table(("condition", *names), rows)
    return (
        f'<details markdown="1"><summary>All that was measured</summary>\n\n{inside}\n</details>\n'
    )


def origin(found: Published | None) -> str:
    """Where published numbers come from."""
    if found is None:
        return ""
    seeds, versions = found.results.seeds, found.provenance.get("versions", {})
    jax = f", JAX {versions['jax']}" if "jax" in versions else ""
    minutes = f"{found.seconds / 60:.0f} min" if found.seconds > 120 else f"{found.seconds:.0f} s"
    gallery = f"../../gallery/studies/{found.results.study}.html"
    return (
        f'\n<a href="{gallery}">Interactive figures in the gallery</a>\n'
        f"\nPreset {found.results.preset}, seeds {seeds[0]} to {seeds[-1]}, {minutes} of worker"
        f" time{jax}.\n"
    )


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "&#124;").replace("\n", " ")


CHOSEN = re.compile(r"<!-- table (\w+): ([^;]*?)(?:; (.*?))? -->")
TABLES: dict[str, Callable[[Study, Published | None], str]] = {
    "<!-- claims -->": claims_table,
    "<!-- numbers -->": numbers_table,
    "<!-- measured -->": measured_table,
}
