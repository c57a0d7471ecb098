"""What is added to the site when it is built: formulas, the gallery, families and works."""

from pathlib import Path
from typing import Any

from recombine.lab.papers import papers
from recombine.lab.published import published
from recombine.lab.registry import families, listed, load
from recombine.lab.report import with_formulas, write_report
from recombine.lab.report._overview import about

VERDICTS = {"holds": "hold", "fails": "fail", "undecided": "undecided"}
"""Each verdict, of one claim and of several."""


def on_page_markdown(markdown: str, page: Any, **kwargs: Any) -> str:
    """Called by MkDocs for every page before it is rendered."""
    for marker, make in PARTS.items():
        if marker in markdown:
            markdown = markdown.replace(marker, make())
    # A formula is a block of HTML of its own: nothing inside it is Markdown.
    return with_formulas(markdown)


def on_post_build(config: Any, **kwargs: Any) -> None:
    """Called by MkDocs when all pages are written: the gallery is written beside them."""
    write_report(None, Path(config["site_dir"]) / "gallery", published=True, docs="../studies")


def families_table() -> str:
    """Every family: what it is about, how many studies it has, what was found, and its source."""
    rows = ["| family | about | studies | published claims | source |", "|---|---|---|---|---|"]
    for family in families():
        names = [name for name in listed() if name.startswith(f"{family}/")]
        found = [one for name in names if (one := published(name))]
        words = [v.verdict for one in found for v in one.verdicts]
        counts = [(words.count(word), word, several) for word, several in VERDICTS.items()]
        said = ", ".join(f"{n} {one if n == 1 else several}" for n, one, several in counts if n)
        cells = (
            f"[`{family}`](studies/{family}/index.md)",
            about(family),
            str(len(names)),
            said or "none yet",
            load(names[0]).source.document,
        )
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def works() -> str:
    """Every work that studies come from, with its address and its entry for a bibliography."""
    return "\n\n".join(
        f"## {paper.title}\n\n{paper.fields['author'].replace(' and ', ', ')}, "
        f"{paper.fields['year']}. [{paper.place}]({paper.address})\n\n"
        f"```bibtex\n{paper.bibtex}\n```"
        for paper in papers()
    )


PARTS = {"<!-- families -->": families_table, "<!-- papers -->": works}
