"""What the wire leaves for the application to decide."""

from typing import Protocol

from nacre.protocol.principal import Principal
from nacre.protocol.replies import Failure


class Explainer(Protocol):
    """What becomes of an exception outside."""

    def explain(self, error: Exception, *, modern: bool) -> Failure:
        """Return the JSON-RPC error for an exception, as the era's clients know it."""
        ...

    def tool_error(self, tool: str, error: Exception) -> str:
        """Return the text a model sees when a tool fails."""
        ...


class Rulebook(Explainer, Protocol):
    """What the application decides for the dispatcher."""

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
