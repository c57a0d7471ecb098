"""What the README and the docs show is true: their code runs, and prints what they say."""

import ast
import contextlib
import io
import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PACKAGES = (
    "data",
    "examination",
    "lab",
    "learning",
    "models",
    "probes",
    "splits",
    "tasks",
    "theory",
)
FENCE = re.compile(r"^(?P<indent> *)```(?P<info>.*)$")


class Block(NamedTuple):
    """A fenced block: what follows the opening fence, its first line's number, its text."""

    info: str
    line: int
    text: str


def blocks(page: Path) -> list[Block]:
    found, opened = [], None
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        fence = FENCE.match(line)
        if fence and opened is None:
            opened = (fence["info"].strip(), number + 1, len(fence["indent"]), [])
        elif fence and opened is not None:
            info, first, _, lines = opened
            found.append(Block(info, first, "\n".join(lines)))
            opened = None
        elif opened is not None:
            opened[3].append(line[opened[2] :])
    assert opened is None, f"{page.name}: a fence opened at line {opened and opened[1] - 1} is open"
    return found


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def runs(block: Block) -> bool:
    """Python of the page itself; files that it includes are marked `{.python}` and tested apart."""
    return block.info == "python"


WITH_CODE = [page for page in PAGES if any(map(runs, blocks(page)))]


@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_the_code_of_a_page_runs_and_prints_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    printed = None
    for block in blocks(page):
        if runs(block):
            # Blank lines in front, so that a traceback has the line numbers of the page.
            code = compile("\n" * (block.line - 1) + block.text, str(page), "exec")
            with contextlib.redirect_stdout(io.StringIO()) as stream:
                exec(code, namespace)
            printed = stream.getvalue()
        elif 'title="output"' in block.info:
            where = f"{name_of(page)}, line {block.line}"
            assert printed is not None, f"{where}: output without code"
            assert printed.rstrip("\n") == block.text, where


def test_there_is_code_to_run():
    assert ROOT / "README.md" in WITH_CODE
    assert len(WITH_CODE) > 4


@pytest.mark.parametrize("package", PACKAGES)
def test_the_api_reference_has_every_public_name(package):
    stub = ROOT / "src" / "recombine" / package / "__init__.pyi"
    public = {
        alias.asname
        for node in ast.walk(ast.parse(stub.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    page = (ROOT / "docs" / "api" / f"{package}.md").read_text(encoding="utf-8")
    documented = set(re.findall(rf"^::: recombine\.{package}\.(?:\w+\.)*(\w+)$", page, re.M))
    documented |= set(re.findall(rf"^::: recombine\.{package}\.(\w+)\.", page, re.M))
    assert public - documented == set()


def commands() -> list[tuple[str, str]]:
    """Every line of the pages that calls `recombine`, with its page."""
    found = []
    for page in PAGES:
        for block in blocks(page):
            for line in block.text.splitlines() if not block.info else ():
                match = re.match(r"^(?:\$ )?(?:\.venv/bin/)?recombine (.*)$", line)
                if match:
                    found.append((name_of(page), match[1]))
    return found


def test_every_command_in_the_docs_exists():
    from typer.main import get_command

    from recombine.cli import app

    known = get_command(app).commands
    assert len(commands()) > 20
    for page, line in commands():
        verb, *words = shlex.split(line, comments=True)
        assert verb in known, f"{page}: recombine {line}"
        command = known[verb]
        if hasattr(command, "commands"):  # a group: `data list`
            assert words[0] in command.commands, f"{page}: recombine {line}"
            command = command.commands[words.pop(0)]
        options = {name for p in command.params for name in p.opts}
        used = {word for word in words if word.startswith("--")}
        assert used <= options, f"{page}: recombine {line}"
