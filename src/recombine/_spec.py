"""Specs: frozen dataclasses that build what they describe."""

import abc
import re
from typing import Any


class AbstractSpec(abc.ABC):
    """A part that can be chosen by name, set field by field and written down as JSON.

    A spec is a frozen dataclass whose fields have defaults and are numbers, strings, tuples of
    them, or specs. It loads nothing heavy before `build` is called, so that settings can be listed
    and checked without JAX.
    """

    @abc.abstractmethod
    def build(self, sizes: Any, key: Any) -> Any:
        """What the spec describes, for a problem of the given sizes, with random numbers of `key`."""


def spec_name(spec: Any) -> str:
    """The name of a spec or of its class: its `name`, or the class name, `MyNetwork` as `my-network`."""
    kind = spec if isinstance(spec, type) else type(spec)
    given = kind.__dict__.get("name")
    return given or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", kind.__name__).lower()
