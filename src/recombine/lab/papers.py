"""The works that studies come from, with their addresses, from `studies/papers.bib`."""

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .study import Study

ENTRY = re.compile(r"^@(\w+)\{([^,\s]+),$(.*?)^\}$", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"^\s*(\w+)\s*=\s*\{(.*)\},?$", re.MULTILINE)


@dataclass(frozen=True)
class Paper:
    """A published work."""

    key: str
    kind: str
    """The type of the entry: `inproceedings`, `phdthesis`..."""
    fields: dict[str, str]
    families: tuple[str, ...] = ()
    """The families of studies that reproduce it, where their source is a larger work."""

    @property
    def title(self) -> str:
        return self.fields["title"]

    @property
    def address(self) -> str:
        """Where it can be read: its DOI, its page at arXiv, or another page; empty if unknown."""
        if doi := self.fields.get("doi"):
            return f"https://doi.org/{doi}"
        if eprint := self.fields.get("eprint"):
            return f"https://arxiv.org/abs/{eprint}"
        return self.fields.get("url", "")

    @property
    def place(self) -> str:
        """The address in short: `arXiv:2207.10430`."""
        if doi := self.fields.get("doi"):
            return f"doi:{doi}"
        if eprint := self.fields.get("eprint"):
            return f"arXiv:{eprint}"
        return self.address.removeprefix("https://").partition("/")[0]

    @property
    def bibtex(self) -> str:
        """Its entry for a bibliography."""
        rows = "".join(f"  {name} = {{{value}}},\n" for name, value in self.fields.items())
        return f"@{self.kind}{{{self.key},\n{rows}}}"


@cache
def papers() -> tuple[Paper, ...]:
    """All works that studies come from."""
    file = resources.files("recombine.studies") / "papers.bib"
    return tuple(_read(file.read_text(encoding="utf-8")))


def papers_of(study: "Study") -> list[Paper]:
    """The work whose title the study's source names, and what was published of it on its own."""
    document = study.source.document.casefold()
    main = [p for p in papers() if not p.families and _short(p) in document]
    return main + [p for p in papers() if study.family in p.families]


def _short(paper: Paper) -> str:
    """The title without its subtitle, in small letters."""
    return paper.title.partition(":")[0].casefold()


def _read(text: str) -> list[Paper]:
    found = []
    for kind, key, body in ENTRY.findall(text):
        fields = dict(FIELD.findall(body))
        families = tuple(fields.pop("families", "").split())
        found.append(Paper(key, kind, fields, families))
    return found
