"""A type as the wire sees it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


class MisfitError(ValueError):
    """A JSON value that is not the type's; the message never repeats the value."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A JSON Schema, and how a JSON value becomes the Python value.

    `accepts` tells whether a value has the type's structure (bounds are the schema's
    business). `load` turns such a value into the type's; None when it is right as it
    is. `load` raises ValueError for a value that it cannot turn.
    """

    schema: dict[str, Any]
    accepts: Callable[[Any], bool]
    load: Callable[[Any], Any] | None = None

    def loaded(self, value: Any) -> Any:
        """Return the Python value for a JSON value."""
        return value if self.load is None else self.load(value)


ANYTHING = Shape({}, lambda _value: True)
OBJECT = Shape({"type": "object"}, lambda value: isinstance(value, dict))


@dataclass(slots=True)
class Definitions:
    """The schemas that a tool's types share, under `$defs`, each by a name of its own."""

    schemas: dict[str, dict[str, Any]] = field(default_factory=dict)
    _taken: set[str] = field(default_factory=set)

    def name_for(self, wanted: str) -> str:
        """Return a name that no other definition has."""
        name, number = wanted, 1
        while name in self._taken:
            number += 1
            name = f"{wanted}_{number}"
        self._taken.add(name)
        return name

    def adopt(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Move the schema's own `$defs` here and return the rest."""
        foreign = schema.get("$defs", {})
        renamed = {name: self._name_of_foreign(name, inner) for name, inner in foreign.items()}
        for name, inner in foreign.items():
            self.schemas[renamed[name]] = _renamed(inner, renamed)
        rest = {key: value for key, value in schema.items() if key != "$defs"}
        moved: dict[str, Any] = _renamed(rest, renamed)
        return moved

    def _name_of_foreign(self, name: str, inner: dict[str, Any]) -> str:
        # The same model used by two parameters is one definition.
        return name if self.schemas.get(name) == inner else self.name_for(name)


def reference(name: str) -> dict[str, Any]:
    """Return the schema that points to a definition."""
    return {"$ref": f"#/$defs/{name}"}


def _renamed(part: Any, names: dict[str, str]) -> Any:
    if isinstance(part, list):
        return [_renamed(item, names) for item in part]
    if not isinstance(part, dict):
        return part
    result = {key: _renamed(value, names) for key, value in part.items()}
    target = result.get("$ref")
    if isinstance(target, str) and (name := target.removeprefix("#/$defs/")) in names:
        result["$ref"] = f"#/$defs/{names[name]}"
    return result
