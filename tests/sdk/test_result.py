"""What calls give back, and how return values become that."""

from collections import OrderedDict
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import pytest

from nacre import ImageContent, TextContent, ToolResult
from nacre.core.errors import InvalidInputError
from nacre.sdk.result import result_of


class Color(Enum):
    RED = "red"


class Point(NamedTuple):
    x: int
    y: int


@dataclass(frozen=True)
class Weather:
    temperature: float
    color: Color


@pytest.mark.requirement("002.result.text")
def test_text_is_a_success_with_one_block_and_no_other_field() -> None:
    assert ToolResult.text("Operation completed").to_dict() == {
        "content": [{"type": "text", "text": "Operation completed"}]
    }


@pytest.mark.requirement("002.result.error")
def test_error_has_is_error_true() -> None:
    assert ToolResult.error("Something went wrong").to_dict() == {
        "content": [{"type": "text", "text": "Something went wrong"}],
        "isError": True,
    }


@pytest.mark.requirement("002.result.content")
def test_several_blocks_keep_their_order() -> None:
    result = ToolResult(
        [TextContent("Description of image"), ImageContent("base64data...", "image/png")]
    )

    assert result.to_dict() == {
        "content": [
            {"type": "text", "text": "Description of image"},
            {"type": "image", "data": "base64data...", "mimeType": "image/png"},
        ]
    }


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        (ToolResult.image(b"x", "image/png"), "image"),
        (ToolResult.audio(b"x", "audio/wav"), "audio"),
        (ToolResult.link("test://a", "a", mime_type="text/plain"), "resource_link"),
        (ToolResult.resource("test://a", text="x", mime_type="text/plain"), "resource"),
        (ToolResult.resource("test://a", blob=b"x"), "resource"),
    ],
)
def test_there_is_a_short_way_to_each_kind_of_block(result: ToolResult, kind: str) -> None:
    assert [block["type"] for block in result.to_dict()["content"]] == [kind]


def test_structured_content_comes_with_its_json_as_text() -> None:
    assert ToolResult.structured(Weather(22.5, Color.RED)).to_dict() == {
        "content": [{"type": "text", "text": '{"temperature": 22.5, "color": "red"}'}],
        "structuredContent": {"temperature": 22.5, "color": "red"},
    }
    assert ToolResult.structured({"n": 1}, text="one").to_dict()["content"][0]["text"] == "one"


def test_null_is_structured_content_and_absence_is_not() -> None:
    assert ToolResult(structured_content=None).to_dict() == {
        "content": [],
        "structuredContent": None,
    }
    assert "structuredContent" not in ToolResult().to_dict()


def test_meta_travels_under_its_wire_name() -> None:
    assert ToolResult(meta={"k": 1}).to_dict() == {"content": [], "_meta": {"k": 1}}


@pytest.mark.parametrize(
    ("value", "text", "structured"),
    [
        ("plain", "plain", None),
        (Color.RED, "red", None),
        (3, "3", None),
        (True, "true", None),
        ([1, "é"], '[1, "é"]', None),
        ((), "[]", None),
        ({3, 1, 2}, "[1, 2, 3]", None),
        ({"a": None}, '{"a": null}', {"a": None}),
        (OrderedDict(b=1), '{"b": 1}', {"b": 1}),
        (Point(1, 2), '{"x": 1, "y": 2}', {"x": 1, "y": 2}),
        (
            Weather(1.0, Color.RED),
            '{"temperature": 1.0, "color": "red"}',
            {"temperature": 1.0, "color": "red"},
        ),
    ],
)
def test_a_return_value_becomes_text_and_an_object_structured_content_too(
    value: Any, text: str, structured: Any
) -> None:
    expected: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
    if structured is not None:
        expected["structuredContent"] = structured

    assert result_of(value).to_dict() == expected


def test_none_says_nothing_and_content_stays_content() -> None:
    image = ImageContent("x", "image/png")
    result = ToolResult.error("no")

    assert result_of(None) == ToolResult()
    assert result_of(image) == ToolResult((image,))
    assert result_of([image, image]) == ToolResult((image, image))
    assert result_of(result) is result


@pytest.mark.parametrize("value", [[1], 3, "text", None])
def test_with_an_output_schema_every_value_is_structured_content(value: Any) -> None:
    assert result_of(value, has_output_schema=True).to_dict()["structuredContent"] == value


class Circle:
    pass


def endless() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (object(), "a value of type object has no JSON form"),
        (b"bytes", "a value of type bytes has no JSON form"),
        ({"a": Circle()}, "a value of type Circle has no JSON form"),
        (float("nan"), "nan has no JSON form"),
        ([float("inf")], "inf has no JSON form"),
        ({1: 2}, "JSON object keys are text, not int"),
        (endless(), "nests deeper than 64 levels"),
    ],
)
def test_a_value_without_a_json_form_is_refused(value: Any, reason: str) -> None:
    with pytest.raises(InvalidInputError, match=reason):
        result_of(value)
