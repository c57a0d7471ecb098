"""Shows the constructors of Equinox modules and named tuples, which their fields define."""

from typing import Any

import griffe

FIELD_CLASSES = ("equinox.Module", "typing.NamedTuple")


def _path(base: Any) -> str:
    return base.canonical_path if isinstance(base, griffe.Expr) else str(base)


def _ancestors(cls: griffe.Class) -> list[griffe.Class]:
    """The class and its base classes in this package, the class first."""
    found = [cls]
    for base in cls.resolved_bases:
        found += _ancestors(base)
    return found


def _default(attribute: griffe.Attribute) -> Any:
    """The default of a field; of `eqx.field(...)`, the one in its arguments."""
    value = attribute.value
    if not (isinstance(value, griffe.ExprCall) and _path(value.function) == "equinox.field"):
        return value
    arguments = {a.name: a.value for a in value.arguments if isinstance(a, griffe.ExprKeyword)}
    if "default_factory" in arguments:
        return griffe.ExprCall(arguments["default_factory"], [])
    return arguments.get("default")


def _is_field(attribute: griffe.Attribute) -> bool:
    annotation = attribute.annotation
    abstract = annotation is not None and _path(annotation).startswith("equinox.Abstract")
    return annotation is not None and "property" not in attribute.labels and not abstract


class EquinoxConstructors(griffe.Extension):
    """Gives every class whose fields make its constructor an `__init__` with them."""

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        self._visit(pkg)

    def _visit(self, module: griffe.Module) -> None:
        for member in list(module.members.values()):
            if member.is_alias:
                continue
            if isinstance(member, griffe.Module):
                self._visit(member)
            elif isinstance(member, griffe.Class):
                self._add_constructor(member)

    def _add_constructor(self, cls: griffe.Class) -> None:
        family = _ancestors(cls)
        made_of_fields = any(_path(b) in FIELD_CLASSES for c in family for b in c.bases)
        if not made_of_fields or any("__init__" in c.members for c in family):
            return
        fields = {
            a.name: a
            for c in reversed(family)
            for a in c.members.values()
            if isinstance(a, griffe.Attribute) and _is_field(a)
        }
        if not fields:
            return
        kind = griffe.ParameterKind.positional_or_keyword
        parameters = [griffe.Parameter("self", kind=kind)] + [
            griffe.Parameter(name, annotation=a.annotation, kind=kind, default=_default(a))
            for name, a in fields.items()
        ]
        init = griffe.Function("__init__", parameters=griffe.Parameters(*parameters), parent=cls)
        cls.set_member("__init__", init)
