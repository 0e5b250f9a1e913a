import re
from dataclasses import replace
from typing import Any

import pytest

from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import CLOCK
from nacre.being.memory.model.forgetting_curve import initial_stability, retention
from nacre.being.memory.model.lifetime import lifetime
from nacre.being.memory.model.message_chain import ChatMessage
from nacre.being.memory.model.types import Cluster, Node
from nacre.ports.items.table import Change
from tests.being.memory.keeping import a_node
from tests.being.memory.minds import Minded, RefusedError
from tests.being.memory.recalls import with_recalls

NOWHERE = "00000000-0000-4000-8000-00000000000f"


def cluster(mind: Minded, number: int, **fields: object) -> Cluster:
    made = replace(
        Cluster(
            cluster_id=f"10000000-0000-4000-8000-{number:012}",
            created_at="2026-07-01T10:00:00.000Z",
            label=f"Cats {number}",
            digest=f"What the cats did, part {number}.",
            n_active=number,
            themes=("cats",),
            first_day="2026-01-01",
            last_day="2026-07-01",
        ),
        **fields,  # type: ignore[arg-type]
    )
    mind.mind.memory.clusters.add(mind.being_id, made)
    return made


@pytest.mark.requirement("003.recall_memory.clusters")
def test_without_ids_the_clusters_are_listed_the_largest_first(mind: Minded) -> None:
    small, large = cluster(mind, 1), cluster(mind, 2)
    cluster(mind, 3, state="retired")
    mind.note("a scene that waits")

    assert mind.text("recall_memory").splitlines() == [
        "2 clusters; 1 scene waits for the next patrol; search_memory finds it",
        f"- Cats 2 [cluster {large.cluster_id}; 2 active nodes; 2026-01-01 to 2026-07-01; cats]",
        f"- Cats 1 [cluster {small.cluster_id}; 1 active node; 2026-01-01 to 2026-07-01; cats]",
    ]
    assert "Cats 1" not in mind.text("recall_memory", query="part 2")


def test_many_clusters_come_in_pages_that_say_so(wordy: Minded) -> None:
    for number in range(60):
        cluster(wordy, number)

    first, second = wordy.text("recall_memory"), wordy.text("recall_memory", page=2)

    assert first.splitlines()[-1] == "… 10 more; next: page=2"
    assert len(second.splitlines()) == 11
    assert wordy.text("recall_memory", page=3).splitlines()[-1] == (
        "page 3 is empty; the last one is 2"
    )


@pytest.mark.requirement("003.recall_memory.cluster")
def test_a_cluster_shows_its_digest_and_its_strongest_nodes(mind: Minded) -> None:
    made = cluster(mind, 1)
    mind.remember(
        *(
            a_node(each, action=f"cat {each}", cluster_id=made.cluster_id, importance=each / 10)
            for each in range(7)
        ),
        a_node(8, action="cat 8", cluster_id=made.cluster_id, status="dead", count_at_death=0),
        a_node(9, action="elsewhere"),
    )

    shown = mind.text("recall_memory", cluster_id=made.cluster_id).splitlines()

    assert shown[:3] == [
        f"Cats 1 [cluster {made.cluster_id}; 1 active node; 2026-01-01 to 2026-07-01; cats]",
        made.digest,
        "Nodes: 8",
    ]
    assert [line.split(": ")[1][:5] for line in shown[3:8]] == [f"cat {n}" for n in range(6, 1, -1)]
    assert shown[8] == "… 3 more; next: page=2"
    second = mind.text("recall_memory", cluster_id=made.cluster_id, page=2)
    assert "cat 8 [node" in second
    assert "; dead;" in second.splitlines()[-1]
    assert len(mind.text("recall_memory", cluster_id=made.cluster_id, limit=2).splitlines()) == 6


@pytest.mark.requirement("003.recall_memory.cluster")
def test_a_query_filters_by_action_and_no_nodes_shows_the_digest_only(mind: Minded) -> None:
    made = cluster(mind, 1)
    for number, action in enumerate(("Black cat", "white cat")):
        mind.remember(a_node(number, action=action, cluster_id=made.cluster_id, actors=("Black",)))

    filtered = mind.text("recall_memory", cluster_id=made.cluster_id, query="BLACK CAT")
    bare = mind.text("recall_memory", cluster_id=made.cluster_id, no_nodes=True)

    assert "Black cat" in filtered
    assert "white cat" not in filtered
    assert bare.splitlines()[1:] == [made.digest]


@pytest.mark.requirement("003.recall_memory.node")
def test_a_node_is_explained_down_to_the_messages(mind: Minded) -> None:
    memory = mind.mind.memory
    memory.history.add(mind.being_id, [ChatMessage("user", "I fed the cat today")])
    [message] = memory.history.search(mind.being_id, limit=1).messages
    [scene_id] = mind.note("Bo fed the cat")
    scene = memory.scenes.get_many(mind.being_id, [scene_id])[scene_id]
    consumed = replace(scene, status="consumed", evidence=(message.message_id, "GONE"))
    mind.table.put(consumed.to_item(mind.being_id))
    node = a_node(1, action="Bo fed the cat", evidence=(scene_id, "LOST"), themes=("cats",))
    mind.remember(node)

    lines = mind.text("recall_memory", node_id=node.node_id).splitlines()

    assert lines == [
        "[2026-07-01] Ann: Bo fed the cat",
        f"node_id: {node.node_id}",
        "status: active",
        "importance 0.50; trust agent",
        "origins: agent",
        "not recalled and not noted again so far",
        "cluster: none yet",
        "themes: cats",
        "strength 1.00: its stability is 16.0 active days, and it was last strengthened today"
        " (active day 0, now 0)",
        "it fades (below 0.6) on active day 122, in 122 active days, and is forgotten (below 0.5)"
        " on active day 205, in 205 active days, unless it is recalled or noted again: that puts"
        " it off, and the more the longer it was not; an active day is one on which a patrol had"
        " something to take in",
        "Made of 2 scenes:",
        f"- {scene_id}: [2026-07-01] Ann: Bo fed the cat [tool, trust agent, noted 2026-07-28]",
        "- LOST: no longer kept",
        "Said in 2 messages:",
        f"- {message.message_id}: {message.ts} user: I fed the cat today",
        "- GONE: no longer kept",
    ]


@pytest.mark.requirement("003.recall_memory.revival")
def test_reading_a_dead_node_counts_twice(mind: Minded) -> None:
    node = a_node(1, status="dead", count_at_death=0)
    mind.remember(node)

    assert "status: dead" in mind.text("recall_memory", node_id=node.node_id)

    kept = with_recalls(mind.table, mind.being_id, [node.node_id])[node.node_id]
    assert (kept.reactivation_count, kept.is_revivable) == (2, True)


def test_what_became_of_a_node_is_told(wordy: Minded) -> None:
    wordy.remember(
        a_node(1, status="merged", merged_into=NOWHERE),
        a_node(2, parents=(a_node(1).node_id,), superseded_by=NOWHERE, pinned=True),
    )

    merged = wordy.text("recall_memory", node_id=a_node(1).node_id)
    merging = wordy.text("recall_memory", node_id=a_node(2).node_id)

    assert f"merged into: {NOWHERE}" in merged
    assert f"merged from: {a_node(1).node_id}" in merging
    assert f"superseded by: {NOWHERE}" in merging
    assert "pinned" in merging


def explained(mind: Minded, node: Node, day: int = 0) -> str:
    mind.remember(node)
    mind.table.update(keys.meta(mind.being_id), Change(set={CLOCK: day}))
    return mind.text("recall_memory", read_only=True, node_id=node.node_id)


@pytest.mark.parametrize(
    ("fields", "day", "expected"),
    [
        ({}, 100, "strength 0.64: its stability is 16.0 active days, and it was last strengthened"
                  " 100 active days ago (active day 0, now 100)"),
        ({"status": "dying"}, 130, "it fades (below 0.6) since active day 122, and is forgotten"
                                   " (below 0.5) on active day 205, in 75 active days"),
        ({"status": "dying"}, 205, "is forgotten at the next patrol"),
        ({"reactivation_count": 2, "reactivation_done": 1}, 16,
         "recalls and repeated notes since it was last strengthened: 1; the next patrol raises its"
         " stability to about 20.0"),
        ({"pinned": True}, 300, "it is pinned, so it is never forgotten"),
        ({"status": "dead", "count_at_death": 0}, 300,
         "forgotten; recalled 2 times more, or noted again, it comes back with the next patrol"),
        ({"status": "dead", "count_at_death": 0, "reactivation_count": 2}, 300,
         "it was asked for again, and the next patrol brings it back"),
        ({"status": "dead", "reason": "undone"}, 300, "its merge was taken back: it stays dead"),
        ({"status": "merged", "merged_into": NOWHERE}, 300,
         f"merged into: {NOWHERE}, which stands for it now"),
        ({"superseded_by": NOWHERE}, 1,
         f"superseded by: {NOWHERE}; it held, is kept, and is left out of"),
    ],
)  # fmt: skip
def test_why_a_node_is_as_strong_as_it_is_and_when_it_would_end_is_told(
    wordy: Minded, fields: dict[str, Any], day: int, expected: str
) -> None:
    assert expected in explained(wordy, a_node(1, **fields), day)


def test_what_stands_for_others_or_is_gone_has_no_end(wordy: Minded) -> None:
    told = explained(wordy, a_node(1, status="merged", merged_into=NOWHERE), 300)

    assert "fades" not in told
    assert "strength" not in told


def test_the_days_that_are_told_are_those_on_which_it_happens() -> None:
    for importance in (0.0, 0.25, 0.5, 0.75, 1.0):
        node = a_node(1, stability=initial_stability(importance))
        told = " ".join(lifetime(node, 0))
        [fades, dies] = map(int, re.findall(r"on active day (\d+)", told))

        assert retention(fades - 1, node.stability) >= 0.6 > retention(fades, node.stability)
        assert retention(dies - 1, node.stability) >= 0.5 > retention(dies, node.stability)


def test_the_memories_that_one_was_merged_from_are_named_and_told(wordy: Minded) -> None:
    wordy.remember(a_node(1, action="Ann fed the cat", status="merged", merged_into=NOWHERE))
    told = explained(wordy, a_node(2, parents=(a_node(1).node_id,)))

    assert f"merged from: {a_node(1).node_id}\n" in told
    assert f"- {a_node(1).node_id}: [2026-07-01] Ann: Ann fed the cat" in told


@pytest.mark.parametrize("argument", ["cluster_id", "node_id"])
def test_ids_that_do_not_exist_or_are_anothers_are_not_found(mind: Minded, argument: str) -> None:
    other = mind.beings.create("Other", owner="me").being_id
    mind.mind.memory.nodes.add(other, [a_node(1)])
    for wrong in (NOWHERE, a_node(1).node_id, "x", "B#1", "\U0001f431"):
        arguments: Any = {argument: wrong}
        with pytest.raises(RefusedError, match="there is no such"):
            mind.call("recall_memory", **arguments)
    with pytest.raises(RefusedError, match="limit"):
        mind.text("recall_memory", limit=0)


def test_similar_memories_are_listed_from_both_sides(mind: Minded) -> None:
    loan = a_node(1, action="Ann lent Bob 200 euros", cluster_id="c")
    debt = a_node(2, action="Bob lent Ann 200 euros", cluster_id="c", similar=(loan.node_id,))
    mind.remember(loan, debt, a_node(3, action="Ann fed the cat", cluster_id="c"))

    for one, other in ((loan, debt), (debt, loan)):
        lines = mind.text("recall_memory", node_id=one.node_id).splitlines()
        place = lines.index("similar memories, not the same:")
        assert other.action in lines[place + 1]
        assert "cat" not in lines[place + 2]
    assert "similar" not in mind.text("recall_memory", node_id=a_node(3).node_id)


def test_of_a_memory_that_was_told_often_the_first_scenes_and_their_number_are_shown(
    mind: Minded,
) -> None:
    node = a_node(1, evidence=tuple(f"TOLD{number}" for number in range(600)))
    mind.remember(node)

    lines = mind.text("recall_memory", node_id=node.node_id).splitlines()

    assert lines[lines.index("Made of 600 scenes:") :] == [
        "Made of 600 scenes:",
        *(f"- TOLD{number}: no longer kept" for number in range(20)),
        "… 580 more scenes",
    ]
