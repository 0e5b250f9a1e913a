"""Agents correct and hide memories by their node ids, with `update_memory`."""

import json
from typing import Any

import pytest

from nacre.access.scopes import authorize
from nacre.being.memory.model.types import Node
from nacre.core.errors import InsufficientScopeError
from nacre.protocol.principal import READ_ONLY, Principal
from tests.adapters.conftest import StillClock
from tests.being.memory.keeping import a_node
from tests.being.memory.minds import Minded, RefusedError

CAT = "Ann adopted a grey cat called Mishka"


@pytest.fixture
def cat(mind: Minded) -> Node:
    """The memory of a cat, made by a patrol, next to others."""
    mind.note(CAT, "Bob painted the boat green")
    mind.call("trigger_patrol", messages=[])
    [node] = [node for node in nodes(mind) if node.action == CAT]
    return node


def nodes(mind: Minded) -> list[Node]:
    return list(mind.mind.memory.nodes.page(mind.being_id).nodes)


def update(mind: Minded, action: str, key: str | None = None, content: str = "") -> dict[str, Any]:
    more: dict[str, Any] = {"content": content} if content else {}
    more |= {"key": key} if key else {}
    answer = mind.text("update_memory", target="memories", action=action, **more)
    fields: dict[str, Any] = json.loads(answer)
    return fields


def everything(mind: Minded) -> str:
    """Return what all reading tools say without an id."""
    found = [
        mind.text("search_memory", query="the grey cat Mishka that Ann adopted", limit=30),
        mind.text("search_memory", query="Mishka", status="dead"),
        mind.text("recall", user_message="What is the name of Ann's grey cat, Mishka?"),
        mind.text("recall_memory"),
        mind.text("get_context"),
    ]
    found += [
        mind.text("recall_memory", cluster_id=cluster.cluster_id, limit=50)
        for cluster in mind.mind.memory.clusters.page(mind.being_id).clusters
    ]
    return "\n".join(found)


def test_a_correction_replaces_the_text_and_its_history_is_shown(mind: Minded, cat: Node) -> None:
    said = "[2026-07-03] Ann adopted a grey cat called Miso"
    answer = update(mind, "update", cat.node_id, said)

    assert answer == {
        "success": True,
        "target": "memories",
        "action": "update",
        "key": cat.node_id,
        "version": 2,
        "before": CAT,
        "remark": "the earlier wording is kept",
    }
    assert "called Miso" in mind.text("search_memory", query="grey cat")
    assert "Mishka" not in mind.text("search_memory", query="grey cat")
    shown = mind.text("recall_memory", node_id=cat.node_id)
    assert "[2026-07-03] Ann: Ann adopted a grey cat called Miso\n" in shown
    assert (
        "Earlier wordings, which no longer hold:\n"
        f"- until 2026-07-28, corrected by the agent: [2026-07-01] Ann: {CAT}\n"
    ) in shown
    entry = update(mind, "get", cat.node_id)
    assert (entry["content"], entry["status"]) == ("Ann adopted a grey cat called Miso", "active")
    assert entry["earlier_wordings"] == [
        {"content": CAT, "until": "2026-07-28", "corrected_by": "agent"}
    ]

    undone = update(mind, "update", cat.node_id, " Undo ")
    assert undone["remark"] == "the earlier wording is back"
    assert "Mishka" in mind.text("search_memory", query="grey cat")


def test_a_hidden_memory_is_found_nowhere_until_it_is_shown_again(mind: Minded, cat: Node) -> None:
    assert "Mishka" in everything(mind)
    answer = update(mind, "delete", cat.node_id)

    assert (answer["success"], answer["before"]) == (True, CAT)
    assert answer["remark"] == (
        'hidden, not erased: update with the content "undo" takes that back until 2026-08-27'
    )
    assert "Mishka" not in everything(mind)
    assert mind.text("recall_memory", node_id=cat.node_id) == (
        f"node {cat.node_id} was hidden on 2026-07-28 by an agent"
    )
    hiding = {"hidden_at": "2026-07-28", "hidden_by": "agent", "undo_until": "2026-08-27"}
    assert update(mind, "get")["entries"] == [{"key": cat.node_id, **hiding}]
    assert update(mind, "get", cat.node_id) == {
        "success": True, "target": "memories", "action": "get",
        "key": cat.node_id, "version": 2, **hiding,
    }  # fmt: skip
    mind.call("trigger_patrol", messages=[])
    assert "Mishka" not in everything(mind)

    assert update(mind, "update", cat.node_id, "undo")["remark"] == "shown again"
    mind.call("trigger_patrol", messages=[])
    assert "Mishka" in everything(mind)
    assert update(mind, "get")["entries"] == []


def test_a_source_of_a_hidden_merge_is_not_shown_either(mind: Minded) -> None:
    one, two = a_node(1, action=CAT), a_node(2, action=f"{CAT}, she said")
    mind.remember(one, two)
    merge = mind.mind.memory.edits.merge(mind.being_id, [one.node_id, two.node_id], action=CAT)
    update(mind, "delete", merge.node.node_id)

    assert "Mishka" not in mind.text("recall_memory", node_id=one.node_id)


def test_what_the_owner_pinned_or_hid_is_not_changed(mind: Minded, cat: Node) -> None:
    memory = mind.mind.memory
    memory.edits.pin(mind.being_id, cat.node_id, pinned=True)
    [other] = [node for node in nodes(mind) if node.node_id != cat.node_id]
    for action, content in (("delete", ""), ("update", "x"), ("update", "undo")):
        with pytest.raises(RefusedError, match="only the owner"):
            update(mind, action, cat.node_id, content)
    with pytest.raises(RefusedError, match="only the owner"):
        mind.text("merge_nodes", node_ids=[cat.node_id, other.node_id], summary="x")
    assert [node.action for node in nodes(mind) if node.pinned] == [CAT]
    memory.corrections.hide(mind.being_id, other.node_id, by="owner")
    with pytest.raises(RefusedError, match="only the owner"):
        update(mind, "update", other.node_id, "undo")


def test_an_agent_has_thirty_days(mind: Minded, cat: Node, clock: StillClock) -> None:
    update(mind, "delete", cat.node_id)
    clock.move(31 * 86_400)

    with pytest.raises(RefusedError, match="more than 30 days ago; only the owner"):
        update(mind, "update", cat.node_id, "undo")
    mind.mind.memory.corrections.take_back(mind.being_id, cat.node_id, by="owner")
    assert CAT in mind.text("search_memory", query="grey cat Mishka")


def test_a_read_only_token_changes_nothing() -> None:
    with pytest.raises(InsufficientScopeError):
        authorize(Principal("test", "b", READ_ONLY), "tools/call", tool="update_memory")


def test_wrong_calls_say_what_to_do(mind: Minded, cat: Node) -> None:
    [scene_id] = mind.note("Eva called")
    for arguments, problem in (
        (("append", None, "x"), "update_notes records new memories"),
        (("update", None, "x"), "'key' is needed"),
        (("delete", None, ""), "'key' is needed"),
        (("update", cat.node_id, ""), "'content' is needed"),
        (("delete", scene_id, ""), "update_notes with the action 'update'"),
        (("update", cat.node_id, "undo"), "nothing to take back"),
        (("update", cat.node_id, "[2026-13-01] x"), "must be a date"),
    ):
        with pytest.raises(RefusedError, match=problem):
            update(mind, *arguments)


@pytest.mark.parametrize("form", ["list", "text of a list", "commas"])
def test_merge_nodes_takes_a_list(mind: Minded, form: str) -> None:
    ids = [a_node(1).node_id, a_node(2).node_id]
    mind.remember(a_node(1), a_node(2))
    given = {"list": ids, "text of a list": json.dumps(ids), "commas": ", ".join(ids)}[form]

    assert mind.text("merge_nodes", node_ids=given, summary="both").startswith("Merged 2 nodes")
    [merged] = [node.node_id for node in nodes(mind) if node.parents]
    undo = [merged] if form == "list" else json.dumps([merged])
    assert mind.text("merge_nodes", node_ids=undo, summary="undo").startswith("Took back")


@pytest.mark.parametrize("wrong", ['["a", 1]', "[oops", "[]", '[["a"]]'])
def test_a_list_of_something_else_is_refused(mind: Minded, wrong: str) -> None:
    with pytest.raises(RefusedError, match="node_ids"):
        mind.text("merge_nodes", node_ids=wrong, summary="x")
