"""What a server says about itself when a client introduces itself."""

from typing import Any

from nacre.protocol.caller import Caller
from nacre.protocol.messages import Request
from nacre.protocol.results import Results, cacheable
from nacre.protocol.surface import Surface
from nacre.protocol.versions import SUPPORTED_VERSIONS, TASKS, negotiate


class Introduction:
    """Answers `initialize` and `server/discover`."""

    def __init__(
        self,
        surface: Surface,
        results: Results,
        *,
        logging: bool,
        changes: bool,
        tasks: bool,
    ) -> None:
        self._surface = surface
        self._results = results
        self._logging = logging
        self._changes = changes
        self._tasks = tasks

    def initialize(self, request: Request, caller: Caller) -> bytes:
        """Answer a legacy client, and note what it says of itself."""
        caller.peer.capabilities = request.mapping("capabilities")
        caller.peer.client_info = request.mapping("clientInfo")
        result = {
            "protocolVersion": negotiate(request.params.get("protocolVersion")),
            "capabilities": self._capabilities(modern=False),
            "serverInfo": self._results.server_info,
        }
        return self._results.encode(self._with_instructions(result), modern=False)

    def discover(self, _request: Request, _caller: Caller) -> bytes:
        """Answer a modern client."""
        result = {
            "supportedVersions": list(SUPPORTED_VERSIONS),
            "capabilities": self._capabilities(modern=True),
        }
        told = cacheable(self._with_instructions(result), modern=True)
        return self._results.encode(told, modern=True)

    def _with_instructions(self, result: dict[str, Any]) -> dict[str, Any]:
        if self._surface.instructions is not None:
            result["instructions"] = self._surface.instructions
        return result

    def _capabilities(self, *, modern: bool) -> dict[str, Any]:
        told = {"listChanged": True} if self._changes else {}
        capabilities: dict[str, Any] = {"tools": dict(told)}
        if self._surface.resources() or self._surface.resource_templates():
            followed = {"subscribe": True} if self._changes else {}
            capabilities["resources"] = {**followed, **told}
        if self._surface.prompts():
            capabilities["prompts"] = dict(told)
            capabilities["completions"] = {}
        if self._logging or modern:  # a modern request names the level itself
            capabilities["logging"] = {}
        if self._tasks and modern:
            capabilities["extensions"] = {TASKS: {}}
        return capabilities
