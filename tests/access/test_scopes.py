"""What a read-only token may do."""

import pytest

from nacre.access.scopes import (
    READ_METHODS,
    READ_TOOLS,
    SCOPES_BY_NAME,
    WRITE_TOOLS,
    authorize,
    required_scopes,
    scope_name,
)
from nacre.core.errors import InsufficientScopeError
from nacre.protocol.principal import FULL, READ_ONLY, Principal

READER = Principal(subject="tok_1", being_id="b", scopes=READ_ONLY)
WRITER = Principal(subject="tok_2", being_id="b", scopes=FULL)

TABLE = {
    "completion/complete": "read-only",
    "initialize": "read-only",
    "logging/setLevel": "read-only",
    "notifications/anything": "read-only",
    "ping": "read-only",
    "prompts/get": "read-only",
    "prompts/list": "read-only",
    "resources/list": "read-only",
    "resources/read": "read-only",
    "resources/subscribe": "read-only",
    "resources/templates/list": "read-only",
    "resources/unsubscribe": "read-only",
    "server/discover": "read-only",
    "subscriptions/listen": "read-only",
    "tasks/cancel": "full",
    "tasks/get": "read-only",
    "tasks/update": "full",
    "tools/list": "read-only",
    "policy/push": "full",
    "a/method/nobody/knows": "full",
}

TOOLS = {
    "get_context": "read-only",
    "get_current_time": "read-only",
    "recall": "read-only",
    "recall_memory": "read-only",
    "search_history": "read-only",
    "search_memory": "read-only",
    "merge_nodes": "full",
    "order_claude": "full",
    "trigger_patrol": "full",
    "update_memory": "full",
    "update_notes": "full",
    "update_relation": "full",
    "mcp__files__read": "full",
    "a-user-tool": "full",
}


@pytest.mark.parametrize(("method", "scope"), TABLE.items())
def test_a_method_needs_the_scope_of_the_table(method: str, scope: str) -> None:
    assert required_scopes(method) == SCOPES_BY_NAME[scope]


def test_every_method_of_the_code_is_in_the_table_of_this_test() -> None:
    assert {m for m, scope in TABLE.items() if scope == "read-only"} == {
        *READ_METHODS,
        "notifications/anything",
    }


@pytest.mark.requirement("003.scope.read-only")
@pytest.mark.parametrize(("tool", "scope"), TOOLS.items())
def test_a_tool_needs_the_scope_of_the_table(tool: str, scope: str) -> None:
    assert required_scopes("tools/call", tool=tool) == SCOPES_BY_NAME[scope]


def test_every_tool_of_the_code_is_in_the_table_of_this_test() -> None:
    named = {tool for tool in TOOLS if not tool.startswith(("mcp__", "order_", "a-"))}

    assert named == READ_TOOLS | WRITE_TOOLS


def test_our_own_mark_opens_an_upstream_or_user_tool_to_readers() -> None:
    needed = required_scopes("tools/call", tool="mcp__files__read", tool_is_read_only=True)

    assert needed == READ_ONLY


@pytest.mark.parametrize("tool", [*sorted(WRITE_TOOLS), "order_claude"])
def test_no_mark_opens_a_write_tool_to_readers(tool: str) -> None:
    assert required_scopes("tools/call", tool=tool, tool_is_read_only=True) == FULL


def test_a_call_that_names_no_tool_needs_full_scope() -> None:
    assert required_scopes("tools/call", tool_is_read_only=True) == FULL


@pytest.mark.requirement("003.scope.read-only")
@pytest.mark.parametrize("tool", sorted(WRITE_TOOLS))
def test_a_read_only_token_is_refused_a_write_tool_by_name(tool: str) -> None:
    with pytest.raises(InsufficientScopeError) as refusal:
        authorize(READER, "tools/call", tool=tool)

    assert str(refusal.value) == f"{tool} needs a token with full scope; this token is read-only"
    assert refusal.value.required == ("mcp:read", "mcp:write")


@pytest.mark.requirement("003.scope.read-only")
@pytest.mark.parametrize("tool", sorted(READ_TOOLS))
def test_a_read_only_token_may_call_every_read_tool(tool: str) -> None:
    authorize(READER, "tools/call", tool=tool)


@pytest.mark.parametrize("tool", sorted(READ_TOOLS | WRITE_TOOLS))
def test_a_full_token_may_call_every_tool(tool: str) -> None:
    authorize(WRITER, "tools/call", tool=tool)


def test_people_see_two_names_for_scopes() -> None:
    assert {scope_name(FULL), scope_name(READ_ONLY)} == set(SCOPES_BY_NAME)
