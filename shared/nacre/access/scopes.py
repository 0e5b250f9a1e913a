"""The table of methods and tools that a read-only token may use."""

from nacre.core.errors import InsufficientScopeError
from nacre.protocol.principal import FULL, READ, READ_ONLY, WRITE, Principal

READ_METHODS = frozenset(
    {
        "completion/complete",
        "initialize",
        "logging/setLevel",
        "ping",
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/subscribe",
        "resources/templates/list",
        "resources/unsubscribe",
        "server/discover",
        "subscriptions/listen",
        "tasks/get",
        "tools/list",
    }
)
"""Methods that change nothing; `tools/call` depends on the tool, notifications are free."""

READ_TOOLS = frozenset(
    {
        "get_context",
        "get_current_time",
        "recall",
        "recall_memory",
        "search_history",
        "search_memory",
    }
)
"""The Being's own tools that every token may call."""

WRITE_TOOLS = frozenset(
    {
        "merge_nodes",
        "trigger_patrol",
        "update_memory",
        "update_notes",
        "update_relation",
    }
)
"""The Being's own tools that need full scope in every action, reading ones included."""

ORDER_PREFIX = "order_"

NAMES = {"full": FULL, "read-only": READ_ONLY}
"""The scopes as people see them."""


def scope_name(scopes: frozenset[str]) -> str:
    """Return how people call these scopes: `full` or `read-only`."""
    return "full" if scopes >= FULL else "read-only"


def required_scopes(
    method: str, *, tool: str | None = None, tool_is_read_only: bool = False
) -> frozenset[str]:
    """Return the scopes that a call needs.

    `tool_is_read_only` is what our own configuration says of the tool; what an upstream
    server says of itself must not come in here. A method outside the table needs full
    scope, so a new one is closed until somebody decides.
    """
    if method == "tools/call":
        return READ_ONLY if _reads(tool, tool_is_read_only) else FULL
    if method in READ_METHODS or method.startswith("notifications/"):
        return READ_ONLY
    return FULL


def authorize(
    principal: Principal, method: str, *, tool: str | None = None, tool_is_read_only: bool = False
) -> None:
    """Raise InsufficientScopeError unless the caller's scopes cover the call."""
    if principal.scopes >= FULL:
        return
    if required_scopes(method, tool=tool, tool_is_read_only=tool_is_read_only) <= principal.scopes:
        return
    raise InsufficientScopeError(tool or method, required=(READ, WRITE))


def _reads(tool: str | None, marked_read_only: bool) -> bool:
    if tool is None or tool in WRITE_TOOLS or tool.startswith(ORDER_PREFIX):
        return False
    return tool in READ_TOOLS or marked_read_only
