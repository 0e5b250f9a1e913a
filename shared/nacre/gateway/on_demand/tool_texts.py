"""The texts of a tool definition by which it is found: terms for words, a text for its meaning."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from nacre.gateway.on_demand.related_words import related
from nacre.gateway.qualified_names import PREFIX, server_of
from nacre.text.analysis import terms

_DESCRIPTION = 160  # characters that say what the tool does; what follows is usually detail
_DETAIL = 800  # characters read at most
_MEANING = 300  # characters whose meaning is compared
_ARGUMENTS = 40
_ARGUMENT_TEXT = 600  # characters of all descriptions of arguments
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NOT_WORDS = re.compile(r"[\W_]+")


def spaced(name: str) -> str:
    """Return a name as words: `getUnreadCount`, `get-unread_count` as `get Unread Count`."""
    return " ".join(_NOT_WORDS.sub(" ", _CAMEL.sub(" ", name)).split())


def split_name(name: str) -> tuple[str, str]:
    """Return the server of an exposed name, "" for an own tool, and the tool's name there."""
    server = server_of(name) or ""
    return server, name.removeprefix(f"{PREFIX}{server}__") if server else name


def description_of(definition: Mapping[str, Any]) -> str:
    """Return the description in one line, or the title if there is none."""
    annotations = definition.get("annotations")
    titles = (definition, annotations if isinstance(annotations, Mapping) else {})
    candidates = (definition.get("description"), *(entry.get("title") for entry in titles))
    text = next((text for text in candidates if isinstance(text, str) and text.strip()), "")
    return " ".join(text[: 4 * _DETAIL].split())


def meaning_of(definition: Mapping[str, Any]) -> str:
    """Return the text whose vector stands for a tool."""
    server, name = split_name(str(definition["name"]))
    prefix = f"{spaced(server)}: " if server else ""
    return f"{prefix}{spaced(name)}. {description_of(definition)[:_MEANING]}"


def name_terms(definition: Mapping[str, Any]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the terms of a tool's own name without its server's, and those of its server."""
    server, name = split_name(str(definition["name"]))
    of_server = frozenset(terms(spaced(server)))
    return frozenset(terms(spaced(name))) - of_server, of_server


def name_words(definition: Mapping[str, Any]) -> list[str]:
    """Return the words of a tool's name in lower case, in order."""
    return spaced(split_name(str(definition["name"]))[1]).lower().split()


def query_terms(query: str) -> tuple[str, ...]:
    """Return the distinct terms of a request; a name such as `createIssue` counts by its parts."""
    names = [spaced(word) for word in query.split() if word[:1].islower()]
    own = (*terms(query), *terms(" ".join(names)))
    return tuple(dict.fromkeys((*own, *related(own))))


def weighted_terms(definition: Mapping[str, Any]) -> Iterator[str]:
    """Yield the terms of a tool; those that say more about it are repeated."""
    server, name = split_name(str(definition["name"]))
    description = description_of(definition)
    for text, weight in (
        (spaced(name), 3),
        (spaced(server), 2),
        (description[:_DESCRIPTION], 2),
        (description[_DESCRIPTION:_DETAIL], 1),
        (_arguments(definition.get("inputSchema")), 1),
    ):
        for term in terms(text):
            for _ in range(weight):
                yield term


def _arguments(schema: Any) -> str:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping):
        return ""
    names, texts = [], []
    for name, value in list(properties.items())[:_ARGUMENTS]:
        names.append(spaced(str(name)))
        text = value.get("description") if isinstance(value, Mapping) else None
        if isinstance(text, str):
            texts.append(text)
    return f"{' '.join(names)} {' '.join(texts)[:_ARGUMENT_TEXT]}"
