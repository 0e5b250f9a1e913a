"""Scopes: the methods and tools that a read-only token may use."""

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
"""Methods that change nothing. `tools/call` depends on the tool; notifications are allowed."""

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
"""The tools of a Being that every token may call."""

WRITE_TOOLS = frozenset(
    {
        "merge_nodes",
        "trigger_patrol",
        "update_memory",
        "update_notes",
        "update_relation",
    }
)
"""The tools of a Being that need full scope for every action, even one that only reads."""

ORDER_PREFIX = "order_"

SCOPES_BY_NAME = {"full": FULL, "read-only": READ_ONLY}
"""The names that people use for the scopes."""


def scope_name(scopes: frozenset[str]) -> str:
    """Return the name of these scopes: `full` or `read-only`."""
    return "full" if scopes >= FULL else "read-only"


def required_scopes(
    method: str, *, tool: str | None = None, tool_is_read_only: bool = False
) -> frozenset[str]:
    """Return the scopes that a call needs.

    `tool_is_read_only` must come from our own configuration, never from an upstream server. A
    method outside the table needs full scope until it is listed there.
    """
    if method == "tools/call":
        return READ_ONLY if reads(tool, marked_read_only=tool_is_read_only) else FULL
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


def reads(tool: str | None, *, marked_read_only: bool) -> bool:
    """Tell whether a tool changes nothing, so that read-only tokens may call it."""
    if tool is None or tool in WRITE_TOOLS or tool.startswith(ORDER_PREFIX):
        return False
    return tool in READ_TOOLS or marked_read_only
