"""Tools from async functions."""

import asyncio
import functools
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, Optional

import pydantic
import pytest

from nacre import Context, Field, NacreError, Tool, ToolError, ToolResult, tool
from nacre.core.errors import InvalidArgumentError, InvalidInputError, InvalidSchemaError


class Color(Enum):
    RED = "red"


@dataclass(frozen=True)
class Point:
    x: int
    y: int = 0


@tool(description="Echo text back, optionally repeated multiple times")
async def echo(text: str, repeat: Optional[int]) -> ToolResult:  # noqa: UP045 - the old spelling works too
    return ToolResult.text("\n".join([text] * (1 if repeat is None else repeat)))


def called(tool: Tool, **arguments: Any) -> dict[str, Any]:
    return asyncio.run(tool.call(arguments)).to_dict()


def said(tool: Tool, **arguments: Any) -> str:
    (block,) = called(tool, **arguments)["content"]
    text: str = block["text"]
    return text


@pytest.mark.requirement("002.tool.name")
def test_the_name_is_the_function_s_with_hyphens_unless_another_is_given() -> None:
    @tool
    async def fetch_the_url() -> None: ...

    @tool(name="fetch")
    async def fetch_url() -> None: ...

    assert (fetch_the_url.name, fetch_url.name) == ("fetch-the-url", "fetch")


@pytest.mark.requirement("002.tool.description")
def test_the_description_is_given_or_the_docstring_or_the_name() -> None:
    @tool(description="Given")
    async def first() -> None:
        """Documented."""

    @tool
    async def second() -> None:
        """Documented

        on two lines.
        """

    @tool
    async def third_one() -> None: ...

    assert (first.description, second.description, third_one.description) == (
        "Given",
        "Documented\n\non two lines.",
        "Tool: third-one",
    )


@pytest.mark.requirement("002.tool.schema")
@pytest.mark.requirement("002.tool.schema.optional")
def test_the_schema_follows_from_the_signature() -> None:
    @tool
    async def everything(
        text: str,
        count: int,
        ratio: float,
        flag: bool,
        names: list[str],
        maybe: int | None,
        context: Context,
        point: Point,
        limit: Annotated[int, Field("At most", ge=1, le=100)] = 10,
        mode: Literal["fast", "slow"] = "fast",
        color: Color = Color.RED,
        note: str | None = None,
    ) -> ToolResult:
        return ToolResult.text(text)

    assert everything.definition["inputSchema"] == {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "count": {"type": "integer"},
            "ratio": {"type": "number"},
            "flag": {"type": "boolean"},
            "names": {"type": "array", "items": {"type": "string"}},
            "maybe": {"type": "integer"},
            "point": {
                "type": "object",
                "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 0}},
                "required": ["x"],
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": 100,
                "description": "At most",
                "default": 10,
            },
            "mode": {"type": "string", "enum": ["fast", "slow"], "default": "fast"},
            "color": {"type": "string", "enum": ["red"], "default": "red"},
            "note": {"type": "string"},
        },
        "required": ["text", "count", "ratio", "flag", "names", "point"],
    }


@pytest.mark.requirement("002.tool.schema.fallback")
def test_a_custom_type_is_an_object_and_arrives_as_a_dict() -> None:
    class Custom:
        pass

    @tool
    async def take(thing: Custom) -> str:
        return type(thing).__name__

    assert take.input_schema["properties"] == {"thing": {"type": "object"}}
    assert said(take, thing={"a": 1}) == "dict"


@pytest.mark.requirement("002.example.two-tools")
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"text": "hi"}, "hi"),
        ({"text": "hi", "repeat": None}, "hi"),
        ({"text": "hi", "repeat": 2}, "hi\nhi"),
        ({"text": "hi", "repeat": 2.0}, "hi\nhi"),
        ({"text": "hi", "unknown": 1}, "hi"),
    ],
)
def test_an_optional_parameter_may_be_left_out_or_null(
    arguments: dict[str, Any], text: str
) -> None:
    assert said(echo, **arguments) == text


def test_an_absent_argument_takes_the_function_s_default_and_null_does_not() -> None:
    @tool
    async def show(value: int | None = 5) -> str:
        return str(value)

    assert (said(show), said(show, value=None), said(show, value=6)) == ("5", "None", "6")


def test_values_are_converted_before_the_function_runs() -> None:
    @tool
    async def paint(color: Color, points: list[Point]) -> str:
        return f"{color!r} {points}"

    assert said(paint, color="red", points=[{"x": 1}]) == "<Color.RED: 'red'> [Point(x=1, y=0)]"


def test_a_float_parameter_keeps_an_integer_as_it_is() -> None:
    @tool
    async def show(value: float) -> str:
        return str(value)

    assert (said(show, value=2), said(show, value=2.0)) == ("2", "2.0")


@pytest.mark.requirement("002.tool.async")
@pytest.mark.requirement("002.tool.no-self")
def test_what_cannot_be_a_tool_is_refused_when_it_is_decorated() -> None:
    def sync() -> str:
        return ""

    async def method(self: Any) -> str:
        return ""

    async def generator() -> Any:
        yield 1

    async def variadic(*names: str) -> str:
        return ""

    async def keywords(**names: str) -> str:
        return ""

    async def positional(name: str, /) -> str:
        return ""

    async def misplaced(name: str = pydantic.Field(description="x")) -> str:
        return ""

    async def unresolved(name: "Missing") -> str:  # type: ignore[name-defined]  # noqa: F821
        return ""

    for function, reason in [
        (functools.partial(echo, "hi"), "must be an async function"),
        (functools.partial(echo.__wrapped__, "hi"), "must be an async function"),
        (sync, "sync must be an async function"),
        (method, "method is a method: decorate a function"),
        (generator, "generator must be an async function"),
        (variadic, "parameter 'names' has no name to a caller"),
        (keywords, "parameter 'names' has no name to a caller"),
        (positional, "parameter 'name' has no name to a caller"),
        (misplaced, r"parameter 'name': write Annotated\[type, Field"),
        (unresolved, "name 'Missing' is not defined; the types of a tool's parameters must be"),
    ]:
        with pytest.raises(TypeError, match=reason):
            tool(function)  # type: ignore[call-overload]


def test_a_bound_method_is_a_tool_with_the_state_of_its_object() -> None:
    class Counter:
        total = 0

        async def count_up(self, by: int) -> str:
            """Count up."""
            self.total += by
            return str(self.total)

    counter = Counter()
    count_up = tool(counter.count_up)

    assert (said(count_up, by=1), said(count_up, by=2)) == ("1", "3")
    assert (count_up.name, count_up.description) == ("count-up", "Count up.")
    assert count_up.input_schema["properties"] == {"by": {"type": "integer"}}


def test_a_name_that_clients_may_refuse_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="is not a tool name"):

        @tool(name="two words")
        async def f() -> None: ...


def test_calling_a_tool_runs_the_function_as_it_is_written() -> None:
    result = asyncio.run(echo("hi", repeat=2))

    assert result == ToolResult.text("hi\nhi")
    assert isinstance(echo, Tool)
    assert echo.__name__ == "echo"


@pytest.mark.requirement("002.tool.returns")
def test_a_function_returns_a_result_or_something_that_becomes_one() -> None:
    @tool
    async def result() -> ToolResult:
        return ToolResult.error("no")

    @tool
    async def point() -> Point:
        return Point(1, 2)

    @tool
    async def nothing() -> None: ...

    assert called(result) == {"content": [{"type": "text", "text": "no"}], "isError": True}
    assert called(point)["structuredContent"] == {"x": 1, "y": 2}
    assert called(nothing) == {"content": []}


@pytest.mark.requirement("002.tool.returns")
def test_a_function_fails_with_an_error() -> None:
    @tool
    async def fail() -> ToolResult:
        raise ToolError("URL cannot be empty")

    with pytest.raises(NacreError, match=r"^URL cannot be empty$"):
        called(fail)


def test_a_return_value_that_cannot_be_sent_is_a_clear_error() -> None:
    @tool
    async def odd() -> object:
        return object()

    with pytest.raises(ToolError, match="tool 'odd' returned what cannot be sent: a value of type"):
        called(odd)


def test_hints_and_names_for_people_are_listed() -> None:
    @tool(
        title="Remove it",
        read_only=False,
        destructive=True,
        idempotent=True,
        open_world=False,
        icons=[{"src": "https://example.com/i.png"}],
        meta={"example.com/k": 1},
    )
    async def remove() -> None: ...

    assert remove.definition == {
        "name": "remove",
        "title": "Remove it",
        "description": "Tool: remove",
        "inputSchema": {"type": "object", "properties": {}},
        "annotations": {
            "readOnlyHint": False,
            "destructiveHint": True,
            "idempotentHint": True,
            "openWorldHint": False,
        },
        "icons": [{"src": "https://example.com/i.png"}],
        "_meta": {"example.com/k": 1},
    }


def test_an_input_schema_is_kept_verbatim() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"n": {"type": ["integer", "null"], "x-more": {"a": 1}}},
        "additionalProperties": False,
    }

    @tool(input_schema=schema)
    async def show(n: int | None = None) -> str:
        return str(n)

    assert show.definition["inputSchema"] == schema
    assert said(show, n=None) == "None"
    assert show.problem({"other": 1}) == "argument 'other' is not known; known: 'n'"


def test_an_output_schema_is_a_schema_or_a_type_and_is_kept_to() -> None:
    @tool(output_schema=Point)
    async def place(y: Any) -> dict[str, Any]:
        return {"x": 1, "y": y}

    assert place.definition["outputSchema"]["required"] == ["x"]
    assert called(place, y=2)["structuredContent"] == {"x": 1, "y": 2}
    with pytest.raises(
        ToolError,
        match="tool 'place' returned what it does not promise: field 'y': expected an",
    ):
        called(place, y="2")


def test_an_output_schema_may_be_a_type_of_many_values() -> None:
    @tool(output_schema=list[Point])
    async def places() -> list[Point]:
        return [Point(1, 2)]

    assert places.definition["outputSchema"]["type"] == "array"
    assert called(places)["structuredContent"] == [{"x": 1, "y": 2}]


def test_an_output_schema_asks_for_structured_content_unless_the_tool_failed() -> None:
    @tool(output_schema={"type": "array", "items": {"type": "integer"}})
    async def numbers(kind: str) -> Any:
        match kind:
            case "list":
                return [1, 2]
            case "error":
                return ToolResult.error("no numbers")
            case _:
                return ToolResult.text("none")

    assert called(numbers, kind="list")["structuredContent"] == [1, 2]
    assert called(numbers, kind="error")["isError"]
    with pytest.raises(ToolError, match="promises structured content and returned none"):
        called(numbers, kind="text")


def test_a_context_is_passed_in_and_is_not_an_argument() -> None:
    @tool
    async def who(ctx: Context | None, name: str) -> str:
        return f"{name} {ctx is not None}"

    assert who.input_schema["properties"] == {"name": {"type": "string"}}
    assert said(who, name="A") == "A True"


def test_text_hints_find_types_that_are_local_or_for_the_type_checker_only() -> None:
    @dataclass
    class Local:
        n: int

    async def show(thing: "Local", context: "Context") -> "OnlyForTheChecker":  # type: ignore[name-defined]  # noqa: F821
        return str(thing)

    assert said(tool(show), thing={"n": 1}).endswith("Local(n=1)")


def test_a_value_that_a_type_refuses_names_the_argument() -> None:
    @dataclass
    class Even:
        n: int

        def __post_init__(self) -> None:
            if self.n % 2:
                raise ValueError("n must be even")

    @tool
    async def show(even: Even) -> str:
        return str(even)

    with pytest.raises(InvalidArgumentError, match=r"^argument 'even': n must be even$"):
        called(show, even={"n": 1})


def test_a_constructor_s_unforeseen_error_tells_nothing() -> None:
    @dataclass
    class Broken:
        n: str

        def __post_init__(self) -> None:
            raise KeyError(self.n)

    @tool
    async def show(broken: Broken) -> str:
        return ""

    with pytest.raises(InvalidArgumentError) as caught:
        called(show, broken={"n": "secret"})

    assert str(caught.value) == "argument 'broken' is not of the right form"


def test_a_wrong_header_annotation_is_refused() -> None:
    with pytest.raises(InvalidSchemaError, match="needs a string, integer or boolean"):

        @tool
        async def query(ratio: Annotated[float, Field(header="Ratio")]) -> None: ...
