"""Tool definitions: every text in them reaches a model, so every text is scanned."""

from collections.abc import Iterator, Mapping
from typing import Any

from nacre.policy.injection import Finding, scan
from nacre.policy.sections import InjectionSection

# These hold structure that a server chose freely; the others are words of JSON Schema.
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")


def scan_definition(tool: Mapping[str, Any], *, section: InjectionSection) -> tuple[Finding, ...]:
    """Return what is found in a tool's names, descriptions and schemas."""
    found: list[Finding] = []
    for text in _texts(tool):
        found += scan(text, kind="definition", section=section)
    return tuple(found)


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts; names of parameters are read as words, as a model reads them."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        match each:
            case str():
                yield each
            case Mapping():
                waiting += reversed(list(each.values()))
                for name in _NAMED:
                    named = each.get(name)
                    if isinstance(named, Mapping):
                        yield from (str(key).replace("_", " ") for key in named)
            case list() | tuple():
                waiting += reversed(each)
            case _:
                pass
