"""The search for tools: words, meaning, actions, and the stored vectors."""

import struct
from collections.abc import Iterator, Mapping, Sequence
from math import inf, sqrt
from pathlib import Path
from typing import Any

import pytest

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.adapters.vectors.searched_points import searched_points
from nacre.core.clock import system_clock
from nacre.core.errors import UnavailableError
from nacre.gateway.on_demand.search import ToolSearch
from nacre.gateway.on_demand.tool_vectors import ToolVectors
from nacre.ports.items.table import Table
from nacre.ports.vectors.embedder import Vector


class Colours:
    """An embedder that knows one thing: crimson is red."""

    emb_id = "test:colours:2:1"
    dimension = 2

    def __init__(self, *, fails: bool = False) -> None:
        self.embedded: list[str] = []
        self._fails = fails

    def documents(self, texts: Sequence[str]) -> list[Vector]:
        if self._fails:
            raise UnavailableError("no model")
        self.embedded += texts
        return [self.query(text) for text in texts]

    def query(self, text: str) -> Vector:
        if self._fails:
            raise UnavailableError("no model")
        red = 1.0 if "red" in text.split() or "crimson" in text.split() else 0.1
        length = sqrt(red * red + 1)
        return struct.pack("<2f", red / length, 1 / length)


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    database = SqliteDatabase(tmp_path / "nacre.db")
    yield SqliteTable(database, "data", now=system_clock)
    database.close()


def tool(name: str, description: str = "", **arguments: str) -> dict[str, Any]:
    properties = {key: {"type": "string", "description": text} for key, text in arguments.items()}
    schema = {"type": "object", "properties": properties}
    return {"name": name, "description": description, "inputSchema": schema}


def search(vectors: ToolVectors | None = None) -> ToolSearch:
    return ToolSearch(searched_points, lambda: vectors, seconds=inf, in_background=False)


def names(
    tools: Sequence[Mapping[str, Any]], query: str, by: ToolSearch | None = None
) -> list[str]:
    return [str(found["name"]) for found in (by or search()).find(tools, query)]


TRACKER = [
    tool("mcp__tracker__getIssue", "Reads an issue."),
    tool("mcp__tracker__createIssue", "Creates an issue."),
    tool("mcp__tracker__deleteIssue", "Deletes an issue."),
    tool("mcp__clock__now", "Tells the time.", zone="IANA name of a timezone"),
]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("show me the issue", "mcp__tracker__getIssue"),
        ("file a new ticket", "mcp__tracker__createIssue"),
        ("erase the issue", "mcp__tracker__deleteIssue"),
        ("createIssue", "mcp__tracker__createIssue"),
        ("which timezone", "mcp__clock__now"),
        ("tracker", "mcp__tracker__getIssue"),
    ],
)
def test_words_actions_and_arguments_find_a_tool(query: str, first: str) -> None:
    assert names(TRACKER, query)[0] == first


def test_meaning_finds_what_words_do_not(table: Table) -> None:
    tools = [tool("mcp__a__blue", "blue paint"), tool("mcp__a__crimson", "crimson paint")]
    by_meaning = search(ToolVectors(lambda: table, Colours()))

    assert names(tools, "red") == []
    assert names(tools, "red", by_meaning)[0] == "mcp__a__crimson"


def test_a_tool_is_embedded_once_for_all_processes(table: Table) -> None:
    first, second = Colours(), Colours()
    names(TRACKER, "issue", search(ToolVectors(lambda: table, first)))
    names(TRACKER, "issue", search(ToolVectors(lambda: table, second)))
    changed = [*TRACKER, tool("mcp__clock__alarm", "Rings.")]
    names(changed, "issue", search(ToolVectors(lambda: table, second)))

    assert len(first.embedded) == len(TRACKER)
    assert second.embedded == ["clock: alarm. Rings."]


def test_words_decide_while_the_model_fails(table: Table) -> None:
    failing = search(ToolVectors(lambda: table, Colours(fails=True)))

    assert names(TRACKER, "file a new ticket", failing) == names(TRACKER, "file a new ticket")


def test_odd_definitions_are_searched_too() -> None:
    odd: list[Mapping[str, Any]] = [
        {"name": "mcp__odd__a", "description": 5, "inputSchema": {"properties": [1]}},
        {"name": "mcp__odd__b", "annotations": {"title": "Bake bread"}, "inputSchema": True},
        {"name": "mcp__odd__\u540d\u524d", "description": "\u30d1\u30f3\u3092\u713c\u304f"},
    ]

    assert names(odd, "bake bread") == ["mcp__odd__b"]
    assert names(odd, "\u30d1\u30f3") == ["mcp__odd__\u540d\u524d"]
    assert names([], "bread") == []
