"""The top-level names of a module, with what each is and which other names it uses.

The source is parsed and never run. What cannot matter to what a name does (comments, docstrings,
formatting, annotations of functions) is no part of its fingerprint.
"""

import ast
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple

Chain = tuple[str, ...]
"""A name with the attributes that are read of it: `("models", "Dense")` for `models.Dense`."""
OF_MODULE = {"globals", "eval", "exec"}
"""Functions that can reach everything in a module."""
SKIPPED = {"ctx", "type_comment", "type_ignores", "kind"}


class Import(NamedTuple):
    """What an import statement gives one name."""

    level: int
    """The number of leading dots."""
    module: str
    name: str | None
    """What is taken from the module; None: the module itself."""


@dataclass
class Uses:
    """What a piece of code refers to."""

    chains: set[Chain] = field(default_factory=set)
    """Names of its module."""
    bases: set[Chain] = field(default_factory=set)
    """Base classes, of a class."""
    imported: set[tuple[Import, Chain]] = field(default_factory=set)
    """What it imports by itself, with the attributes that are read of it."""
    whole: bool = False
    """Whether it can reach everything in its module."""
    dynamic: bool = False
    """Whether it imports a module that only running it would tell."""


@dataclass
class Source:
    """A parsed module."""

    statements: dict[str, list[ast.stmt]] = field(default_factory=dict)
    """Every name that it defines, with the statements that define or change it."""
    imports: dict[str, list[Import]] = field(default_factory=dict)
    """Every name that it imports."""
    stars: list[Import] = field(default_factory=list)
    """Modules of which it imports everything."""
    effects: list[ast.stmt] = field(default_factory=list)
    """Statements that do something when it is imported, and belong to none of its names."""

    def defines(self, name: str) -> bool:
        return name in self.statements or name in self.imports


def parse(text: str) -> Source:
    """The names of a module, of its source."""
    source = Source()
    later = []
    for statement in _executed(ast.parse(text).body):
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            for name, one in _imports(statement):
                if name == "*":
                    source.stars.append(one)
                else:
                    source.imports.setdefault(name, []).append(one)
            continue
        bound = _bound([statement])
        for name, given in bound.items():
            if given is None:
                source.statements.setdefault(name, []).append(statement)
            else:
                source.imports.setdefault(name, []).append(given)
        if not bound and not _says_nothing(statement):
            later.append(statement)
    for statement in later:
        # `function.defvjp(...)` or `TABLE["a"] = ...` changes a name of this module.
        owner = _owner(statement)
        if owner in source.statements:
            source.statements[owner].append(statement)
        else:
            source.effects.append(statement)
    return source


def _executed(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that are executed on import."""
    for statement in body:
        if isinstance(statement, ast.If):
            test = ast.unparse(statement.test)
            if test.endswith("TYPE_CHECKING"):
                yield from _executed(statement.orelse)
                continue
            if "__name__" in test:
                continue
        yield statement


def _says_nothing(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )


def _owner(statement: ast.stmt) -> str:
    """The name of which a statement calls a method, or sets an attribute or an item."""
    node: ast.expr
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute() as called)):
            node = called
        case ast.Assign(targets=[target]) | ast.AugAssign(target=target):
            node = target
        case _:
            return ""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _imports(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Import]]:
    """The names that an import statement binds."""
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            yield alias.asname or alias.name, Import(node.level, node.module or "", alias.name)
        elif alias.asname:
            yield alias.asname, Import(0, alias.name, None)
        else:
            top = alias.name.partition(".")[0]
            yield top, Import(0, top, None)


def _bound(body: Iterable[ast.AST]) -> dict[str, Import | None]:
    """The names that statements bind in their own scope; imports with what they give."""
    found: dict[str, Import | None] = {}
    free: set[str] = set()
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        match node:
            case ast.Import() | ast.ImportFrom():
                found |= dict(_imports(node))
                continue
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found.setdefault(node.name, None)
                continue
            case ast.Lambda():
                continue
            case ast.Global() | ast.Nonlocal():
                free |= set(node.names)
            case ast.Name(ctx=ast.Store()) | ast.Name(ctx=ast.Del()):
                found.setdefault(node.id, None)
            case ast.ExceptHandler(name=str(name)):
                found.setdefault(name, None)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                found.setdefault(name, None)
            case ast.MatchMapping(rest=str(name)):
                found.setdefault(name, None)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                inner = (n for n in ast.walk(node) if isinstance(n, ast.NamedExpr))
                waiting += [n.target for n in inner]
                continue
        waiting += ast.iter_child_nodes(node)
    return {name: one for name, one in found.items() if name not in free}


def without_defaults(statements: list[ast.stmt]) -> list[ast.stmt]:
    """Classes without the defaults of their fields, as they matter where all fields are given."""
    found: list[ast.stmt] = []
    for statement in statements:
        if isinstance(statement, ast.ClassDef):
            bare = ast.ClassDef(**dict(ast.iter_fields(statement)))
            bare.body = list(map(_without_default, statement.body))
            found.append(bare)
        else:
            found.append(statement)
    return found


def _without_default(statement: ast.stmt) -> ast.stmt:
    if not isinstance(statement, ast.AnnAssign) or statement.value is None:
        return statement
    if "ClassVar" in ast.unparse(statement.annotation) or "init=" in ast.unparse(statement.value):
        return statement  # no field, or one that cannot be given
    return ast.AnnAssign(statement.target, statement.annotation, None, statement.simple)


def fingerprint(statements: Iterable[ast.stmt]) -> str:
    """A checksum of what statements do, the same in every version of Python."""
    words: list[str] = []
    for statement in statements:
        _spell(statement, words, in_class=False)
    return sha256("\n".join(words).encode("utf-8", "backslashreplace")).hexdigest()[:16]


def _spell(node: ast.AST, words: list[str], in_class: bool) -> None:
    kind = type(node).__name__
    inside = isinstance(node, ast.ClassDef)
    words.append(kind)
    for name in node._fields:
        value = getattr(node, name, None)
        if value is None and kind == "Constant" and name == "value":
            words.append("None")
        if value is None or value == [] or name in SKIPPED:
            continue
        if name in ("annotation", "returns") and not (kind == "AnnAssign" and in_class):
            continue
        words.append(f".{name}")
        if isinstance(value, ast.AST):
            _spell(value, words, inside)
        elif isinstance(value, list):
            words.append("[")
            for item in value:
                if not isinstance(item, ast.AST):
                    words.append(repr(item))
                elif not (isinstance(item, ast.stmt) and _says_nothing(item)):
                    _spell(item, words, inside)
            words.append("]")
        else:
            words.append(f"{type(value).__name__} {value!r}")


def uses(statements: Iterable[ast.stmt]) -> Uses:
    """What top-level statements refer to."""
    reader = _Reader()
    for statement in statements:
        reader.visit(statement)
    return reader.found


class _Reader(ast.NodeVisitor):
    """Collects the names that code takes from around it."""

    def __init__(self) -> None:
        self.found = Uses()
        self._scopes: list[tuple[bool, dict[str, Import | None]]] = []

    @contextmanager
    def _scope(self, names: dict[str, Import | None], of_class: bool = False) -> Iterator[None]:
        self._scopes.append((of_class, names))
        yield
        self._scopes.pop()

    def _use(self, chain: Chain, into: set[Chain] | None = None) -> None:
        name, *rest = chain
        for depth, (of_class, names) in enumerate(reversed(self._scopes)):
            if name in names and not (of_class and depth):
                one = names[name]
                if one is not None:
                    self.found.imported.add((one, tuple(rest)))
                return
        if name in OF_MODULE:
            self.found.whole = True
        (self.found.chains if into is None else into).add(chain)

    def _visit_all(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        self._use((node.id,))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if chain := _chain(node):
            self._use(chain)
        else:
            self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        called = _chain(node.func)
        if called and called[-1] in ("import_module", "__import__"):
            match node.args:
                case [ast.Constant(value=str(name))] if not name.startswith("."):
                    self.found.imported.add((Import(0, name, None), ()))
                case _:
                    self.found.dynamic = True
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._visit_all((node.target, node.value))

    def visit_If(self, node: ast.If) -> None:
        if not ast.unparse(node.test).endswith("TYPE_CHECKING"):
            self.visit(node.test)
            self._visit_all(node.body)
        self._visit_all(node.orelse)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._visit_all(node.decorator_list)
        self._function(node.args, node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._function(node.args, [node.body])

    def _function(self, args: ast.arguments, body: list) -> None:
        self._visit_all((*args.defaults, *args.kw_defaults))
        named = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
        names: dict[str, Import | None] = {a.arg: None for a in named if a is not None}
        with self._scope(names | _bound(body)):
            self._visit_all(body)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._visit_all(node.decorator_list)
        for base in node.bases:
            chain = _chain(base)
            if chain and not self._scopes:
                self._use(chain, self.found.bases)
            else:
                self.visit(base)
        self._visit_all(keyword.value for keyword in node.keywords)
        with self._scope(_bound(node.body), of_class=True):
            self._visit_all(node.body)

    def _comprehension(self, node) -> None:
        self.visit(node.generators[0].iter)
        with self._scope(_bound(g.target for g in node.generators)):
            for place, generator in enumerate(node.generators):
                self._visit_all(([generator.iter] if place else []) + generator.ifs)
            if isinstance(node, ast.DictComp):
                self._visit_all((node.key, node.value))
            else:
                self.visit(node.elt)

    visit_ListComp = visit_SetComp = visit_GeneratorExp = visit_DictComp = _comprehension


def _chain(node: ast.AST) -> Chain:
    """`a.b.c` as its names; empty if it does not begin with a name."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return (node.id, *reversed(names)) if isinstance(node, ast.Name) else ()
