"""One study in full, as tables for the terminal."""

from collections.abc import Iterator, Sequence

from rich.markup import escape
from rich.table import Table

from .code import PACKAGE
from .condition_settings import condition_settings
from .conditions import Case
from .published import published_numbers
from .reference import artifact
from .rounding import number
from .settings import Setting
from .study import Study, in_words, setting_text
from .study_code import code_places
from .tables import plain_table


def study_tables(study: Study) -> Iterator[Table]:
    """Presets, conditions with their settings, all settings, claims, numbers and code."""
    yield presets_table(study)
    for preset in study.presets:
        yield from conditions_tables(study, preset)
    yield settings_table(study.settings())
    if study.claims:
        yield claims_table(study)
    if study.beside:
        yield paper_table(study)
    yield code_table(study)


def presets_table(study: Study) -> Table:
    """What every preset costs, and its conditions."""
    table = plain_table("presets (--preset name)")
    for column in ("preset", "cost", "seeds", "trials", "conditions"):
        table.add_column(column, justify="right" if column in ("seeds", "trials") else "left")
    for name, preset in study.presets.items():
        cases = study.cases(name)
        trials = str(len(cases) * preset.seeds)
        words = map(escape, (name, preset.cost, str(preset.seeds), trials, axes_text(cases)))
        table.add_row(*words)
    return table


def axes_text(cases: Sequence[Case]) -> str:
    """What conditions differ in, and the values that they have: `model = ndr, lstm; K = 1, 2`."""
    axes: dict[str, dict[str, None]] = {}
    for case in cases:
        for name, value in case.condition.items():
            axes.setdefault(name, {})[setting_text(value)] = None
    return "; ".join(f"{name} = {', '.join(values)}" for name, values in axes.items())


def conditions_tables(study: Study, preset: str) -> Iterator[Table]:
    """Which condition has which settings; nothing if all have their defaults."""
    found = condition_settings(study, preset)
    if not found.shared and not found.groups:
        return
    table = plain_table(f"preset {preset}: changed settings")
    table.add_column("condition", overflow="fold")
    table.add_column("settings", overflow="fold")
    if found.shared:
        table.add_row("every condition", escape(in_words(found.shared)))
    for conditions, own in found.groups:
        table.add_row(escape("\n".join(conditions)), escape(in_words(own)) or "no others")
    yield table


def settings_table(settings: Sequence[Setting]) -> Table:
    """Every setting with its default, its meaning, and the specs that it can be."""
    table = plain_table("settings (--set name=value)")
    table.add_column("name", overflow="fold")
    table.add_column("default", overflow="fold")
    table.add_column("meaning", ratio=1)
    for setting in settings:
        choices = ", ".join((*setting.choices, "or FILE.py:NAME")) if setting.choices else ""
        meaning = " ".join(filter(None, (setting.meaning, choices and f"One of {choices}.")))
        default = setting_text(setting.default) or "none"
        table.add_row(*map(escape, (setting.name, default, meaning)))
    return table


def claims_table(study: Study) -> Table:
    """Every claim with its statement and where the paper states it."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.title, table.title_justify = "claims", "left"
    table.add_column()
    for claim in study.claims:
        head = f"[bold]{escape(claim.name)}[/]  [dim]{escape(claim.where)}[/]"
        table.add_row(f"{head}\n{escape(claim.statement)}")
    return table


def paper_table(study: Study) -> Table:
    """The paper's numbers, and those that come with the package."""
    known = published_numbers(study)
    table = plain_table("the paper's numbers")
    table.add_column("quantity", overflow="fold")
    table.add_column("paper", justify="right", no_wrap=True)
    if known:
        table.add_column("published", justify="right", no_wrap=True)
    table.add_column("where", overflow="fold")
    for row in study.beside:
        error = f" ± {number(row.paper.uncertainty)}" if row.paper.uncertainty else ""
        cells = [escape(row.quantity), number(row.paper.value) + error]
        if known:
            cells.append(known[row.quantity].ours_text if row.quantity in known else "–")
        where = escape(artifact(row.paper.artifact))
        table.add_row(*cells, where)
    return table


def code_table(study: Study) -> Table:
    """Where the code is, with the equations that it implements."""
    table = plain_table(f"code (in {PACKAGE})")
    table.add_column("what")
    table.add_column("file and line", overflow="fold")
    table.add_column("equations")
    for place in code_places(study):
        table.add_row(*map(escape, (place.what, f"{place.file}:{place.line}", place.equations)))
    return table
