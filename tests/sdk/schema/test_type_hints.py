"""From type hints to schemas and values."""

import dataclasses
import enum
import typing
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, Required, TypedDict

import pydantic
import pytest
from annotated_types import Ge, Interval, Len
from typing_extensions import TypeAliasType

from nacre import Field
from nacre.sdk.schema.type_hints import Hints


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Shade(enum.Enum):
    DARK = (0, 0)
    LIGHT = (9, 9)


class Letter(enum.StrEnum):
    A = "a"


@dataclass(frozen=True)
class Point:
    """A place on the plane."""

    x: int
    y: int = 0
    note: str | None = None
    tags: list[str] = field(default_factory=list)
    length: int = field(default=0, init=False)


@dataclass(frozen=True)
class Line:
    start: Point
    end: Point | None


@dataclass
class Tree:
    value: int
    children: "list[Tree]" = field(default_factory=list)


@dataclass
class Even:
    number: int

    def __post_init__(self) -> None:
        if self.number % 2:
            raise ValueError("the number must be even")


class Address(TypedDict):
    street: str
    zip: NotRequired[str]


class Partial(TypedDict, total=False):
    a: Required[int]
    b: date


class Pair(NamedTuple):
    left: int
    right: str = "r"


class User(pydantic.BaseModel):
    name: str
    born: date | None = None


class Team(pydantic.BaseModel):
    lead: User
    members: list[User] = []


class Node(pydantic.BaseModel):
    children: list["Node"] = []


class Custom:
    pass


UserId = typing.NewType("UserId", int)
T = typing.TypeVar("T")
Bounded = typing.TypeVar("Bounded", bound=int)

POINT = {
    "type": "object",
    "properties": {
        "x": {"type": "integer"},
        "y": {"type": "integer", "default": 0},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["x"],
    "description": "A place on the plane.",
}


@pytest.mark.requirement("002.tool.schema")
@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (Any, {}),
        (object, {}),
        (T, {}),
        (Bounded, {"type": "integer"}),
        (UserId, {"type": "integer"}),
        (list, {"type": "array"}),
        (list[Any], {"type": "array"}),
        (list[str], {"type": "array", "items": {"type": "string"}}),
        (typing.List[int], {"type": "array", "items": {"type": "integer"}}),  # noqa: UP006
        (Sequence[int], {"type": "array", "items": {"type": "integer"}}),
        (typing.Iterable[int], {"type": "array", "items": {"type": "integer"}}),
        (set[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (tuple, {"type": "array"}),
        (
            tuple[int, str],
            {
                "type": "array",
                "prefixItems": [{"type": "integer"}, {"type": "string"}],
                "minItems": 2,
                "maxItems": 2,
            },
        ),
        (dict, {"type": "object"}),
        (dict[str, Any], {"type": "object"}),
        (Mapping[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (
            dict[Color, int],
            {
                "type": "object",
                "propertyNames": {"type": "string", "enum": ["red", "blue"]},
                "additionalProperties": {"type": "integer"},
            },
        ),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal[1, "a", None], {"enum": [1, "a", None]}),
        (Literal[Color.RED], {"type": "string", "enum": ["red"]}),
        (Color, {"type": "string", "enum": ["red", "blue"]}),
        (Level, {"type": "integer", "enum": [1, 2]}),
        (Shade, {"type": "string", "enum": ["DARK", "LIGHT"]}),
        (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (
            list[int | None],
            {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
        ),
        (datetime, {"type": "string", "format": "date-time"}),
        (date, {"type": "string", "format": "date"}),
        (time, {"type": "string", "format": "time"}),
        (uuid.UUID, {"type": "string", "format": "uuid"}),
        (bytes, {"type": "string", "contentEncoding": "base64"}),
        (Point, POINT),
        (
            Line,
            {
                "type": "object",
                "properties": {"start": POINT, "end": {"anyOf": [POINT, {"type": "null"}]}},
                "required": ["start"],
            },
        ),
        (
            Address,
            {
                "type": "object",
                "properties": {"street": {"type": "string"}, "zip": {"type": "string"}},
                "required": ["street"],
            },
        ),
        (
            Partial,
            {
                "type": "object",
                "properties": {"a": {"type": "integer"}, "b": {"type": "string", "format": "date"}},
                "required": ["a"],
            },
        ),
        (
            Pair,
            {
                "type": "object",
                "properties": {
                    "left": {"type": "integer"},
                    "right": {"type": "string", "default": "r"},
                },
                "required": ["left"],
            },
        ),
        pytest.param(
            Custom, {"type": "object"}, marks=pytest.mark.requirement("002.tool.schema.fallback")
        ),
        (typing.Callable[[], int], {"type": "object"}),
        (Annotated[int, "How many"], {"type": "integer", "description": "How many"}),
        (
            Annotated[int, Field("How many", title="N", ge=1, lt=9, multiple_of=2, examples=[2])],
            {
                "type": "integer",
                "minimum": 1,
                "exclusiveMaximum": 9,
                "multipleOf": 2,
                "description": "How many",
                "title": "N",
                "examples": [2],
            },
        ),
        (
            Annotated[str, Field(min_length=1, max_length=9, pattern="^a", format="email")],
            {"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^a", "format": "email"},
        ),
        (
            Annotated[list[str], Field(min_length=1)],
            {"type": "array", "items": {"type": "string"}, "minItems": 1},
        ),
        (Annotated[dict, Field(max_length=3)], {"type": "object", "maxProperties": 3}),
        (
            Annotated[str, Field(header="Region", extra={"x-a": 1})],
            {"type": "string", "x-a": 1, "x-mcp-header": "Region"},
        ),
        (
            Annotated[int | None, Field(ge=1)],
            {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]},
        ),
        (Annotated[int, Ge(2)], {"type": "integer", "minimum": 2}),
        (
            Annotated[int, Interval(gt=1, le=3)],
            {"type": "integer", "exclusiveMinimum": 1, "maximum": 3},
        ),
        (Annotated[str, Len(1, 5)], {"type": "string", "minLength": 1, "maxLength": 5}),
        (
            Annotated[int, pydantic.Field(description="How many", ge=1, le=5)],
            {"type": "integer", "description": "How many", "minimum": 1, "maximum": 5},
        ),
        (
            Annotated[str, pydantic.Field(max_length=4, pattern="^x")],
            {"type": "string", "maxLength": 4, "pattern": "^x"},
        ),
    ],
)
def test_a_hint_has_this_schema(hint: Any, schema: dict[str, Any]) -> None:
    assert Hints().of(hint).schema == schema


@pytest.mark.parametrize(
    ("hint", "given", "value"),
    [
        (int, 3.0, 3),
        (float, 3, 3),
        (Color, "blue", Color.BLUE),
        (Level, 2, Level.HIGH),
        (Level, 2.0, Level.HIGH),
        (Shade, "DARK", Shade.DARK),
        (Letter, "a", Letter.A),
        (Literal[Color.RED], "red", Color.RED),
        (Literal[1, True], True, True),
        (list[Color], ["red"], [Color.RED]),
        (set[int], [1, 2], {1, 2}),
        (frozenset[str], ["a"], frozenset({"a"})),
        (tuple[int, ...], [1, 2], (1, 2)),
        (tuple[Color, str], ["red", "x"], (Color.RED, "x")),
        (dict[str, Color], {"a": "red"}, {"a": Color.RED}),
        (dict[Color, int], {"red": 1}, {Color.RED: 1}),
        (datetime, "2026-07-28T09:30:00Z", datetime(2026, 7, 28, 9, 30, tzinfo=UTC)),
        (date, "2026-07-28", date(2026, 7, 28)),
        (time, "09:30:00", time(9, 30)),
        (bytes, "aGk=", b"hi"),
        (
            uuid.UUID,
            "12345678-1234-5678-1234-567812345678",
            uuid.UUID(int=0x12345678123456781234567812345678),
        ),
        (Point, {"x": 1, "tags": ["a"], "unknown": 9}, Point(1, tags=["a"])),
        (Line, {"start": {"x": 1}}, Line(Point(1), None)),
        (Line, {"start": {"x": 1}, "end": {"x": 2, "note": None}}, Line(Point(1), Point(2))),
        (Tree, {"value": 1, "children": [{"value": 2}]}, Tree(1, [Tree(2)])),
        (Address, {"street": "a"}, {"street": "a"}),
        (Partial, {"a": 1, "b": "2026-07-28"}, {"a": 1, "b": date(2026, 7, 28)}),
        (Pair, {"left": 1}, Pair(1)),
        (User, {"name": "A", "born": "2026-07-28"}, User(name="A", born=date(2026, 7, 28))),
        (list[User], [{"name": "A"}], [User(name="A")]),
        (int | str, "5", "5"),
        (int | float, 2.0, 2.0),
        (str | Color, "red", "red"),
        (Color | str, "green", "green"),
        (Point | Address, {"street": "a"}, {"street": "a"}),
        (Point | Address, {"x": 4}, Point(4)),
        (date | int, 5, 5),
        (date | int, "2026-07-28", date(2026, 7, 28)),
        (list[Color] | Color, ["red"], [Color.RED]),
        (list[Point | None], [None, {"x": 1}], [None, Point(1)]),
        (Custom, {"a": 1}, {"a": 1}),
        (Any, [1], [1]),
    ],
)
def test_a_json_value_becomes_the_hint_s(hint: Any, given: Any, value: Any) -> None:
    shape = Hints().of(hint)

    assert shape.accepts(given)
    loaded = shape.loaded(given)
    assert loaded == value
    assert type(loaded) is type(value)


@pytest.mark.parametrize(
    ("hint", "given"),
    [
        (int, "5"),
        (int, True),
        (int, 2.5),
        (float, False),
        (bool, 1),
        (str, 1),
        (Color, "green"),
        (Color, ["red"]),
        (Literal[1], True),
        (Literal["a"], {}),
        (date, "yesterday"),
        (date, 5),
        (list[int], ["a"]),
        (list[int], {"0": 1}),
        (tuple[int, str], [1]),
        (dict[str, int], {"a": "b"}),
        (dict[str, int], []),
        (Point, {}),
        (Point, []),
        (Tree, {"value": 1, "children": [{}]}),
        (User, {"name": 5}),
        (int | None, "a"),
        (Point | Address, {"z": 1}),
    ],
)
def test_a_value_of_another_form_is_not_accepted(hint: Any, given: Any) -> None:
    assert not Hints().of(hint).accepts(given)


@pytest.mark.parametrize(
    ("hint", "given", "reason"),
    [
        (Even, {"number": 3}, "the number must be even"),
        (date, "secret-text", "expected text such as 2026-07-28"),
        (bytes, "secret-text", "expected base64 text"),
        (Color, "secret-text", "expected one of 'red', 'blue'"),
        (User, {"name": {"secret": 1}}, "'name': Input should be a valid string"),
        (Point, {"y": 1}, "'x' is missing"),
    ],
)
def test_a_value_that_cannot_be_loaded_is_explained_without_repeating_it(
    hint: Any, given: Any, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason) as caught:
        Hints().of(hint).loaded(given)

    assert "secret" not in str(caught.value)


def test_a_type_that_holds_itself_becomes_a_definition() -> None:
    hints = Hints()

    assert hints.of(Tree).schema == {"$ref": "#/$defs/Tree"}
    assert hints.definitions.schemas == {
        "Tree": {
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
            },
            "required": ["value"],
        }
    }


def test_models_bring_their_definitions_along() -> None:
    hints = Hints()
    team, again = hints.of(Team).schema, hints.of(list[Team]).schema

    assert team["properties"]["lead"] == {"$ref": "#/$defs/User"}
    assert again["items"] == team
    assert hints.definitions.schemas.keys() == {"User"}
    assert hints.of(Node).schema == {"$ref": "#/$defs/Node"}


def test_two_types_of_one_name_get_definitions_of_their_own() -> None:
    def other() -> type:
        class User(pydantic.BaseModel):
            age: int

        class Crew(pydantic.BaseModel):
            lead: User

        return Crew

    hints = Hints()
    team, crew = hints.of(Team), hints.of(other())

    assert team.schema["properties"]["lead"] == {"$ref": "#/$defs/User"}
    assert crew.schema["properties"]["lead"] == {"$ref": "#/$defs/User_2"}
    assert hints.definitions.schemas["User_2"]["properties"].keys() == {"age"}


def test_optional_parameters_have_the_schema_of_the_value() -> None:
    shape, may_be_null = Hints().parameter(Annotated[int | None, Field("N", ge=1)])

    assert shape.schema == {"type": "integer", "minimum": 1, "description": "N"}
    assert may_be_null
    assert Hints().parameter(int)[1] is False


@pytest.mark.parametrize(
    ("hint", "reason"),
    [
        (Annotated[int, Field(min_length=1)], "'min_length' says nothing about integer"),
        (Annotated[str, Field(ge=1)], "'ge' says nothing about string"),
        (Annotated[Any, Field(ge=1)], "'ge' says nothing about this type"),
        (dict[int, str], r"use dict\[str, \.\.\.\]"),
    ],
)
def test_a_hint_that_makes_no_sense_is_refused(hint: Any, reason: str) -> None:
    with pytest.raises(TypeError, match=reason):
        Hints().of(hint)


def test_an_alias_has_the_schema_of_what_it_stands_for() -> None:
    names = TypeAliasType("names", list[str])

    assert Hints().of(names).schema == {"type": "array", "items": {"type": "string"}}


def test_a_dataclass_without_a_docstring_has_no_description() -> None:
    assert "description" not in Hints().of(Line).schema
    assert dataclasses.is_dataclass(Line)
