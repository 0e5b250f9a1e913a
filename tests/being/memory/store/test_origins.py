"""Origins through changes of stored memories: corrections, merges, vouching and erasing."""

from dataclasses import replace
from typing import Any

import pytest

from nacre.being.memory.model.lineage import is_vouched, origins_of, standing_of, tellings_of
from nacre.being.memory.model.types import Node, SceneText
from nacre.core.errors import ConflictError, InvalidInputError
from nacre.core.origins import external, texts_of
from tests.being.memory.keeping import Keeper, a_node

REPORTED: dict[str, Any] = {"trust": "external", "origins": ("agent", "external:web")}
WORDS = SceneText(action="Bo fed it", actors=("Ann",), when=("2026-07-01",))


def add(kept: Keeper, *nodes: Node) -> list[str]:
    kept.memory.nodes.add(kept.id, nodes)
    return [node.node_id for node in nodes]


def now(kept: Keeper, node_id: str) -> Node:
    node = kept.memory.nodes.get(kept.id, node_id)
    assert node is not None
    return node


def origins(node: Node) -> list[str]:
    return list(texts_of(origins_of(node)))


def test_a_merge_and_its_undoing_keep_the_origins(kept: Keeper) -> None:
    ids = add(kept, a_node(1), a_node(2, **REPORTED))

    merge = kept.memory.edits.merge(kept.id, ids, action="both", by="agent")

    assert origins(now(kept, merge.node.node_id)) == ["agent", "external:web"]
    assert merge.node.trust == standing_of(merge.node) == "external"
    kept.memory.edits.undo_merge(kept.id, merge.node.node_id)
    assert [origins(now(kept, node_id)) for node_id in ids] == [
        ["agent"],
        ["agent", "external:web"],
    ]


def test_what_a_merge_was_told_later_stays_with_its_strongest_source(kept: Keeper) -> None:
    ids = add(kept, a_node(1, importance=0.9), a_node(2, importance=0.1))
    merged = kept.memory.edits.merge(kept.id, ids, action="both", by="agent").node
    later = replace(
        merged,
        evidence=(*merged.evidence, "SCENE9"),
        tellings=("agent", "agent\nexternal:web"),
        **REPORTED,
    )
    kept.table.put(later.to_item(kept.id))

    kept.memory.edits.undo_merge(kept.id, merged.node_id)

    strongest, other = (now(kept, node_id) for node_id in ids)
    assert origins(strongest) == ["agent", "external:web"]
    assert strongest.trust == "external"
    assert standing_of(strongest) == "agent", "the other telling was an echo"
    assert origins(other) == ["agent"]


def test_an_owner_vouches_on_either_store(kept: Keeper) -> None:
    [node_id] = add(kept, a_node(1, **REPORTED))

    vouched = kept.memory.edits.vouch(kept.id, node_id, vouched=True, version=1)

    assert vouched == now(kept, node_id)
    assert (standing_of(vouched), origins(vouched)) == (
        "user",
        ["agent", "external:web", "owner"],
    )
    again = kept.memory.edits.vouch(kept.id, node_id, vouched=True, version=2)
    assert again.version == 2, "nothing changed"
    taken_back = kept.memory.edits.vouch(kept.id, node_id, vouched=False, version=2)
    assert replace(taken_back, version=1) == a_node(1, **REPORTED)


def test_nobody_vouches_for_a_text_that_they_have_not_read(kept: Keeper) -> None:
    [node_id] = add(kept, a_node(1, **REPORTED))
    kept.memory.corrections.correct(kept.id, node_id, "Ann fed the bank robber", by="agent")

    with pytest.raises(ConflictError, match="changed meanwhile"):
        kept.memory.edits.vouch(kept.id, node_id, vouched=True, version=1)

    assert not is_vouched(now(kept, node_id))


def test_nobody_vouches_for_what_is_hidden_or_merged(kept: Keeper) -> None:
    one, two, three = add(kept, a_node(1), a_node(2), a_node(3, **REPORTED))
    kept.memory.edits.merge(kept.id, [one, two], action="both")
    kept.memory.corrections.hide(kept.id, three, by="owner")

    for node_id, expected in ((one, "merged into"), (three, "hidden")):
        version = now(kept, node_id).version
        with pytest.raises(InvalidInputError, match=expected):
            kept.memory.edits.vouch(kept.id, node_id, vouched=True, version=version)


def test_an_agents_correction_ends_a_vouching_and_undoing_it_brings_it_back(kept: Keeper) -> None:
    [node_id] = add(kept, a_node(1, **REPORTED))
    kept.memory.edits.vouch(kept.id, node_id, vouched=True, version=1)
    corrections = kept.memory.corrections

    corrections.correct(kept.id, node_id, "x", by="agent", origins=[external("mail")])
    corrected = now(kept, node_id)
    assert (is_vouched(corrected), standing_of(corrected)) == (False, "external")
    assert "external:mail" in origins(corrected)

    corrections.take_back(kept.id, node_id, by="agent")
    assert is_vouched(now(kept, node_id))
    assert "external:mail" not in origins(now(kept, node_id))


def test_undoing_a_correction_keeps_the_origins_of_what_was_told_since(kept: Keeper) -> None:
    [node_id] = add(kept, a_node(1))
    kept.memory.corrections.correct(kept.id, node_id, "x", by="agent", origins=[external("web")])
    told = now(kept, node_id)
    kept.table.put(replace(told, evidence=(*told.evidence, "SCENE9")).to_item(kept.id))

    after = kept.memory.corrections.take_back(kept.id, node_id, by="agent")

    assert (after.action, origins(after)) == (a_node(1).action, ["agent", "external:web"])


def test_an_owners_words_join_the_origins_and_vouch_for_nothing(kept: Keeper) -> None:
    [node_id] = add(kept, a_node(1, **REPORTED))

    after = kept.memory.edits.reword(kept.id, node_id, WORDS, version=1)

    assert origins(after) == ["agent", "external:web", "owner"]
    assert (standing_of(after), tellings_of(after)) == ("external", (origins_of(after),))
