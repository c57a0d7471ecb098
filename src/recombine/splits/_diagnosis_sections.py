"""Everything that a diagnosis says, in order."""

from typing import TYPE_CHECKING

from ._diagnosis_words import Section, Statement, count, percent
from ._table_words import table_sections, table_verdict
from ._text_words import target_section, text_sections, text_verdict

if TYPE_CHECKING:
    from ._diagnosis import Diagnosis


def sections(d: "Diagnosis") -> list[Section]:
    """Everything that is to be said, in order."""
    found = [_columns(d)]
    if d.table is not None:
        found += table_sections(d, d.table)
    for text in d.texts:
        found += text_sections(d, text)
    if d.target_text is not None:
        found.append(target_section(d.target_text))
    return found


def verdict(d: "Diagnosis") -> str:
    """The answer in a sentence or two."""
    said = []
    if d.table is not None:
        said.append(table_verdict(d.table))
    for text in d.texts:
        said.append(
            (f"{text.column}: " if d.table or len(d.texts) > 1 else "") + text_verdict(text)
        )
    longer = d.target_text
    if longer is not None and longer.longer_share > 0:
        said.append(
            f"{percent(longer.longer_share)} of the tested targets are longer than any trained one."
        )
    return " ".join(said)


def _columns(d: "Diagnosis") -> Section:
    test = "" if d.test_rows is None else f"; {d.titles[1]}: {count(d.test_rows, 'row')}"
    lines = [Statement("", f"{d.titles[0]}: {count(d.train_rows, 'row')}{test}")]
    if d.table is not None:
        split = d.table.split
        pairs = zip(split.factors, split.sizes, strict=True)
        sizes = ", ".join(f"{name} ({size})" for name, size in pairs)
        lines.append(Statement("", f"factors, with how many values: {sizes}"))
    if d.texts:
        kind = "texts" if len(d.texts) > 1 else "text"
        lines.append(Statement("", f"{kind}: {', '.join(t.column for t in d.texts)}"))
    if d.columns.target:
        lines.append(Statement("", f"target: {d.columns.target}"))
    lines += [Statement("undecided", warning) for warning in d.warnings]
    return Section("data", "Data", tuple(lines))
