"""The tools that write memory, as a client sees them."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from nacre.access.scopes import READ_TOOLS, WRITE_TOOLS
from nacre.being.memory.model.message_chain import ChatMessage
from nacre.core.errors import ToolError
from nacre.core.limits import MAX_ANSWER_BYTES
from nacre.protocol.context import Context
from tests.adapters.conftest import StillClock
from tests.being.memory.keeping import a_node
from tests.being.memory.minds import Minded, RefusedError
from tests.being.tools.writing import SCENE, Served


@pytest.fixture
def tools(mind: Minded) -> Served:
    return Served(mind)


# What clients are told


SEED = {
    "update_notes": (set(), {"action", "scenes", "notes", "scene_ids"}),
    "update_memory": (
        {"target", "action"},
        {"target", "action", "content", "key", "location", "to"},
    ),
    "update_relation": (
        {"entity_name", "relation_type", "action"},
        {"entity_name", "relation_type", "content", "action"},
    ),
    "merge_nodes": ({"node_ids", "summary"}, {"node_ids", "summary", "feeling"}),
    "search_history": (set(), {"query", "date_from", "date_to", "limit", "before"}),
    "trigger_patrol": ({"messages"}, {"messages", "marker_id"}),
}


@pytest.mark.parametrize("name", SEED)
def test_the_parameters_are_those_of_the_seed_document(tools: Served, name: str) -> None:
    tool = tools.server.get_tool(name)
    assert tool is not None
    schema = tool.definition["inputSchema"]
    required, properties = SEED[name]

    assert set(schema.get("required", ())) == required
    assert set(schema["properties"]) == properties
    assert tool.blocking


def test_defaults_and_choices_are_those_of_the_seed_document(tools: Served) -> None:
    def properties(name: str) -> dict[str, Any]:
        tool = tools.server.get_tool(name)
        assert tool is not None
        found: dict[str, Any] = tool.definition["inputSchema"]["properties"]
        return found

    assert properties("update_notes")["action"]["default"] == "append"
    scene = properties("update_notes")["scenes"]["items"]
    assert scene["required"] == ["action", "actors", "when"]
    assert set(scene["properties"]) == {
        "action", "actors", "when", "setting", "feeling", "themes", "importance",
    }  # fmt: skip
    assert scene["properties"]["importance"]["default"] == 0.5
    assert properties("update_memory")["target"]["enum"] == [
        "preferences", "knowledge", "relationship", "partner_tools", "partner_map", "diary",
        "notes", "party_message", "partner_rules", "souls", "memories",
    ]  # fmt: skip
    assert properties("update_memory")["action"]["enum"] == ["get", "append", "update", "delete"]
    assert properties("update_relation")["action"]["enum"] == ["upsert", "delete"]
    limit = properties("search_history")["limit"]
    assert (limit["default"], limit["maximum"]) == (10, 50)


def test_writing_tools_are_not_marked_as_reading_and_the_reading_one_is(tools: Served) -> None:
    marked = {name: tool.read_only for name in SEED if (tool := tools.server.get_tool(name))}

    assert {name for name, reads in marked.items() if reads} == {"search_history"}
    assert {name for name, reads in marked.items() if not reads} == WRITE_TOOLS
    assert "search_history" in READ_TOOLS
    for name in SEED:
        tool = tools.server.get_tool(name)
        assert tool is not None
        assert set(tool.definition["annotations"]) == {
            "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint",
        }  # fmt: skip


def test_the_definitions_are_short(tools: Served) -> None:
    listed = [tool for tool in tools.server.list_tools() if tool["name"] in SEED]
    text = json.dumps(listed, separators=(",", ":"))

    assert len(text) < 5000


@pytest.mark.parametrize("name", SEED)
def test_without_a_being_nothing_is_done(tools: Served, name: str) -> None:
    arguments: dict[str, dict[str, Any]] = {
        "update_notes": {"notes": ["x"]},
        "update_memory": {"target": "notes", "action": "get"},
        "update_relation": {"entity_name": "x", "relation_type": "y", "action": "delete"},
        "merge_nodes": {"node_ids": "a,b", "summary": "x"},
        "trigger_patrol": {"messages": []},
    }
    call = tools.server.call_tool(name, arguments.get(name, {}), Context.detached())
    with pytest.raises(ToolError, match="needs a Being"):
        asyncio.run(call)


# update_notes


@pytest.mark.requirement("003.update_memory.targets")
def test_every_target_of_the_document_can_be_read(mind: Minded) -> None:
    targets = [
        *("preferences", "knowledge", "relationship", "partner_tools", "partner_map"),
        *("diary", "notes", "party_message", "partner_rules", "souls"),
    ]
    for target in targets:
        answer = json.loads(mind.text("update_memory", target=target, action="get"))
        assert (answer["success"], answer["target"]) == (True, target)
    with pytest.raises(RefusedError, match="target"):
        mind.text("update_memory", target="others", action="get")


@pytest.mark.requirement("003.update_notes.scenes")
def test_scenes_of_the_documented_shape_are_recorded(tools: Served) -> None:
    full = SCENE | {
        "setting": "kitchen",
        "feeling": "I was glad",
        "themes": ["cats"],
        "importance": 0.8,
    }
    answer = tools.call("update_notes", scenes=[SCENE, full])
    scenes = tools.memory.scenes.get_many(tools.being_id, answer["scene_ids"])

    assert answer == {
        "success": True,
        "scene_ids": list(scenes),
        "note_ids": [],
        "pending_scenes": 2,
        "patrol": "fires at 10 pending scenes",
    }
    first, second = scenes.values()
    assert (first.importance, first.themes, first.setting) == (0.5, (), None)
    assert (second.importance, second.themes) == (0.8, ("cats",))
    assert (second.setting, second.feeling) == ("kitchen", "I was glad")
    assert (first.source, first.trust) == ("tool", "agent")


@pytest.mark.requirement("003.update_notes.one-of")
@pytest.mark.parametrize("nothing", [{}, {"scenes": []}, {"scenes": [], "notes": []}])
def test_scenes_or_notes_are_needed(tools: Served, nothing: dict[str, Any]) -> None:
    with pytest.raises(RefusedError, match="give 'scenes' or 'notes'"):
        tools.call("update_notes", **nothing)
    with pytest.raises(RefusedError, match="give 'scenes' or 'notes'"):
        tools.call("update_notes", action="update", scene_ids=["x"], **nothing)


def test_update_deletes_and_inserts(tools: Served) -> None:
    old = tools.call("update_notes", scenes=[SCENE, SCENE])["scene_ids"]
    answer = tools.call(
        "update_notes", action="update", scenes=[SCENE], scene_ids=[old[0], "unknown"]
    )

    assert answer["deleted_scene_ids"] == [old[0]]
    assert answer["not_deleted"] == {"unknown": "there is no such scene"}
    assert answer["pending_scenes"] == 2


def test_deleting_belongs_to_update(tools: Served) -> None:
    with pytest.raises(RefusedError, match="'scene_ids' belongs to action 'update'"):
        tools.call("update_notes", notes=["x"], scene_ids=["y"])


def test_the_tenth_scene_says_that_a_patrol_was_fired(tools: Served) -> None:
    patrols = [tools.call("update_notes", scenes=[SCENE])["patrol"] for _ in range(11)]

    assert patrols[8:] == [
        "fires at 10 pending scenes",
        "fired",
        "fired before and not done yet",
    ]


@pytest.mark.parametrize(
    ("scene", "message"),
    [
        ({"actors": ["A"], "when": ["2026-07-01"]}, "'scenes.0.action' is missing"),
        (SCENE | {"when": "2026-07-01"}, "'scenes.0.when': expected an array"),
        (SCENE | {"importance": 2}, "'scenes.0.importance': expected a number of at most 1"),
        (SCENE | {"when": ["yesterday"]}, "'scenes.0.when.0' must be a date"),
        (SCENE | {"action": "x" * 5000}, "'scenes.0.action' has 5000 bytes and its limit is 4096"),
    ],
)
def test_what_is_wrong_with_a_scene_is_named(
    tools: Served, scene: dict[str, Any], message: str
) -> None:
    with pytest.raises(RefusedError, match=message):
        tools.call("update_notes", scenes=[scene])


# update_memory: tests/being/memory/test_updates.py has every target with every action


def test_entries_are_written_and_read_by_a_client(tools: Served) -> None:
    made = tools.call("update_memory", target="notes", action="append", content="buy milk")
    listed = tools.call("update_memory", target="notes", action="get")

    assert made == {
        "success": True,
        "target": "notes",
        "action": "append",
        "key": made["key"],
        "version": 1,
    }
    assert listed == {
        "success": True,
        "target": "notes",
        "action": "get",
        "entries": [{"key": made["key"], "preview": "buy milk", "version": 1}],
    }


ENTRIES: list[tuple[str, dict[str, str]]] = [
    ("preferences", {"key": "tea"}),
    ("knowledge", {"key": "Pearls"}),
    ("relationship", {"key": "Ann"}),
    ("partner_tools", {"key": "saw"}),
    ("partner_map", {"key": "home", "location": "Kyoto"}),
    ("diary", {"key": "2026-07-01"}),
    ("notes", {}),
    ("partner_rules", {}),
    ("souls", {"key": "backstory"}),
]


@pytest.mark.parametrize(("target", "given"), ENTRIES)
def test_an_entry_of_every_target_goes_through_its_whole_life(
    tools: Served, target: str, given: dict[str, str]
) -> None:
    content = "[tone] Short: say it once" if target == "partner_rules" else "the first text"
    made = tools.call("update_memory", target=target, action="append", content=content, **given)
    key = made["key"]

    def call(action: str, **more: str) -> dict[str, Any]:
        return tools.call("update_memory", target=target, action=action, key=key, **more)

    listed = tools.call("update_memory", target=target, action="get")
    assert key in {entry["key"] for entry in listed["entries"]}
    changed = call("update", content=content.replace("once", "second").replace("first", "second"))
    assert (changed["success"], changed["version"]) == (True, 2)
    shown = call("get")
    assert "second" in str(shown)
    gone = call("delete")
    assert gone["success"]
    assert gone["before"]
    assert call("delete")["success"] is False


def test_a_letter_reaches_a_partner_of_the_same_owner(tools: Served) -> None:
    tools.mind.beings.create("Coral", owner="me")

    def call(action: str, **more: str) -> dict[str, Any]:
        return tools.call("update_memory", target="party_message", action=action, **more)

    sent = call("append", to="coral", content="See you at low tide")
    assert sent["success"]
    with pytest.raises(RefusedError, match="Coral"):
        call("append", to="Nobody", content="x")
    assert call("delete", key=sent["key"])["success"]


def test_an_unknown_target_or_action_is_refused_by_name(tools: Served) -> None:
    with pytest.raises(RefusedError, match="argument 'target': expected one of"):
        tools.call("update_memory", target="secrets", action="get")
    with pytest.raises(RefusedError, match="argument 'action': expected one of"):
        tools.call("update_memory", target="notes", action="erase")


# update_relation


@pytest.mark.requirement("003.update_relation.upsert")
def test_a_relation_is_created_and_overwritten(tools: Served) -> None:
    ann = {"entity_name": "Ann", "relation_type": "person", "action": "upsert"}
    first = tools.call("update_relation", **ann, content="a friend")
    second = tools.call("update_relation", **ann, content="a colleague")

    assert first == {
        "success": True,
        "action": "upsert",
        "entity_name": "Ann",
        "relation_type": "person",
        "version": 1,
    }
    assert second == first | {
        "version": 2,
        "before": {"relation_type": "person", "content": "a friend"},
    }
    for nothing in ({}, {"content": " "}):
        with pytest.raises(RefusedError, match="'content' is needed for upsert"):
            tools.call("update_relation", **ann, **nothing)


@pytest.mark.requirement("003.update_relation.delete")
def test_a_relation_is_removed(tools: Served) -> None:
    robot = {"entity_name": "Robo", "relation_type": "device"}
    tools.call("update_relation", **robot, action="upsert", content="cleans")
    answer = tools.call("update_relation", **robot, action="delete")

    assert answer["before"] == {"relation_type": "device", "content": "cleans"}
    assert tools.memory.relations.page(tools.being_id).relations == ()
    assert tools.call("update_relation", **robot, action="delete") == {
        "success": False,
        "action": "delete",
        "entity_name": "Robo",
        "remark": "there is no relation to this entity",
    }


# merge_nodes


@pytest.mark.requirement("003.merge_nodes.merge")
def test_nodes_are_merged_and_the_merge_taken_back(tools: Served) -> None:
    memory = tools.memory
    memory.nodes.add(tools.being_id, [a_node(1), a_node(2)])
    ids = [a_node(number).node_id for number in (1, 2)]
    text = tools.text("merge_nodes", node_ids=f" {ids[0]} ,{ids[1]},", summary="both", feeling="f")
    new = next(node for node in memory.nodes.page(tools.being_id).nodes if node.parents)

    assert text.startswith(f"Merged 2 nodes into {new.node_id}.")
    assert (new.action, new.feeling) == ("both", "f")
    text = tools.text("merge_nodes", node_ids=new.node_id, summary=" Undo ")
    assert text == f"Took back the merge {new.node_id}. These are back: {', '.join(ids)}"
    assert {memory.nodes.get_many(tools.being_id, ids)[each].status for each in ids} == {"active"}


def test_one_node_is_not_merged(tools: Served) -> None:
    with pytest.raises(RefusedError, match="'node_ids' needs at least two different ids"):
        tools.text("merge_nodes", node_ids=a_node(1).node_id, summary="just one")
    with pytest.raises(RefusedError, match="there is no memory"):
        tools.text("merge_nodes", node_ids="x", summary="undo")


@pytest.mark.parametrize("form", [list, json.dumps, ", ".join])
def test_ids_are_a_list_or_a_text(tools: Served, form: Callable[[list[str]], Any]) -> None:
    memory = tools.memory
    memory.nodes.add(tools.being_id, [a_node(1), a_node(2)])
    ids = [a_node(number).node_id for number in (1, 2)]

    text = tools.text("merge_nodes", node_ids=form(ids), summary="both")

    assert text.startswith("Merged 2 nodes into ")


@pytest.mark.parametrize("ids", ["[1, 2]", "[", "[" * 100_000, '["a", null]', "[" + "9" * 5000])
def test_a_list_of_ids_that_is_none_is_refused(tools: Served, ids: str) -> None:
    with pytest.raises(RefusedError, match="argument 'node_ids'"):
        tools.text("merge_nodes", node_ids=ids, summary="both")


# search_history


@pytest.mark.requirement("003.search_history.filter")
@pytest.mark.requirement("003.search_history.limit")
def test_messages_are_listed_with_their_times(tools: Served, clock: StillClock) -> None:
    for number in range(15):
        tools.memory.history.add(tools.being_id, [ChatMessage("user", f"cat number {number}")])
        clock.move(3600)
    text = tools.text("search_history", query="CAT")
    lines = text.split("\n\n")

    head, _, rest = lines[0].partition('before="')
    assert head == "10 messages, newest first; older ones match too: go on with "
    older = tools.text("search_history", query="CAT", before=rest.removesuffix('"'))
    assert older.startswith("5 messages, newest first\n\n[2026-07-28T16:00:00.000Z]")
    assert lines[1] == "[2026-07-29T02:00:00.000Z] user: cat number 14"
    assert len(lines) == 11
    later = tools.text("search_history", date_from="2026-07-29", limit=50)
    assert later.startswith("3 messages, newest first\n\n")
    assert tools.text("search_history", query="dog") == "No messages, newest first"
    for limit in (0, 51, "10"):
        with pytest.raises(RefusedError, match="argument 'limit'"):
            tools.text("search_history", limit=limit)


def test_long_messages_are_shown_around_what_was_found(tools: Served) -> None:
    long = "前置き" * 3_000 + " needle " + "後書き" * 3_000
    batch = [ChatMessage("user", f"{number}{long}") for number in range(50)]
    tools.memory.history.add(tools.being_id, batch)
    text = tools.text("search_history", query="needle", limit=50)

    assert len(text.encode()) < MAX_ANSWER_BYTES
    assert text.count(" needle ") == 50
    assert text.count("…") == 100
    whole = tools.text("search_history", limit=50)
    assert len(whole.encode()) < MAX_ANSWER_BYTES
    assert whole.split("\n\n")[1].startswith("[2026-07-28T12:00:00.000Z] user: 49前置き")


def test_searching_the_history_writes_nothing(tools: Served) -> None:
    tools.memory.history.add(tools.being_id, [ChatMessage("user", "hello")])
    before = tools.mind.table.writes

    found = tools.text("search_history", read_only=True, query="hell", date_from="2026-07-01")

    assert "hello" in found
    assert tools.mind.table.writes == before


# trigger_patrol


def test_an_unknown_marker_is_said_to_the_client(tools: Served) -> None:
    messages = [{"role": "user", "content": "hi"}]
    answer = tools.call("trigger_patrol", messages=messages, marker_id="made up")

    assert answer["reasons"][0].startswith("the marker is not known")
    assert answer["messages_stored"] == 1


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        ([{"role": "user"}], "'messages.0.content' is missing"),
        ([{"role": "user", "content": ["x"]}], "'messages.0.content': expected a string"),
        ("hi", "'messages': expected an array"),
    ],
)
def test_what_is_wrong_with_messages_is_named(
    tools: Served, messages: object, message: str
) -> None:
    with pytest.raises(RefusedError, match=message):
        tools.call("trigger_patrol", messages=messages)
