"""Memories of other programs: what is understood, what is not, and why."""

import json
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.being.memory.transfer.basic_memory import Page, read_basic_memory
from nacre.being.memory.transfer.foreign_records import (
    ParsedPart,
    SkippedPart,
    knowledge_records,
    parts_of,
    scene_records,
)
from nacre.being.memory.transfer.mem0 import read_mem0
from nacre.being.memory.transfer.portable_records import KINDS, Record, decode, encode
from nacre.being.memory.transfer.server_memory import read_server_memory
from nacre.core.errors import InvalidInputError
from nacre.core.ids import ulid_milliseconds
from tests.scaffolding.laws import examples

TODAY = datetime(2026, 7, 28, 12, tzinfo=UTC)


def records(found: list[ParsedPart]) -> list[tuple[str, dict[str, Any]]]:
    return [(each.kind, dict(each.value)) for each in found if isinstance(each, Record)]


def strange(found: list[ParsedPart]) -> list[tuple[str, str]]:
    return [(each.where, each.reason) for each in found if isinstance(each, SkippedPart)]


def told(found: list[ParsedPart], *fields: str) -> list[tuple[Any, ...]]:
    scenes = [value for kind, value in records(found) if kind == "scene"]
    return [tuple(scene.get(field) for field in fields) for scene in scenes]


# @modelcontextprotocol/server-memory


def server_memory(*lines: object) -> list[ParsedPart]:
    raw = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in lines]
    return list(read_server_memory(raw, today=TODAY))


def entity(**fields: Any) -> dict[str, Any]:
    return {"type": "entity", "name": "Mia", "entityType": "person", "observations": [], **fields}


def test_an_entity_is_a_relation_and_each_observation_a_scene() -> None:
    found = server_memory(entity(observations=["likes tea", "born in\nOslo"]))

    [(kind, relation), *_] = records(found)
    assert kind == "relation"
    assert relation == {
        "entity": "Mia",
        "type": "person",
        "content": "- likes tea\n- born in Oslo",
        "updated_at": "2026-07-28T12:00:00.000Z",
        "version": 1,
        "evidence": [],
    }
    assert told(found, "action", "actors", "themes", "when", "trust", "source", "status") == [
        ("likes tea", ["Mia"], ["person"], ["2026-07-28"], "import", "import", "pending"),
        ("born in\nOslo", ["Mia"], ["person"], ["2026-07-28"], "import", "import", "pending"),
    ]


def test_what_another_program_stored_is_an_import_of_it() -> None:
    found = server_memory(entity(observations=["likes tea"]))

    assert told(found, "origins") == [(["import:server-memory"],)]


def test_an_entity_without_observations_is_still_known() -> None:
    assert [value["content"] for _, value in records(server_memory(entity()))] == ["person"]


def test_a_relation_is_a_scene_of_both() -> None:
    found = server_memory(
        {"type": "relation", "from": "Mia", "to": "Oslo", "relationType": "was_born_in"}
    )

    assert told(found, "action", "actors") == [("Mia was born in Oslo", ["Mia", "Oslo"])]


def test_what_server_memory_would_skip_is_counted() -> None:
    found = server_memory(
        b"",
        b"{broken",
        b"[1]",
        {"type": "other"},
        entity(name=" "),
        entity(observations="text"),
        entity(observations=["fine", 5, ""]),
        {"type": "relation", "from": "Mia"},
        b"\xff\xfe",
    )

    assert strange(found) == [
        ("line 2", "not JSON"),
        ("line 3", "neither an entity nor a relation"),
        ("line 4", "neither an entity nor a relation"),
        ("line 5", "an entity without a name"),
        ("line 6", "an entity without a list of observations"),
        ("line 7, observation 2", "an observation without text"),
        ("line 7, observation 3", "an observation without text"),
        ("line 8", "a relation without both ends and a type"),
        ("line 9", "not JSON"),
    ]
    assert Counter(kind for kind, _ in records(found)) == {"relation": 1, "scene": 1}


def test_a_long_observation_becomes_several_scenes() -> None:
    text = "A sentence of thirty letters. " * 400

    found = server_memory(entity(observations=[text]))

    actions = [action for (action,) in told(found, "action")]
    assert len(actions) == 3
    assert all(len(action.encode()) <= 4096 for action in actions)
    assert " ".join(actions) == text.strip()


def test_the_same_memory_has_the_same_id_on_any_day() -> None:
    line = json.dumps(entity(observations=["likes tea"])).encode()
    later = datetime(2027, 1, 1, tzinfo=UTC)

    ids = [
        [each.key for each in read_server_memory([line], today=day) if isinstance(each, Record)]
        for day in (TODAY, later)
    ]

    assert ids[0] == ids[1]


# mem0


def mem0(content: object) -> list[ParsedPart]:
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    return list(read_mem0(raw, today=TODAY))


MEMORY = {
    "id": "ea925981",
    "memory": "Likes green tea",
    "user_id": "mia",
    "hash": "abc",
    "metadata": {"category": "drinks"},
    "categories": ["preferences"],
    "created_at": "2025-03-04T23:30:00-07:00",
    "updated_at": "2025-05-06T00:00:00Z",
}


@pytest.mark.parametrize(
    "content",
    [
        [MEMORY],
        {"results": [MEMORY]},
        {"results": [MEMORY], "relations": []},
        {"count": 1, "next": None, "previous": None, "results": [MEMORY]},
        {"memories": [{**MEMORY, "content": MEMORY["memory"], "memory": None}]},
        json.dumps(MEMORY).encode(),
        json.dumps(MEMORY).encode() + b"\n\n",
    ],
    ids=["list", "results", "graph", "platform page", "openmemory", "one", "lines"],
)
def test_a_memory_of_mem0_is_understood_in_every_shape(content: object) -> None:
    found = mem0(content)

    assert strange(found) == []
    assert told(found, "action", "actors", "themes", "when", "created_at", "trust") == [
        (
            "Likes green tea",
            ["mia"],
            ["preferences", "drinks"],
            ["2025-03-05"],  # in UTC
            "2025-03-05T06:30:00.000Z",
            "import",
        )
    ]
    [record] = [each for each in found if isinstance(each, Record)]
    assert ulid_milliseconds(record.key) == 1741156200000


def test_a_graph_of_mem0_becomes_scenes() -> None:
    found = mem0(
        {
            "results": [],
            "relations": [
                {"source": "mia", "relationship": "lives_in", "target": "oslo"},
                {"source": "mia", "relation": "knows", "destination": "ann"},
                {"source": "mia"},
            ],
        }
    )

    assert told(found, "action") == [("mia lives in oslo",), ("mia knows ann",)]
    assert strange(found) == [("relation 3", "a relation without both ends and a type")]


def test_categories_of_openmemory_are_named() -> None:
    found = mem0(
        {
            "categories": [{"id": "c1", "name": "Travel"}],
            "memories": [{"content": "Went to Oslo", "category_ids": ["c1"], "state": "active"}],
        }
    )

    assert told(found, "action", "themes") == [("Went to Oslo", ["Travel"])]


def test_what_is_gone_or_empty_in_mem0_is_counted() -> None:
    found = mem0(
        [
            {"memory": "gone", "state": "deleted"},
            {"content": "old", "state": "archived"},
            {"memory": ""},
            "text",
            {"memory": "dated", "created_at": "yesterday"},
        ]
    )

    assert strange(found) == [
        ("memory 1", "deleted or archived there"),
        ("memory 2", "deleted or archived there"),
        ("memory 3", "a memory without text"),
        ("memory 4", "not an object"),
        ("memory 5", "a date that is not ISO 8601: the memory is dated today"),
    ]
    assert told(found, "action", "when") == [("dated", ["2026-07-28"])]


def test_a_broken_line_of_mem0_is_counted() -> None:
    found = mem0(json.dumps(MEMORY).encode() + b"\n{broken\n")

    assert strange(found) == [("line 2", "not an object")]
    assert len(told(found, "action")) == 1


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"just words", "neither JSON nor JSON lines"),
        (b"\xff", "not text in UTF-8"),
        (b"5", "no list of memories"),
        (b'{"other": 1}', "no list 'results' or 'memories'"),
    ],
)
def test_another_file_is_refused(content: bytes, complaint: str) -> None:
    with pytest.raises(InvalidInputError, match=complaint):
        mem0(content)


# basic-memory

NOTE = """---
title: Coffee Methods
type: note
permalink: coffee/methods
tags:
- coffee
- 'slow mornings'
created: 2025-02-03T10:00:00+00:00
modified: 2025-04-05
---

# Coffee Methods

Some words about [[Beans]].

## Observations
- [method] Pour over needs 94 °C #brewing #water (measured twice)
- [x] buy filters
- [ ] clean the mill
- [00:01:02] a line of a transcript
- an ordinary item

```text
- [method] not this one
```

> - [!info] nor that

## Relations
- relates_to [[Tea Ceremony]]
- "is better than" [[Instant|instant coffee]] (says Ann)
- see [[This]] and that
"""


def basic(*pages: Page) -> list[ParsedPart]:
    return list(read_basic_memory(pages, today=TODAY))


def test_a_note_is_knowledge_its_observations_and_relations_scenes() -> None:
    found = basic(Page("coffee/methods.md", NOTE.encode(), TODAY))

    assert strange(found) == []
    [(kind, knowledge), *_] = records(found)
    assert (kind, knowledge["key"]) == ("knowledge", "Coffee Methods")
    assert knowledge["text"] == NOTE.partition("---\n\n")[2].strip()
    assert knowledge["updated_at"] == "2025-02-03T10:00:00.000Z"
    tags = ["coffee", "slow mornings"]
    assert told(found, "action", "actors", "themes", "setting", "when") == [
        (
            "Pour over needs 94 °C #brewing #water (measured twice)",
            [],
            ["method", "brewing", "water", *tags],
            "Coffee Methods",
            ["2025-02-03"],
        ),
        (
            "Coffee Methods relates to Tea Ceremony",
            ["Coffee Methods", "Tea Ceremony"],
            tags,
            None,
            ["2025-02-03"],
        ),
        (
            "Coffee Methods is better than Instant (says Ann)",
            ["Coffee Methods", "Instant"],
            tags,
            None,
            ["2025-02-03"],
        ),
    ]


@pytest.mark.parametrize(
    ("front", "day"),
    [
        ("created: 2025-01-02", "2025-01-02"),
        ("date: '2025-01-03'", "2025-01-03"),
        ("modified: 2025-01-04T00:00:00Z", "2025-01-04"),
        ("created: last week\ntags: [a, b]", "2024-12-31"),
    ],
)
def test_the_day_of_a_note_is_what_it_says_else_that_of_its_file(front: str, day: str) -> None:
    text = f"---\n{front}\n---\n- [fact] water is wet\n"
    changed = datetime(2024, 12, 31, tzinfo=UTC)

    found = basic(Page("a.md", text.encode(), changed))

    assert told(found, "when") == [([day],)]
    assert strange(found) == []


def test_a_note_without_front_matter_is_named_after_its_file() -> None:
    found = basic(Page("ideas/My idea.md", b"\xef\xbb\xbfjust text\r\nmore"))

    [(_, knowledge)] = records(found)
    assert (knowledge["key"], knowledge["text"]) == ("My idea", "just text\nmore")


def test_what_is_no_note_is_counted() -> None:
    found = basic(
        Page("latin.md", "é".encode("latin-1")),
        Page("empty.md", b"---\ntitle: Empty\n---\n\n"),
        Page("nested.md", b"---\ntitle: Nested\nmore:\n  deep:\n    x: 1\n---\ntext\n"),
    )

    assert strange(found) == [
        ("latin.md", "not text in UTF-8"),
        ("empty.md", "a note without text"),
        ("nested.md", "front matter that is more than names and values"),
    ]
    assert [value["key"] for _, value in records(found)] == ["Nested"]


def test_a_long_note_becomes_several_entries() -> None:
    found = list(knowledge_records("Long", "word " * 20_000, day=TODAY))

    assert [each.key for each in found] == ["Long (1/2)", "Long (2/2)"]


def test_a_very_long_text_is_split_in_one_pass() -> None:
    text = "word " * 4_000_000  # copied for each part it would be read 10,000 times

    assert sum(1 for _ in parts_of(text, 2_000)) == 10_000


# Laws


@settings(max_examples=examples(150), deadline=None)
@given(st.text(max_size=300), st.integers(min_value=4, max_value=60))
def test_parts_hold_everything_but_blanks_and_none_is_too_long(text: str, limit: int) -> None:
    valid = text.encode(errors="replace").decode()

    parts = list(parts_of(valid, limit))

    assert all(0 < len(part.encode()) <= limit for part in parts)
    assert "".join("".join(parts).split()) == "".join(valid.split())


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=20),
    lambda each: (
        st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=5), each, max_size=3)
    ),
    max_leaves=8,
)
MEM0 = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys((*MEMORY, "content", "state", "category_ids"), JSON),
)
ENTITY = st.fixed_dictionaries(
    {"type": st.sampled_from(["entity", "relation", 5])},
    optional=dict.fromkeys(("name", "entityType", "observations", "from", "to"), JSON),
)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(MEM0, max_size=3), st.lists(ENTITY, max_size=3), st.binary(max_size=200))
def test_whatever_a_file_holds_comes_to_records_that_can_be_moved(
    memories: list[Any], entities: list[Any], note: bytes
) -> None:
    found = [
        *mem0(memories),
        *server_memory(*entities),
        *basic(Page("x.md", b"---\n" + note), Page("y.md", note)),
    ]

    for each in found:
        if isinstance(each, Record):
            line = json.loads(encode(each))
            assert decode(line, "line 1") == each
            assert each.kind in KINDS


def test_a_memory_has_a_day_of_its_own_or_none_in_its_id() -> None:
    [undated] = scene_records("tea", program="x", place="", day=None, today=TODAY)

    assert ulid_milliseconds(undated.key) == 0
