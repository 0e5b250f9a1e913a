"""A server's tools: registered, found, listed, called."""

import asyncio
from typing import Any

import pytest

from nacre import Context, Tool, ToolError, ToolResult, ToolServer, tool
from nacre.core.errors import InvalidArgumentError, InvalidSchemaError, NotFoundError
from nacre.protocol.surface import Surface

ANY = {"type": "object"}


class Saying:
    def __init__(self, text: str) -> None:
        self.text = text

    async def call(self, arguments: dict[str, Any]) -> ToolResult:
        return ToolResult.text(self.text)


def saying(text: str, *, name: str = "say") -> Tool:
    return Tool(name, "Say it", ANY, Saying(text))


def text_of(result: dict[str, Any]) -> str:
    (block,) = result["content"]
    text: str = block["text"]
    return text


@pytest.mark.requirement("002.server.new")
def test_a_server_has_a_name_a_version_and_nothing_else() -> None:
    server = ToolServer("math-tools", "1.2.3")

    assert (server.name, server.version, server.title, server.instructions) == (
        "math-tools",
        "1.2.3",
        None,
        None,
    )
    assert server.list_tools() == []


def test_a_server_is_a_surface_of_the_wire_protocol() -> None:
    surface: Surface = ToolServer("s", "1", title="S", instructions="Ask politely.")

    assert (surface.title, surface.instructions) == ("S", "Ask politely.")


@pytest.mark.requirement("002.server.register-tool")
def test_a_duplicate_name_overwrites_and_keeps_its_place() -> None:
    server = ToolServer("s", "1")
    server.register_tool(saying("old"))
    server.register_tool(saying("other", name="other"))
    server.register_tool(saying("new"))

    assert [item["name"] for item in server.list_tools()] == ["say", "other"]
    assert text_of(asyncio.run(server.call_tool("say", {}))) == "new"


def test_what_is_not_a_tool_is_refused_with_a_hint() -> None:
    async def plain() -> str:
        return ""

    with pytest.raises(TypeError, match="'plain' is not a tool: decorate it with @tool"):
        ToolServer("s", "1").register_tool(plain)  # type: ignore[type-var]


@pytest.mark.requirement("002.server.get-tool")
def test_a_tool_is_found_by_its_name_or_not_at_all() -> None:
    server = ToolServer("s", "1")
    registered = server.register_tool(saying("hi"))

    assert server.get_tool("say") is registered
    assert server.get_tool("nope") is None


@pytest.mark.requirement("002.server.list-tools")
def test_the_list_holds_name_description_and_input_schema() -> None:
    server = ToolServer("s", "1")
    server.register_tool(saying("hi"))

    assert server.list_tools() == [{"name": "say", "description": "Say it", "inputSchema": ANY}]


def test_the_list_is_the_same_object_until_a_tool_is_registered() -> None:
    server = ToolServer("s", "1")
    server.register_tool(saying("hi"))
    before = server.tools()

    assert server.tools() is before
    server.register_tool(saying("ho", name="ho"))
    assert server.tools() is not before
    assert len(before) == 1


def test_a_tool_reads_or_blocks_only_where_its_author_says_so() -> None:
    tools = (
        Tool("a", "", ANY, Saying(""), read_only=True),
        Tool("b", "", ANY, Saying(""), blocking=True),
        Tool("c", "", ANY, Saying(""), read_only=False),
    )

    assert [tool.read_only for tool in tools] == [True, False, False]
    assert [tool.blocking for tool in tools] == [False, True, False]


def test_an_unknown_tool_is_not_found() -> None:
    server = ToolServer("s", "1")

    with pytest.raises(NotFoundError, match="Tool not found: x"):
        asyncio.run(server.call_tool("x", {}))
    with pytest.raises(NotFoundError, match="Tool not found: x"):
        server.check_arguments("x", {})


def test_wrong_arguments_never_reach_the_function() -> None:
    ran = []

    @tool
    async def count(n: int) -> str:
        ran.append(n)
        return str(n)

    server = ToolServer("s", "1")
    server.register_tool(count)

    assert server.check_arguments("count", {"n": 1}) is None
    assert server.check_arguments("count", {}) == "argument 'n' is missing: expected an integer"
    with pytest.raises(InvalidArgumentError, match="argument 'n' is missing"):
        asyncio.run(server.call_tool("count", {}))
    assert ran == []


@pytest.mark.parametrize("error", [ToolError("no tea"), RuntimeError("boom"), KeyError("x")])
def test_what_a_handler_raises_reaches_the_caller_of_the_server(error: Exception) -> None:
    @tool
    async def fail() -> str:
        raise error

    server = ToolServer("s", "1")
    server.register_tool(fail)

    with pytest.raises(type(error)) as caught:
        asyncio.run(server.call_tool("fail", {}))

    assert caught.value is error


def test_the_context_of_the_call_reaches_the_function() -> None:
    @tool
    async def who(context: Context) -> str:
        return str(context.request_id)

    server = ToolServer("s", "1")
    server.register_tool(who)

    assert text_of(asyncio.run(server.call_tool("who", {}, Context(request_id=9)))) == "9"
    assert text_of(asyncio.run(server.call_tool("who", {}))) == "None"


def test_calls_at_the_same_time_do_not_mix() -> None:
    @tool
    async def double(n: int) -> int:
        await asyncio.sleep(0)
        return 2 * n

    server = ToolServer("s", "1")
    server.register_tool(double)

    async def many() -> list[dict[str, Any]]:
        return await asyncio.gather(*(server.call_tool("double", {"n": n}) for n in range(50)))

    assert [text_of(result) for result in asyncio.run(many())] == [str(2 * n) for n in range(50)]


def test_check_finds_the_schema_that_registration_did_not_compile() -> None:
    server = ToolServer("s", "1")
    server.register_tool(
        Tool("t", "", {"type": "object", "properties": {"a": {"type": "strin"}}}, Saying(""))
    )

    with pytest.raises(InvalidSchemaError, match=r"tool 't': not a valid JSON Schema at '/prop"):
        server.check()
