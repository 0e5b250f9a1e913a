"""The lists of tools, prompts and resources, page by page; each page is encoded once."""

from collections.abc import Mapping
from typing import Any

from nacre.core.errors import InvalidParamsError
from nacre.core.limits import CATALOGUE_TTL_MS, INCOMPLETE_TTL_MS, LIST_PAGE
from nacre.protocol.caller import Caller
from nacre.protocol.messages import Request
from nacre.protocol.results import Results, cacheable
from nacre.protocol.surface import (
    Definitions,
    GatheringSource,
    SelectiveSource,
    Surface,
    ViewingSource,
)
from nacre.protocol.versions import MODERN


class Catalogue:
    """Answers the four list methods."""

    def __init__(self, surface: Surface, results: Results) -> None:
        self._surface = surface
        self._selective = surface if isinstance(surface, SelectiveSource) else None
        self._viewing = surface if isinstance(surface, ViewingSource) else None
        self._results = results
        self._legacy: tuple[Definitions, Definitions] | None = None
        self._gathering = surface if isinstance(surface, GatheringSource) else None
        self._encoded: dict[
            tuple[str, bool], tuple[Definitions, Mapping[str, Any] | None, bytes]
        ] = {}

    def tools(self, request: Request, caller: Caller) -> bytes:
        """Answer `tools/list`."""
        selective = self._selective
        definitions = (
            self._surface.tools() if selective is None else selective.tools_for(caller.principal)
        )
        _note(caller, "tools", definitions)
        if caller.version != MODERN:
            definitions = self._legacy_tools(definitions)
        if self._viewing is not None and caller.shows_views:
            # Those clients are few, so their lists are not cached.
            definitions = (*definitions, *self._viewing.views_for(caller.principal))
            return self._encode_page(request, caller, "tools", definitions)
        return self._page(request, caller, "tools", definitions)

    def prompts(self, request: Request, caller: Caller) -> bytes:
        """Answer `prompts/list`."""
        definitions = self._surface.prompts()
        _note(caller, "prompts", definitions)
        return self._page(request, caller, "prompts", definitions)

    def resources(self, request: Request, caller: Caller) -> bytes:
        """Answer `resources/list`."""
        definitions = self._surface.resources()
        _note(caller, "resources", definitions)
        return self._page(request, caller, "resources", definitions)

    def templates(self, request: Request, caller: Caller) -> bytes:
        """Answer `resources/templates/list`."""
        definitions = self._surface.resource_templates()
        _note(caller, "resourceTemplates", definitions)
        return self._page(request, caller, "resourceTemplates", definitions)

    def _legacy_tools(self, definitions: Definitions) -> Definitions:
        """Return the definitions as legacy revisions know them, cached until they change."""
        if self._legacy is None or self._legacy[0] is not definitions:
            self._legacy = (
                definitions,
                tuple(legacy_tool(definition) for definition in definitions),
            )
        return self._legacy[1]

    def _page(self, request: Request, caller: Caller, kind: str, definitions: Definitions) -> bytes:
        modern = caller.version == MODERN
        meta = None if self._gathering is None else self._gathering.list_meta()
        if len(definitions) > LIST_PAGE or request.params.get("cursor") is not None:
            return self._encode_page(request, caller, kind, definitions)
        entry = self._encoded.get((kind, modern))
        if entry is None or entry[0] is not definitions or entry[1] != meta:
            encoded = self._encode(_page(request, kind, definitions, meta), meta, modern=modern)
            entry = self._encoded[kind, modern] = (definitions, meta, encoded)
        return entry[2]

    def _encode_page(
        self, request: Request, caller: Caller, kind: str, definitions: Definitions
    ) -> bytes:
        meta = None if self._gathering is None else self._gathering.list_meta()
        modern = caller.version == MODERN
        return self._encode(_page(request, kind, definitions, meta), meta, modern=modern)

    def _encode(
        self, page: Mapping[str, Any], meta: Mapping[str, Any] | None, *, modern: bool
    ) -> bytes:
        """Encode a page; a list with missing parts must not be cached for long."""
        ttl_ms = INCOMPLETE_TTL_MS if meta else CATALOGUE_TTL_MS
        return self._results.encode(cacheable(page, modern=modern, ttl_ms=ttl_ms), modern=modern)


def _note(caller: Caller, kind: str, definitions: Definitions) -> None:
    """Remember the list that a client saw, if the client is notified of changes."""
    if caller.peer.seen is not None:
        caller.peer.seen.lists[kind] = definitions


def _page(
    request: Request, kind: str, definitions: Definitions, meta: Mapping[str, Any] | None
) -> dict[str, Any]:
    cursor = request.params.get("cursor")
    start = 0
    if cursor is not None:
        places = [str(place) for place in range(LIST_PAGE, len(definitions), LIST_PAGE)]
        if cursor not in places:
            raise InvalidParamsError(f"{request.method}: 'cursor' was not issued here")
        start = int(cursor)
    page: dict[str, Any] = {kind: list(definitions[start : start + LIST_PAGE])}
    if start + LIST_PAGE < len(definitions):
        page["nextCursor"] = str(start + LIST_PAGE)
    if meta:
        page["_meta"] = dict(meta)
    return page


def legacy_tool(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a definition as legacy revisions know it: results are objects there."""
    schema = definition.get("outputSchema")
    if schema is None or (isinstance(schema, Mapping) and schema.get("type") == "object"):
        return definition
    return {name: value for name, value in definition.items() if name != "outputSchema"}
