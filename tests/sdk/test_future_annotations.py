"""A module whose hints are all text."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, TypedDict

from nacre import Field, tool

if TYPE_CHECKING:
    from nacre import Context, ToolResult


@dataclass
class Tree:
    value: int
    children: list[Tree] = field(default_factory=list)


class Options(TypedDict, total=False):
    depth: Annotated[int, Field("How deep")]


@tool
async def count(tree: Tree, context: Context, options: Options | None = None) -> ToolResult:
    return f"{tree} {options}"  # type: ignore[return-value] # any value will do here


def test_hints_that_are_text_are_resolved() -> None:
    assert count.input_schema == {
        "type": "object",
        "properties": {
            "tree": {"$ref": "#/$defs/Tree"},
            "options": {
                "type": "object",
                "properties": {"depth": {"type": "integer", "description": "How deep"}},
            },
        },
        "required": ["tree"],
        "$defs": {
            "Tree": {
                "type": "object",
                "properties": {
                    "value": {"type": "integer"},
                    "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
                },
                "required": ["value"],
            }
        },
    }


def test_values_are_converted_to_types_that_were_named_by_text() -> None:
    result = asyncio.run(count.call({"tree": {"value": 1, "children": [{"value": 2}]}}))

    (block,) = result.to_dict()["content"]
    nested = "Tree(value=2, children=[])"
    assert block["text"] == f"Tree(value=1, children=[{nested}]) None"
