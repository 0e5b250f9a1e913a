"""Qualified names of tools."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre import qualified_name, split_name
from nacre.core.errors import InvalidInputError
from nacre.sdk.tool_names import check_tool_name

servers = st.from_regex(r"[A-Za-z0-9.-]{1,12}(_[A-Za-z0-9.-]{1,12}){0,3}", fullmatch=True)
tools = st.from_regex(r"[A-Za-z0-9_.-]{1,40}", fullmatch=True)


def test_a_qualified_name_is_as_the_document_shows_it() -> None:
    assert qualified_name("math-tools", "calculator") == "mcp__math-tools__calculator"
    assert split_name("mcp__math-tools__calculator") == ("math-tools", "calculator")


@given(servers, tools)
def test_both_names_are_read_from_a_qualified_name_again(server: str, tool: str) -> None:
    assert split_name(qualified_name(server, tool)) == (server, tool)


@given(servers, tools, servers, tools)
def test_two_tools_never_share_a_qualified_name(
    server: str, tool: str, other_server: str, other_tool: str
) -> None:
    same = (server, tool) == (other_server, other_tool)

    assert (qualified_name(server, tool) == qualified_name(other_server, other_tool)) is same


@pytest.mark.parametrize(
    "name", ["", "mcp__", "mcp__a", "mcp__a__", "mcp____b", "a__b", "MCP__a__b", "mcp__a b__c"]
)
def test_another_form_is_refused(name: str) -> None:
    with pytest.raises(InvalidInputError):
        split_name(name)


@pytest.mark.parametrize("server", ["", "a__b", "_a", "a_", "a b", "é", "a/b", "a" * 129])
def test_a_server_name_that_would_not_be_read_again_is_refused(server: str) -> None:
    with pytest.raises(InvalidInputError, match="is not a server name"):
        qualified_name(server, "t")


@pytest.mark.parametrize("name", ["", "a b", "a,b", "計算", "a/b", "a\n", "a" * 129])
def test_a_tool_name_that_clients_may_refuse_is_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match="is not a tool name"):
        check_tool_name(name)


@pytest.mark.parametrize("name", ["getUser", "DATA_EXPORT_v2", "admin.tools.list", "a" * 128])
def test_the_specification_s_examples_are_tool_names(name: str) -> None:
    assert check_tool_name(name) == name


def test_a_qualified_name_that_is_too_long_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="has 135 characters, at most 128 are possible"):
        qualified_name("s" * 64, "t" * 64)
