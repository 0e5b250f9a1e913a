"""What holds for all of the Being's own tools."""

import asyncio
import json
from typing import Any, NoReturn

import pytest

from nacre.access.scopes import READ_TOOLS, WRITE_TOOLS, authorize
from nacre.being.tools.registered_tools import own_server
from nacre.core.clock import system_clock
from nacre.core.errors import InsufficientScopeError
from nacre.protocol.principal import READ_ONLY, Principal
from tests.being.memory.keeping import a_node
from tests.being.memory.minds import Minded, RefusedError

LISTED_BYTES = 9000


def unused() -> NoReturn:
    raise AssertionError("listing tools needs no memory")


SERVER = own_server(unused, system_clock, patrols=unused, capabilities=lambda _context: [])


def test_there_are_eleven_and_each_is_either_read_or_write() -> None:
    SERVER.check()

    names = {str(tool["name"]) for tool in SERVER.tools()}
    assert len(SERVER.tools()) == 11
    assert names == READ_TOOLS | WRITE_TOOLS
    read = {name for name in names if getattr(SERVER.get_tool(name), "read_only", False)}
    assert read == READ_TOOLS


def test_all_of_them_together_cost_a_client_little() -> None:
    listed = json.dumps({"tools": list(SERVER.tools())}, ensure_ascii=False)

    assert len(listed.encode()) <= LISTED_BYTES


def test_each_has_a_description_and_hints() -> None:
    for tool in SERVER.tools():
        assert 20 < len(tool["description"]) < 400
        assert "readOnlyHint" in tool["annotations"]


def test_an_argument_that_no_tool_knows_is_refused_by_its_name() -> None:
    for tool in SERVER.tools():
        name, schema = str(tool["name"]), tool["inputSchema"]
        assert schema["additionalProperties"] is False
        problem = SERVER.check_arguments(name, {"useer_message": "hi"})
        assert problem is not None
        assert "is not known" in problem or "is missing" in problem
        clients_own: tuple[dict[str, Any], ...] = (
            {"_sessionID": 1},
            {"_meta": {}},
            {"toolCallId": "x", "sessionId": "y"},
        )
        for other in clients_own:
            assert SERVER.check_arguments(name, other) == SERVER.check_arguments(name, {})


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        (
            "recall",
            {"user_message": "hi", "userMessages": "hi"},
            "argument 'userMessages' is not known; did you mean 'user_message'?"
            " known: 'user_message', 'timezone'",
        ),
        ("get_context", {"session": "x"}, "argument 'session' is not known; there are none"),
        (
            "search_memory",
            {"query": "cat", "from": "2026-01-01"},
            "argument 'from' is not known; did you mean 'date_from'? known: 'query', 'limit',"
            " 'mode', 'cluster_id', 'date_from', 'date_to', 'status', 'page', 'timezone', 'as_of'",
        ),
        (
            "update_notes",
            {"scenes": [{"action": "a", "actors": ["b"], "when": ["2026-01-01"], "place": "c"}]},
            "argument 'scenes.0.place' is not known; known: 'action', 'actors', 'when',"
            " 'setting', 'feeling', 'themes', 'importance'",
        ),
        (
            "update_notes",
            {"scenes": [{"action": "a", "actors": ["b"], "when": ["2026-01-01"], "theme": "c"}]},
            "argument 'scenes.0.theme' is not known; did you mean 'themes'? known: 'action',"
            " 'actors', 'when', 'setting', 'feeling', 'themes', 'importance'",
        ),
    ],
)
def test_what_was_meant_is_said(tool: str, arguments: dict[str, Any], text: str) -> None:
    assert SERVER.check_arguments(tool, arguments) == text


READS: list[tuple[str, dict[str, Any]]] = [
    ("recall", {"user_message": "cat"}),
    ("recall", {"user_message": "nothing at all"}),
    ("get_context", {}),
    ("recall_memory", {}),
    ("recall_memory", {"node_id": a_node(1).node_id}),
    ("recall_memory", {"node_id": a_node(2).node_id}),
    ("recall_memory", {"node_id": "unknown"}),
    ("recall_memory", {"cluster_id": "unknown"}),
    ("search_memory", {"query": "cat"}),
    ("search_memory", {"query": "cat", "status": "dead", "limit": 30}),
    ("search_history", {}),
    ("search_history", {"query": "cat"}),
    ("get_current_time", {}),
]


@pytest.mark.requirement("003.scope.write-tools")
def test_writing_needs_full_scope_and_reading_does_not() -> None:
    reader = Principal("test", "b", READ_ONLY)
    for name in READ_TOOLS:
        authorize(reader, "tools/call", tool=name)
    for name in WRITE_TOOLS:
        with pytest.raises(InsufficientScopeError, match=name):
            authorize(reader, "tools/call", tool=name, tool_is_read_only=True)


def test_a_read_only_token_causes_no_write_at_all(mind: Minded) -> None:
    assert {name for name, _ in READS} == READ_TOOLS
    mind.remember(a_node(1, action="a cat"), a_node(2, status="dead", count_at_death=0))
    mind.note("another cat")
    before = mind.table.writes

    for name, arguments in READS:
        try:
            mind.call(name, read_only=True, **arguments)
        except RefusedError:
            assert "unknown" in arguments.values()
    for resource in mind.server.resources():
        context = mind.context(read_only=True)
        asyncio.run(mind.server.read_resource(str(resource["uri"]), context))

    assert mind.table.writes == before
    mind.call("recall", user_message="cat")
    assert mind.table.writes > before


@pytest.mark.requirement("003.scope.read-only")
@pytest.mark.requirement("003.scope.write-tools")
@pytest.mark.parametrize("mind", ["lambda"], indirect=True)
@pytest.mark.parametrize("name", sorted(WRITE_TOOLS))
def test_a_write_with_a_read_only_token_is_forbidden_by_the_face(mind: Minded, name: str) -> None:
    assert mind.face is not None
    before = mind.table.writes

    status, answer = mind.face.call(name, {}, being_id=mind.being_id, read_only=True)

    assert status == 403
    assert answer["error"]["data"]["error"] == "insufficient_scope"
    assert mind.table.writes == before


def test_all_of_them_answer_through_either_face(mind: Minded) -> None:
    mind.remember(a_node(1), a_node(2))
    one, two = (a_node(number).node_id for number in (1, 2))
    scene = {"action": "Ann fed the cat", "actors": ["Ann"], "when": ["2026-07-01"]}
    calls: dict[str, dict[str, Any]] = {
        "recall": {"user_message": "Who fed the cat?"},
        "get_context": {"_sessionID": "what a client adds"},
        "recall_memory": {"node_id": one},
        "search_memory": {"query": "cat", "toolCallId": "call_1"},
        "merge_nodes": {"node_ids": f"{one},{two}", "summary": "both"},
        "update_memory": {"target": "knowledge", "action": "append", "key": "cats", "content": "x"},
        "update_notes": {"scenes": [scene]},
        "search_history": {},
        "update_relation": {
            "entity_name": "Ann", "relation_type": "person", "action": "upsert", "content": "x"
        },
        "trigger_patrol": {"messages": []},
        "get_current_time": {"timezone": "Asia/Tokyo"},
    }  # fmt: skip
    assert calls.keys() == READ_TOOLS | WRITE_TOOLS

    for name, arguments in calls.items():
        answer = mind.call(name, **arguments)
        assert answer["content"][0]["text"], name
        with pytest.raises(RefusedError, match=r"argument 'nonsense' is not known"):
            mind.call(name, **arguments, nonsense=1)
