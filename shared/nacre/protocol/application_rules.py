"""Rules of the application for the protocol: who may call what, and how errors read.

`faces.mcp_endpoint` implements them with the scopes in `access.scopes`.
"""

from typing import Protocol

from nacre.protocol.messages import Failure
from nacre.protocol.principal import Principal


class Explainer(Protocol):
    """Turns exceptions into errors for clients and models."""

    def explain(self, error: Exception, *, modern: bool) -> Failure:
        """Return the JSON-RPC error for an exception, as the era's clients know it."""
        ...

    def tool_error(self, tool: str, error: Exception) -> str:
        """Return the text a model sees when a tool fails."""
        ...


class Rulebook(Explainer, Protocol):
    """Decides for the dispatcher who may call what, and how errors are explained."""

    def permit(
        self,
        principal: Principal,
        method: str,
        *,
        tool: str | None = None,
        tool_is_read_only: bool = False,
    ) -> None:
        """Raise InsufficientScopeError unless the caller may make the request."""
        ...
