"""The merged lists of several servers: which server offers which name.

Servers come in the order of their names, and the entries of each stay in its order. If two
servers use one name or URI, the first keeps it.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, unquote

from nacre.core.errors import InvalidInputError
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.core.own_server_name import is_own
from nacre.gateway.qualified_names import OWN_SCHEMES, exposed_name
from nacre.ports.other_programs.upstream import Definition, Offered
from nacre.sdk.uri_template import UriTemplate

_EXPLICIT = "mcp://"
_RESERVED = (*OWN_SCHEMES, _EXPLICIT)  # schemes that no other server may use
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


@dataclass(frozen=True, slots=True)
class ServerOffer:
    """The offer of one server."""

    server: str
    offered: Offered


Place = tuple[str, str]
"""A server, and the name or URI of an entry there."""


@dataclass(frozen=True, slots=True)
class MergedLists:
    """The lists, and the place of each exposed name."""

    tools: tuple[Definition, ...] = ()
    resources: tuple[Definition, ...] = ()
    templates: tuple[Definition, ...] = ()
    prompts: tuple[Definition, ...] = ()
    tool_places: Mapping[str, Place] = field(default_factory=dict)
    prompt_places: Mapping[str, Place] = field(default_factory=dict)
    resource_places: Mapping[str, Place] = field(default_factory=dict)
    template_places: tuple[tuple[UriTemplate, str], ...] = ()


def merge_lists(offers: Iterable[ServerOffer]) -> MergedLists:
    """Merge the lists of servers."""
    lists = _Lists()
    for offer in offers:
        lists.add(offer)
    return MergedLists(
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

    def add(self, offer: ServerOffer) -> None:
        """Add the lists of one server."""
        server, offered = offer.server, offer.offered
        _add_named(server, offered.tools, self.tools, self.tool_places)
        _add_named(server, offered.prompts, self.prompts, self.prompt_places)
        for resource in offered.resources:
            uri = resource["uri"]
            is_free = not is_reserved(uri) and uri not in self.resources
            exposed = uri if is_free else explicit_uri(server, uri)
            self.resources[exposed] = resource if is_free else {**resource, "uri": exposed}
            self.resource_places[exposed] = (server, uri)
        for template in offered.templates:
            text = template["uriTemplate"]
            if is_reserved(text) or text in self.templates:
                continue
            self.templates[text] = template
            pattern = _pattern(text)
            if pattern is not None:
                self.patterns.append((pattern, server))


def _add_named(
    server: str,
    definitions: Iterable[Definition],
    named: dict[str, Definition],
    places: dict[str, Place],
) -> None:
    for definition in definitions:
        name = exposed_name(server, definition["name"])
        if name not in named:
            named[name] = {**definition, "name": name}
            places[name] = (server, definition["name"])


def is_reserved(uri: str) -> bool:
    """Tell whether a URI or a template has a scheme that only this server may use."""
    return uri[:16].lower().startswith(_RESERVED)


def explicit_uri(server: str, uri: str) -> str:
    """Return the URI that names a resource together with its server."""
    return f"{_EXPLICIT}{server}/{quote(uri, safe='')}"


def read_explicit(uri: str) -> Place | None:
    """Return the server and the URI in an explicit URI, or None."""
    if not uri.startswith(_EXPLICIT):
        return None
    server, _, quoted_uri = uri[len(_EXPLICIT) :].partition("/")
    if not (server and quoted_uri) or is_own(server):
        return None
    return server, unquote(quoted_uri)


def place_of(uri: str, lists: MergedLists) -> Place | None:
    """Return the server that has a resource, and its URI there."""
    place = lists.resource_places.get(uri) or read_explicit(uri)
    if place is not None:
        return place
    for pattern, server in lists.template_places:
        if pattern.values(uri) is not None:
            return server, uri
    return None


def _pattern(text: Any) -> UriTemplate | None:
    """Return a template to match URIs with, or None if it fits the URIs of every server.

    Resources of a template without a scheme are read by links in results.
    """
    if not _SCHEME.match(text):
        return None
    try:
        return UriTemplate(text)
    except InvalidInputError:  # it has richer variables, such as `{+path}`
        return LooseTemplate(text) if "{" in text else None


class LooseTemplate(UriTemplate):
    """A template of which only the literal head and tail are matched."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.variables = ()
        self._head = text.partition("{")[0]
        self._tail = text.partition("{")[2].rpartition("}")[2]

    def values(self, uri: str) -> dict[str, str] | None:
        """Return no values, but None for a URI of another form."""
        fits = uri.startswith(self._head) and uri.endswith(self._tail)
        return {} if fits and len(uri) > len(self._head) + len(self._tail) else None
