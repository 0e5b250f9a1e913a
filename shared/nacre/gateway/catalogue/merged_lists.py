"""The lists of several servers as one: who offers what, and under which name.

Our own come first, then the servers in the order of their names, each with its own order.
A name or URI that is taken already stays with whom it was first.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote

from nacre.core.errors import InvalidInputError
from nacre.core.own_server_name import is_own
from nacre.gateway.qualified_names import OWN_SCHEME, exposed_name
from nacre.ports.upstream import Definition, Offered
from nacre.sdk.uri_template import UriTemplate

_EXPLICIT = "mcp://"
_RESERVED = (OWN_SCHEME, _EXPLICIT)  # no server may take these for its own
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


@dataclass(frozen=True, slots=True)
class Part:
    """What one server adds, and which of its tools may be listed."""

    server: str
    offered: Offered


Place = tuple[str, str]
"""A server, and what something is called there."""


@dataclass(frozen=True, slots=True)
class Joined:
    """The lists, and what each exposed name means."""

    tools: tuple[Definition, ...] = ()
    resources: tuple[Definition, ...] = ()
    templates: tuple[Definition, ...] = ()
    prompts: tuple[Definition, ...] = ()
    tool_places: Mapping[str, Place] = field(default_factory=dict)
    prompt_places: Mapping[str, Place] = field(default_factory=dict)
    resource_places: Mapping[str, Place] = field(default_factory=dict)
    template_places: tuple[tuple[UriTemplate, str], ...] = ()


def joined(parts: Iterable[Part]) -> Joined:
    """Join the lists of servers."""
    lists = _Lists()
    for part in parts:
        lists.add(part)
    return Joined(
        tuple(lists.tools.values()),
        tuple(lists.resources.values()),
        tuple(lists.templates.values()),
        tuple(lists.prompts.values()),
        lists.tool_places,
        lists.prompt_places,
        lists.resource_places,
        tuple(lists.patterns),
    )


class _Lists:
    """The lists while they grow."""

    def __init__(self) -> None:
        self.tools: dict[str, Definition] = {}
        self.prompts: dict[str, Definition] = {}
        self.resources: dict[str, Definition] = {}
        self.templates: dict[str, Definition] = {}
        self.tool_places: dict[str, Place] = {}
        self.prompt_places: dict[str, Place] = {}
        self.resource_places: dict[str, Place] = {}
        self.patterns: list[tuple[UriTemplate, str]] = []

    def add(self, part: Part) -> None:
        """Add what a server offers."""
        server, offered = part.server, part.offered
        _named(server, offered.tools, self.tools, self.tool_places)
        _named(server, offered.prompts, self.prompts, self.prompt_places)
        for each in offered.resources:
            uri = each["uri"]
            is_free = not is_reserved(uri) and uri not in self.resources
            shown = uri if is_free else explicit_uri(server, uri)
            self.resources[shown] = each if is_free else {**each, "uri": shown}
            self.resource_places[shown] = (server, uri)
        for each in offered.templates:
            text = each["uriTemplate"]
            if is_reserved(text) or text in self.templates:
                continue
            self.templates[text] = each
            pattern = _pattern(text)
            if pattern is not None:
                self.patterns.append((pattern, server))


def _named(
    server: str,
    definitions: Iterable[Definition],
    named: dict[str, Definition],
    places: dict[str, Place],
) -> None:
    for each in definitions:
        name = exposed_name(server, each["name"])
        if name not in named:
            named[name] = {**each, "name": name}
            places[name] = (server, each["name"])


def is_reserved(uri: str) -> bool:
    """Tell whether a URI, or a template, is one that only this server gives out."""
    return uri[:16].lower().startswith(_RESERVED)


def explicit_uri(server: str, uri: str) -> str:
    """Return the URI that names a resource of one certain server."""
    return f"{_EXPLICIT}{server}/{quote(uri, safe='')}"


def read_explicit(uri: str) -> Place | None:
    """Return the server and the URI that such a URI names."""
    if not uri.startswith(_EXPLICIT):
        return None
    server, separator, rest = uri[len(_EXPLICIT) :].partition("/")
    if not (separator and server and rest) or is_own(server):
        return None
    return server, unquote(rest)


def place_of(uri: str, lists: Joined) -> Place | None:
    """Return the server that has a resource, and its URI there."""
    found = lists.resource_places.get(uri) or read_explicit(uri)
    if found is not None:
        return found
    for pattern, server in lists.template_places:
        if pattern.values(uri) is not None:
            return server, uri
    return None


def _pattern(text: Any) -> UriTemplate | None:
    """Return a template that can be matched; a server reads others by their resources' links.

    One that leaves open how a URI begins would fit those of every server.
    """
    if not _SCHEME.match(text):
        return None
    try:
        return UriTemplate(text)
    except InvalidInputError:
        return _loose(text)


def _loose(text: str) -> UriTemplate | None:
    """Return a template of a richer kind, such as `{+path}`, as one whose values hold anything."""
    return LooseTemplate(text) if "{" in text else None


class LooseTemplate(UriTemplate):
    """A template of which only the literal parts are looked at."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.variables = ()
        head, _, rest = text.partition("{")
        self._head = head
        self._tail = rest.rpartition("}")[2]

    def values(self, uri: str) -> dict[str, str] | None:
        """Return no values, but None for a URI of another form."""
        fits = uri.startswith(self._head) and uri.endswith(self._tail)
        return {} if fits and len(uri) > len(self._head) + len(self._tail) else None
