"""Displayed formulas: TeX between lines of `$$` becomes MathML, which browsers draw themselves."""

import re
from collections.abc import Callable

from markupsafe import escape

DISPLAYED = re.compile(r"^\$\$\n(.+?)\n\$\$$", re.MULTILINE | re.DOTALL)
TAG = re.compile(r"\s*\\tag\{([^}]*)\}")


def formula(tex: str) -> str:
    """A formula on a line of its own as HTML; `\\tag{13-14}` in it is its number."""
    from latex2mathml.converter import convert

    number = TAG.search(tex)
    drawn = convert(TAG.sub("", tex), display="block")
    label = f'<span class="eq-number">({escape(number.group(1))})</span>' if number else ""
    return f'<div class="eq">{drawn}{label}</div>'


def with_formulas(text: str, put: Callable[[str], str] = lambda html: html) -> str:
    """Markdown in which `put` has replaced every displayed formula, given as HTML."""
    return DISPLAYED.sub(lambda found: put(formula(found.group(1))), text)
