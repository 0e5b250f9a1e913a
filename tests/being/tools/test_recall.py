import asyncio
from dataclasses import replace

import pytest

from nacre.core.limits import RECALL_BYTES
from nacre.protocol.versions import LEGACY_VERSIONS, MODERN
from tests.being.memory.keeping import a_node
from tests.being.memory.minds import Minded
from tests.being.memory.recalls import with_recalls

NOTHING = [{"type": "text", "text": "No memories relate to this message."}]
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
@pytest.mark.parametrize("message", ["quantum chromodynamics", ""])
def test_nothing_similar_is_said_to_clients_that_read_a_first_block(
    mind: Minded, message: str
) -> None:
    mind.note(CAT)

    assert mind.call("recall", user_message=message)["content"] == NOTHING


@pytest.mark.requirement("003.recall.answer")
def test_nothing_similar_is_an_empty_message_in_the_current_revision(wordy: Minded) -> None:
    context = replace(wordy.context(), version=MODERN)

    result = asyncio.run(wordy.server.call_tool("recall", {"user_message": "cat"}, context))

    assert result["content"] == []
    for version in LEGACY_VERSIONS:
        context = replace(context, version=version)
        answer = asyncio.run(wordy.server.call_tool("recall", {"user_message": "cat"}, context))
        assert answer["content"] == NOTHING


def test_similar_memories_count_as_one_and_the_rest_keeps_its_place(mind: Minded) -> None:
    loan, debt = a_node(1, action="Ann lent Bob 200 euros"), a_node(2, action="Bob lent Ann 200")
    mind.remember(
        loan,
        replace(debt, similar=(loan.node_id,)),
        a_node(3, action="Ann lent Bob 300 euros", similar=(loan.node_id,)),
        a_node(4, action="Ann lent Bob 400 euros", similar=(loan.node_id,)),
        a_node(5, action="Bob sold his car for euros"),
        a_node(6, action="Ann paid her taxes in euros"),
    )

    result = mind.call("recall", user_message="Who lent whom how many euros, Ann or Bob?")

    lines = result["content"][0]["text"].splitlines()[1:-1]
    traced = [memory["id"] for memory in result["_meta"]["nacre/search"]["memories"]]
    assert len(lines) == 4  # two of the similar ones, and both others
    assert len({loan.node_id, debt.node_id, a_node(3).node_id, a_node(4).node_id} & {*traced}) == 2
    assert {a_node(5).node_id, a_node(6).node_id} <= {*traced}
    nodes = with_recalls(mind.table, mind.being_id, [a_node(n).node_id for n in range(1, 7)])
    counted = {node.node_id for node in nodes.values() if node.reactivation_count}
    assert counted == {*traced}


def test_a_scene_that_tells_a_memory_again_is_not_shown_beside_it(mind: Minded) -> None:
    [scene_id] = mind.note(CAT)
    scene = mind.mind.memory.scenes.get_many(mind.being_id, [scene_id])[scene_id]
    mind.remember(a_node(1, action=CAT, fingerprint=scene.fingerprint))

    result = mind.call("recall", user_message="Who fed the cat?")

    assert len(result["content"][0]["text"].splitlines()) == 3
    assert len(result["_meta"]["nacre/search"]["memories"]) == 1


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
    assert set(memory["channels"]) == {"vector", "words", "share", "coverage", "tokens"}


@pytest.mark.requirement("003.recall.counts")
def test_what_came_back_is_counted_and_nothing_else(mind: Minded) -> None:
    mind.remember(a_node(1, action=CAT), a_node(2, action="Ann paid her taxes"))

    mind.call("recall", user_message="Who fed the cat?")

    nodes = with_recalls(mind.table, mind.being_id, [a_node(1).node_id, a_node(2).node_id])
    assert [node.reactivation_count for node in nodes.values()] == [1, 0]


def test_dead_and_superseded_nodes_stay_away(mind: Minded) -> None:
    mind.remember(
        a_node(1, action=CAT, status="dead", count_at_death=0),
        a_node(2, action=CAT, superseded_by="x"),
    )

    assert mind.call("recall", user_message="Who fed the cat?")["content"] == NOTHING
    mind.remember(a_node(3, action=CAT))
    assert a_node(3).node_id in mind.text("recall", user_message="Who fed the cat?")


def test_one_shared_word_recalls_and_counts_nothing(mind: Minded) -> None:
    mind.remember(a_node(1, action="Bo gave Ann a timer in the garden"), a_node(2, action=CAT))
    before = mind.table.writes

    result = mind.call("recall", user_message="please set a timer of ten minutes for the eggs")

    assert result["content"] == NOTHING
    assert result["_meta"]["nacre/search"]["memories"] == []
    assert mind.table.writes == before
    assert a_node(1).node_id in mind.text("recall", user_message="What did Bo give Ann?")
    assert mind.table.writes > before


def test_without_a_model_two_words_or_a_name_recall_a_memory(wordy: Minded) -> None:
    wordy.note(CAT, "Ann paid her taxes", "the parcel from Leeds was lost")

    assert CAT in wordy.text("recall", user_message="Where is the garden of the black cat?")
    assert "Leeds" in wordy.text("recall", user_message="Where in Leeds?")
    assert wordy.call("recall", user_message="black coffee tastes best")["content"] == NOTHING


@pytest.mark.parametrize(
    "message", ["thanks", "\U0001f44d", "x = [i for i in range(9)]", "?", "ok " * 34_000]
)
def test_a_message_without_a_subject_recalls_nothing(mind: Minded, message: str) -> None:
    mind.note(CAT, "Ann paid her taxes")

    assert mind.call("recall", user_message=message)["content"] == NOTHING


def test_a_very_long_message_is_searched_by_its_beginning(mind: Minded) -> None:
    mind.note(CAT)

    assert CAT in mind.text("recall", user_message="Who fed the cat? " + "lorem " * 20_000)
