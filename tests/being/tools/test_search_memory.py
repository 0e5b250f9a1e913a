from typing import Any

import pytest

from tests.being.memory.keeping import a_node
from tests.being.memory.minds import Minded, RefusedError
from tests.being.memory.recalls import with_recalls

CAT = "Bo fed the black cat"


@pytest.mark.requirement("003.search_memory.vector")
def test_a_memory_is_found_by_its_meaning_without_a_word_of_the_query(mind: Minded) -> None:
    mind.remember(
        a_node(1, action="Aiko adopted a grey cat"), a_node(2, action="the bank raised its rates")
    )

    lines = mind.text("search_memory", query="kittens").splitlines()

    assert lines[0].endswith("by vector search")
    assert "Aiko adopted a grey cat" in lines[1]


@pytest.mark.requirement("003.search_memory.vector")
def test_ten_memories_are_found_unless_more_are_wanted(mind: Minded) -> None:
    mind.remember(*(a_node(each, action=f"the cat slept {each}") for each in range(35)))

    def found(**arguments: Any) -> int:
        lines = mind.text("search_memory", query="cat", **arguments).splitlines()
        assert lines[-1].startswith("… there are more: a larger limit (up to 30), or dates,")
        return len(lines) - 2

    assert found() == 10
    assert found(limit=3) == 3
    assert found(limit=30) == 30
    with pytest.raises(RefusedError, match="limit"):
        found(limit=31)


@pytest.mark.requirement("003.search_memory.header")
def test_the_header_says_what_was_searched(mind: Minded, wordy: Minded) -> None:
    mind.note(CAT)
    wordy.note(CAT)

    assert mind.text("search_memory", query="cat").splitlines()[0] == "1 memory by vector search"
    assert wordy.text("search_memory", query="cat").splitlines()[0] == (
        "1 memory by keyword search (no vectors)"
    )
    assert (
        wordy.text("search_memory", query="xyzzy") == "no memories by keyword search (no vectors)"
    )


def test_weak_hits_are_labelled_for_readers_and_for_programs(mind: Minded) -> None:
    mind.note(CAT)
    mind.note("the bank raised its rates")

    answer = mind.call("search_memory", query="Who fed the cat?")
    [_, strong, weak] = answer["content"][0]["text"].splitlines()

    assert CAT in strong
    assert "; weak; " not in strong
    assert "; weak; score 0." in weak
    assert [memory["weak"] for memory in answer["_meta"]["nacre/search"]["memories"]] == [
        False,
        True,
    ]


@pytest.mark.requirement("003.search_memory.keyword")
def test_without_vectors_mode_says_whether_every_word_must_be_there(wordy: Minded) -> None:
    wordy.note("a cat", "a dog", "a cat and a dog")

    any_of, all_of = (
        wordy.text("search_memory", query="cat dog", mode=mode) for mode in ("or", "and")
    )

    assert any_of.startswith("3 memories")
    assert all_of.startswith("1 memory")
    assert "a cat and a dog" in all_of


def test_a_line_shows_the_scene_its_id_and_its_scores(wordy: Minded) -> None:
    [scene_id] = wordy.note(CAT, actors=["Bo"], setting="garden", feeling="calm")

    line = wordy.text("search_memory", query="cat").splitlines()[1]

    assert line.startswith(f"1. [2026-07-01] Bo: {CAT} (garden) — calm [scene {scene_id}; score 0.")
    assert ": words " in line


def test_state_and_doubtful_origin_are_named(wordy: Minded) -> None:
    wordy.remember(
        a_node(1, action=CAT, status="dead", count_at_death=0),
        a_node(2, action=CAT, trust="external"),
    )

    text = wordy.text("search_memory", query="cat")

    assert f"[node {a_node(1).node_id}; dead; score" in text
    assert f"[node {a_node(2).node_id}; trust external; score" in text


def test_filters_narrow_a_search(wordy: Minded) -> None:
    wordy.remember(
        a_node(1, action=CAT, cluster_id="c", when=("2026-03-03",)),
        a_node(2, action=CAT, status="dead", count_at_death=0, when=("2026-04-04",)),
    )

    def found(**arguments: Any) -> set[str]:
        lines = wordy.text("search_memory", query="cat", **arguments).splitlines()[1:]
        return {line.partition("[node ")[2][:36][-1] for line in lines}

    assert found() == {"1", "2"}
    assert found(cluster_id="c") == {"1"}
    assert found(status="dead") == {"2"}
    assert found(date_from="2026-04-01") == {"2"}
    assert found(date_to="2026-03-03") == {"1"}
    assert found(date_from="2026-03-03", date_to="2026-03-03") == {"1"}
    with pytest.raises(RefusedError, match="date_from"):
        found(date_from="yesterday")
    with pytest.raises(RefusedError, match=r"'date_from' \(2026-04-01\) is after 'date_to'"):
        found(date_from="2026-04-01", date_to="2026-03-31")


def test_nothing_more_is_said_where_all_is_shown(mind: Minded) -> None:
    mind.remember(*(a_node(each, action=f"the cat slept {each}") for each in range(3)))

    shown = mind.text("search_memory", query="cat", limit=3).splitlines()

    assert len(shown) == 4
    assert "more" not in shown[-1]


def test_the_longest_memories_fit_into_one_answer(wordy: Minded) -> None:
    wordy.remember(*(a_node(each, action="猫" * 600) for each in range(30)))

    text = wordy.text("search_memory", query="猫猫", limit=30)

    assert len(text.encode()) < 61_000
    assert len(text.splitlines()) == 31


@pytest.mark.requirement("003.recall_memory.revival")
def test_a_dead_node_that_is_found_may_come_back(wordy: Minded) -> None:
    living, dead = a_node(1, action=CAT), a_node(2, action=CAT, status="dead", count_at_death=0)
    wordy.remember(living, dead)

    wordy.text("search_memory", query="cat")

    nodes = with_recalls(wordy.table, wordy.being_id, [living.node_id, dead.node_id])
    assert nodes[living.node_id].reactivation_count == 1
    assert nodes[dead.node_id].reactivation_count == 2
    assert nodes[dead.node_id].is_revivable


@pytest.mark.parametrize(
    ("action", "query"),
    [
        ("אנה אפתה עוגת דבש לחג", "עוגת דבש"),
        ("زرعت ليلى شجرة زيتون في الحديقة", "شجرة زيتون"),
        ("Ann 👩‍🍳 ate ラーメン in Köln", "ラーメン"),
        ("🎹 مفتاح and the piano 鍵盤", "鍵盤"),
        ("Анна посадила яблоню", "яблоню"),
    ],
)
def test_every_script_is_found_and_shown_as_it_was_noted(
    mind: Minded, action: str, query: str
) -> None:
    mind.note("Bo paid his taxes", "Cleo painted a wall")
    mind.note(action, actors=["לאה 🌊"], setting="בית")

    for text in (
        mind.text("search_memory", query=query).splitlines()[1],
        mind.text("recall", user_message=action),  # in any order
    ):
        assert f"לאה 🌊: {action} (בית)" in text
