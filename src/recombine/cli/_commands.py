"""Groups of commands that say which command a misspelt one may have meant."""

from difflib import get_close_matches
from typing import Any

from typer.core import TyperGroup

OTHER_WORDS = {
    "list": "studies", "ls": "studies", "search": "studies", "describe": "show", "info": "show",
    "start": "run", "results": "claims", "verdicts": "claims", "html": "report", "site": "report",
    "download": "data get", "datasets": "data list",
}  # fmt: skip
"""Words under which somebody may look for a command."""


class Commands(TyperGroup):
    """A group that names the nearest command for one that it does not have."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        from recombine.lab.errors import UserError

        word = args[0]
        if not ctx.resilient_parsing and word not in self.commands and not word.startswith("-"):
            known = list(self.commands)
            meant = OTHER_WORDS.get(word.lower(), "")
            close = get_close_matches(word.lower(), known, n=1, cutoff=0.65)
            if meant.partition(" ")[0] in known:
                close = [meant]
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"
            raise UserError(f"no command {word!r}: {hint}")
        return super().resolve_command(ctx, args)
