"""An examination as one page of HTML, with the look of the report."""

from pathlib import Path

from .._errors import UserError
from ..lab.report import page_of_its_own
from ._examination import PLACES, Examination
from ._figures import figures_of


def write_page(found: Examination, path: Path) -> Path:
    """Write the page, with all that it needs inside."""
    text = page_of_its_own(
        "examination.html.j2",
        {"found": found, "places": PLACES, "text": str(found)},
        figures_of(found),
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror})") from None
    return path
