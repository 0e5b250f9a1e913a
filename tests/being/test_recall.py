import pytest

from nacre.limits import RECALL_BYTES
from tests.memory.keeping import a_node
from tests.memory.minds import Minded

CAT = "Bo fed the black cat in the garden"


@pytest.mark.requirement("003.recall.answer")
def test_the_three_nearest_memories_come_back_in_a_block(mind: Minded) -> None:
    mind.remember(*(a_node(each, action=f"the cat caught mouse {each}") for each in range(5)))
    mind.remember(a_node(9, action="Ann paid her taxes"))

    result = mind.call("recall", user_message="what did the cat catch?")

    [block] = result["content"]
    lines = block["text"].splitlines()
    assert (lines[0], lines[-1]) == ("<memory-recall>", "</memory-recall>")
    assert len(lines) == 5
    assert all("the cat caught mouse" in line for line in lines[1:-1])
    assert len(block["text"].encode()) <= RECALL_BYTES


@pytest.mark.requirement("003.recall.answer")
def test_nothing_similar_is_an_empty_message(mind: Minded) -> None:
    mind.note(CAT)

    assert mind.call("recall", user_message="quantum chromodynamics")["content"] == []
    assert mind.call("recall", user_message="")["content"] == []


def test_a_scene_comes_back_before_any_patrol(mind: Minded) -> None:
    [scene_id] = mind.note(CAT)

    assert f"[scene {scene_id}]" in mind.text("recall", user_message="Who fed the cat?")


def test_every_fragment_is_traced_to_its_node_and_its_scores(mind: Minded) -> None:
    node = a_node(1, action=CAT)
    mind.remember(node)

    result = mind.call("recall", user_message="Who fed the cat?")

    assert f"[node {node.node_id}]" in result["content"][0]["text"]
    traced = result["_meta"]["nacre/search"]
    assert traced["search"] == "vector"
    [memory] = traced["memories"]
    assert (memory["kind"], memory["id"]) == ("node", node.node_id)
    assert set(memory["channels"]) == {"vector", "words", "tokens"}


@pytest.mark.requirement("003.recall.counts")
def test_what_came_back_is_counted_and_nothing_else(mind: Minded) -> None:
    mind.remember(a_node(1, action=CAT), a_node(2, action="Ann paid her taxes"))

    mind.call("recall", user_message="Who fed the cat?")

    nodes = mind.mind.memory.nodes.get_many(mind.being_id, [a_node(1).node_id, a_node(2).node_id])
    assert [node.reactivation_count for node in nodes.values()] == [1, 0]


def test_dead_and_superseded_nodes_stay_away(mind: Minded) -> None:
    mind.remember(
        a_node(1, action=CAT, status="dead", count_at_death=0),
        a_node(2, action=CAT, superseded_by="x"),
    )

    assert mind.call("recall", user_message="Who fed the cat?")["content"] == []


def test_a_very_long_message_is_searched_by_its_beginning(mind: Minded) -> None:
    mind.note(CAT)

    assert CAT in mind.text("recall", user_message="Who fed the cat? " + "lorem " * 20_000)
