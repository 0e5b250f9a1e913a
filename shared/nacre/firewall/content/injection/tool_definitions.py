"""Tool definitions: every text in them reaches a model, so every text is scanned."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from nacre.core.lazy_dataclasses import dataclass
from nacre.firewall.content.injection.normalized_text import fold
from nacre.firewall.content.injection.rules import COPIED, EXPLANATIONS
from nacre.firewall.content.injection.scan import Finding, scan
from nacre.firewall.rules.sections import InjectionSection

# The names in these were chosen by the server. Names elsewhere are words of JSON Schema or of the
# protocol if they are short and of letters only; any other is read too.
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_KNOWN_NAME = re.compile(r"[$_]?[A-Za-z]{1,30}")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class _Words:
    """The name and the words by which two definitions are compared."""

    name: str
    description: frozenset[str]


def scan_definition(
    tool: Mapping[str, Any],
    *,
    section: InjectionSection,
    peers: Iterable[Mapping[str, Any]] = (),
) -> tuple[Finding, ...]:
    """Return the findings in a tool's names, descriptions and schemas.

    `peers` are definitions of other servers that the same model sees: a tool that copies one of
    them tries to get its calls.
    """
    if section.action == "off" or "definition" not in section.sources:
        return ()
    findings: list[Finding] = []
    if section.builtin and COPIED not in section.without:
        mine = _words(tool)
        if any(_copies(mine, _words(peer)) for peer in peers):
            findings.append(Finding(COPIED, EXPLANATIONS[COPIED], 0, 0))
    for text in _texts(tool):
        findings += scan(text, kind="definition", section=section)
    return tuple(findings)


def _words(tool: Mapping[str, Any]) -> _Words:
    name, description = tool.get("name"), tool.get("description")
    return _Words(
        "".join(filter(str.isalnum, fold(name))) if isinstance(name, str) else "",
        frozenset(_WORD.findall(fold(description)))
        if isinstance(description, str)
        else frozenset(),
    )


def _copies(mine: _Words, theirs: _Words) -> bool:
    if not mine.name or mine.name != theirs.name:
        return False
    both = len(mine.description & theirs.description)
    return 2 * both > len(mine.description | theirs.description)


def _texts(tool: Mapping[str, Any]) -> Iterator[str]:
    """Yield all texts; names of members are read as words, as a model reads them."""
    waiting: list[tuple[Any, bool]] = [(tool, False)]
    while waiting:
        part, is_named = waiting.pop()
        match part:
            case str():
                yield part
            case Mapping():
                for name in map(str, part):
                    if is_named or not _KNOWN_NAME.fullmatch(name):
                        yield name.replace("_", " ").replace("-", " ")
                waiting += reversed([(inner, name in _NAMED) for name, inner in part.items()])
            case list() | tuple():
                waiting += reversed([(inner, False) for inner in part])
            case _:
                pass
