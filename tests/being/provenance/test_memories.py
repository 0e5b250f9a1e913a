"""What is behind a memory: only what is stored, and what happened at its time."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from nacre.being.memory.conversations.captured_message import CapturedMessage
from nacre.being.memory.conversations.captured_store import CapturedConversations
from nacre.being.memory.model.message_chain import ChatMessage
from nacre.being.memory.model.types import Node, SceneText
from nacre.being.provenance.memories import GONE, Sources, why_memory
from nacre.core.errors import NotFoundError
from nacre.core.limits import (
    PROVENANCE_CAUSES,
    PROVENANCE_MERGES,
    PROVENANCE_SCENES,
    PROVENANCE_SECONDS,
    RECEIVED_SECONDS,
)
from nacre.firewall.audit.stored_log import ItemRecords
from tests.being.memory.keeping import a_node, scene_draft
from tests.being.memory.minds import builtin
from tests.being.patrol.stand_in import StandIn
from tests.being.patrol.worlds import World, new_world
from tests.being.provenance.conftest import Told, below, every, fact

WEB: dict[str, Any] = {"trust": "external", "origins": ("agent", "external:web")}


def noted(told: Told, action: str = "Ann fed the cat", **fields: Any) -> str:
    [scene] = told.kept.memory.scenes.record(told.kept.id, [scene_draft(action, **fields)]).scenes
    return scene.scene_id


def remembered(told: Told, *nodes: Node) -> list[str]:
    told.kept.memory.nodes.add(told.kept.id, nodes)
    return [node.node_id for node in nodes]


def test_a_scene_leads_to_the_call_that_wrote_it_and_the_results_before(told: Told) -> None:
    result = told.record("fetch", "web")
    told.record("fetch", "web", principal="tok_2")
    call = told.record("update_notes")
    scene_id = noted(told, **WEB)

    cause = told.why(scene_id)

    assert (cause.kind, cause.id, cause.link) == ("scene", scene_id, "stored")
    assert fact(cause, "origins") == "agent, external:web"
    written = below(cause, "written by")
    assert (written.kind, written.id, written.link) == ("call", call, "time")
    assert (fact(written, "called"), fact(written, "caller")) == ("update_notes", "laptop (tok_1)")
    assert written.unknown == ()
    [received] = written.causes
    assert (received.relation, received.id) == ("after calls to web", result)
    assert (fact(received, "calls"), fact(received, "called")) == ("1", "fetch")


def test_a_call_that_could_not_have_written_it_is_no_cause(told: Told) -> None:
    told.record("update_notes")
    told.clock.move(PROVENANCE_SECONDS + 1)
    told.record("update_notes", outcome="deny")
    told.record("update_notes", outcome="prompt")
    told.record("update_notes", "notes")  # a tool of this name of another server
    told.record("recall")
    scene_id = noted(told)
    told.clock.move(1)
    told.record("update_notes")

    written = below(told.why(scene_id), "written by")

    assert (written.id, written.causes) == ("", ())
    assert written.unknown == ("the audit has no call that fits the time",)


def test_a_denial_that_was_only_monitored_counts_as_made(told: Told) -> None:
    call = told.record("update_notes", outcome="deny", enforced=False)

    assert below(told.why(noted(told)), "written by").id == call


def test_of_several_calls_at_one_time_none_is_chosen(told: Told) -> None:
    calls = [told.record("update_notes", principal=f"tok_{number}") for number in range(5)]

    written = [each for each in told.why(noted(told)).causes if each.relation == "written by"]

    assert [each.id for each in written] == calls[:1:-1]
    assert {each.unknown for each in written} == {
        ("5 calls fit the time; which of them it was is not recorded",)
    }
    assert fact(written[0], "caller") == "tok_4, a token that is no longer listed"


def test_an_origin_without_a_call_is_not_explained(told: Told) -> None:
    told.record("fetch", "mail")
    told.clock.move(2 * RECEIVED_SECONDS)
    told.record("update_notes")

    written = below(told.why(noted(told, **WEB)), "written by")

    assert written.causes == ()
    [unknown] = written.unknown
    assert unknown.startswith("not recorded: how the caller received external:web")


def test_a_captured_message_is_named_with_its_conversation(told: Told) -> None:
    captured = CapturedConversations(told.kept.table, clock=told.clock)
    said = CapturedMessage(
        client="codex", session="s1", role="user", text="I moved to Kiel", at=told.clock(),
        project="boats",
    )  # fmt: skip
    captured.keep(told.kept.id, [said])
    [conversation] = captured.conversations(told.kept.id).conversations
    [message] = captured.messages(told.kept.id, conversation.conversation_id)
    scene_id = noted(told, source="extract", trust="user", evidence=(message.message_id, "GONE"))

    heard, gone = told.why(scene_id).causes

    assert (heard.kind, heard.relation, heard.text) == ("message", "found in", "I moved to Kiel")
    assert heard.conversation == conversation.conversation_id
    assert (fact(heard, "by"), fact(heard, "client")) == ("user", "codex")
    assert (fact(heard, "session"), fact(heard, "project")) == ("s1", "boats")
    assert heard.unknown == ("not recorded: when it was captured, and with which token",)
    assert (gone.id, gone.text, gone.unknown) == ("GONE", "", (GONE,))


def test_a_message_that_was_handed_over_leads_to_the_call(told: Told) -> None:
    call = told.record("trigger_patrol")
    added = told.kept.memory.history.add(told.kept.id, [ChatMessage("user", "I moved to Kiel")])
    scene_id = noted(told, source="extract", evidence=(added.messages[0].message_id,))

    assert below(told.why(scene_id), "found in", "handed over by").id == call


def test_a_correction_shows_the_text_before_and_its_call(told: Told) -> None:
    [node_id] = remembered(told, a_node(1))
    call = told.record("update_memory")
    told.kept.memory.corrections.correct(told.kept.id, node_id, "Bo fed it", by="agent")
    told.clock.move(60)
    text = SceneText(action="Bo fed the cat", actors=("Bo",), when=("2026-07-01",))
    version = told.kept.memory.edits.current(told.kept.id, node_id).version
    told.kept.memory.edits.reword(told.kept.id, node_id, text, version=version)

    cause = told.why(node_id)

    assert cause.text == "[2026-07-01] Bo: Bo fed the cat"
    by_owner, by_agent = cause.causes[:2]
    assert (by_owner.relation, by_owner.causes) == ("corrected by its owner", ())
    assert "Bo fed it" in fact(by_owner, "text before")
    assert "Ann fed cat 1" in fact(by_agent, "text before")
    assert [each.id for each in by_agent.causes] == [call]


def test_an_erased_wording_and_erased_scenes_are_said_to_be_gone(told: Told) -> None:
    wording = json.dumps({"until": "2026-07-02T00:00:00.000Z", "by": "agent", "fields": {}})
    [node_id] = remembered(told, a_node(1, wordings=(wording,)))

    correction, scene = told.why(node_id).causes

    assert (correction.facts, correction.unknown) == ((), ("its wording before was erased",))
    assert (scene.id, scene.text, scene.unknown) == ("SCENE1", "", (GONE,))


def test_a_merge_leads_to_its_sources_and_the_call(told: Told) -> None:
    first, second = (noted(told, text) for text in ("Ann fed the cat", "Ann fed the dog"))
    ids = remembered(
        told,
        a_node(1, evidence=(first,)),
        a_node(2, evidence=(second,), trust="user", origins=("heard",)),
    )
    call = told.record("merge_nodes")
    merge = told.kept.memory.edits.merge(told.kept.id, ids, action="Ann fed both", by="agent")

    cause = told.why(merge.node.node_id)

    assert fact(cause, "merged by") == ""  # nothing stored tells it, and the call is one by time
    assert below(cause, "merged by").id == call
    sources = [each for each in cause.causes if each.relation == "merged from"]
    assert [each.id for each in sources] == sorted(ids)
    assert [below(each, "told by").id for each in sources] == [first, second]
    assert [each for each in cause.causes if each.relation == "told by"] == []
    assert fact(sources[0], "status") == f"merged into {merge.node.node_id}"

    told.kept.memory.edits.undo_merge(told.kept.id, merge.node.node_id)
    assert fact(told.why(merge.node.node_id), "status") == "a merge that was taken back"
    assert fact(told.why(ids[0]), "status") == "active"


@pytest.mark.parametrize(
    ("by", "origins", "named"),
    [
        ("owner", ("agent",), "its owner"),
        ("agent", ("heard",), "an agent"),
        ("agent", ("agent",), "not recorded"),
        ("agent", ("agent", "owner"), "not recorded"),
    ],
)
def test_who_merged_is_named_only_if_the_origins_tell_it(
    at_home: Told, by: Any, origins: tuple[str, ...], named: str
) -> None:
    ids = remembered(at_home, *(a_node(number, origins=origins) for number in (1, 2)))
    merge = at_home.kept.memory.edits.merge(at_home.kept.id, ids, action="both", by=by)

    cause = at_home.why(merge.node.node_id)

    assert fact(cause, "merged by") == named
    calls = [each for each in cause.causes if each.relation == "merged by"]
    assert [each.unknown for each in calls] == (
        [("the audit has no call that fits the time",)] if named == "an agent" else []
    )


def test_vouching_and_corroboration_are_shown(told: Told) -> None:
    tellings = ("agent\nexternal:web", "agent\nexternal:mail")
    origins = ("agent", "external:mail", "external:web")
    node = a_node(1, trust="external", origins=origins, tellings=tellings)
    [node_id] = remembered(told, node)

    cause = told.why(node_id)
    assert fact(cause, "trust of its text") == "agent"
    assert fact(cause, "origins of its text") == "agent, external:web"
    assert fact(cause, "also told by") == "agent, external:mail"
    assert fact(cause, "corroborated") == "an independent source says the same"
    assert fact(cause, "superseded by") == ""

    told.kept.memory.edits.vouch(told.kept.id, node_id, vouched=True, version=node.version)
    cause = told.why(node_id)
    assert below(cause, "vouched for by its owner").unknown == ("not recorded: when",)
    assert fact(cause, "origins of its text") == "owner"


def test_a_hidden_memory_says_by_whom(told: Told) -> None:
    [node_id] = remembered(told, a_node(1))
    told.kept.memory.corrections.hide(told.kept.id, node_id, by="agent")

    assert fact(told.why(node_id), "status") == "hidden by an agent, 2026-07-28"


@pytest.mark.parametrize("id_", ["", "nothing", "../x", "x" * 5000, "\ud800", "a\x00b", "#"])
def test_an_unknown_id_says_what_to_do(told: Told, id_: str) -> None:
    with pytest.raises(NotFoundError, match="has no memory and no scene") as caught:
        told.why(id_)

    assert "nacre audit tail" in str(caught.value)


def test_a_memory_of_another_being_is_unknown(told: Told) -> None:
    [node_id] = remembered(told, a_node(1))

    with pytest.raises(NotFoundError):
        why_memory(told.sources, told.kept.another("Opal"), node_id)


# Bounds.


def test_a_memory_told_often_shows_some_scenes_and_counts_the_others(told: Told) -> None:
    evidence = tuple(f"TOLD{number}" for number in range(600))
    [node_id] = remembered(told, a_node(1, evidence=evidence))

    cause = told.why(node_id)

    assert fact(cause, "told by") == "600 scenes"
    assert [each.id for each in cause.causes] == list(evidence[:PROVENANCE_SCENES])
    assert cause.more == 600 - PROVENANCE_SCENES


def test_merges_of_merges_are_followed_so_far(at_home: Told) -> None:
    deepest = PROVENANCE_MERGES + 2
    [node_id, *others] = remembered(at_home, *(a_node(number) for number in range(deepest + 1)))
    for other in others:
        pair = [node_id, other]
        merge = at_home.kept.memory.edits.merge(at_home.kept.id, pair, action="more")
        node_id = merge.node.node_id

    cause, depth = at_home.why(node_id), 0
    while deeper := [each for each in cause.causes if len(each.causes) > 1 or each.unknown]:
        merges = [each for each in deeper if each.relation == "merged from"]
        if not merges:
            break
        cause, depth = merges[0], depth + 1

    assert depth == PROVENANCE_MERGES
    assert cause.unknown == ("the memories that it was merged from are not followed further",)


def test_a_circle_of_merges_ends(at_home: Told) -> None:
    first, second = a_node(1), a_node(2)
    remembered(
        at_home,
        replace(first, parents=(second.node_id,)),
        replace(second, parents=(first.node_id, second.node_id)),
    )

    causes = every(at_home.why(first.node_id))

    again = [each for each in causes if each.unknown == ("it is shown above",)]
    assert {each.id for each in again} == {first.node_id, second.node_id}
    assert len(causes) < 10


def test_an_answer_has_so_many_causes(at_home: Told) -> None:
    kept = at_home.kept
    nodes = []
    for number in range(30):
        drafts = [scene_draft(f"Ann fed cat {number} {place}") for place in range(20)]
        scenes = kept.memory.scenes.record(kept.id, drafts).scenes
        nodes.append(a_node(number, evidence=tuple(scene.scene_id for scene in scenes)))
    ids = remembered(at_home, *nodes)
    merges = []
    for start in range(0, 30, 6):
        merge = kept.memory.edits.merge(kept.id, ids[start : start + 6], action=f"{start}")
        merges.append(merge.node.node_id)
    merge = kept.memory.edits.merge(kept.id, merges, action="all")

    causes = every(at_home.why(merge.node.node_id))

    assert len(causes) <= 2 * PROVENANCE_CAUSES + 2  # a call that is not known is no cause
    assert sum(each.kind == "scene" for each in causes) < 600
    assert sum(each.more for each in causes) > 0
    assert causes[0].unknown == ("not everything is shown: one answer has 200 causes",)


@pytest.mark.parametrize(
    "moment", ["", "x", "0001-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z", "2026-07-01"]
)
def test_a_moment_that_an_import_made_up_is_no_failure(at_home: Told, moment: str) -> None:
    at_home.record("update_notes")
    wording = json.dumps({"until": moment, "by": "agent", "fields": {"action": "before"}})
    node = a_node(1, wordings=(wording,), created_at=moment, parents=(a_node(2).node_id,))
    scene_id = noted(at_home)
    [scene] = at_home.kept.memory.scenes.get_many(at_home.kept.id, [scene_id]).values()
    at_home.kept.table.put(replace(scene, created_at=moment).to_item(at_home.kept.id))
    remembered(at_home, replace(node, evidence=(scene_id,)))

    cause = at_home.why(node.node_id)

    assert "text before" in dict(below(cause, "corrected by an agent").facts)
    assert below(cause, "told by").id == scene_id
    assert cause.unknown[0].startswith("1 of the 1 memories that it was merged from")


def test_ten_thousand_memories_cost_nothing(at_home: Told) -> None:
    """The number of reads is that of one memory, however many others there are."""
    kept = at_home.kept
    scene_id = noted(at_home)
    [node_id] = remembered(at_home, a_node(1, evidence=(scene_id,)))
    counting = Reads(kept.table)
    sources = replace(
        at_home.sources,
        table=counting,
        records=ItemRecords(counting, kept.id, clock=at_home.clock),
    )

    why_memory(sources, kept.id, node_id)
    few = counting.reads
    for number in range(2, 10_002):
        kept.table.put(a_node(number).to_item(kept.id))
    counting.reads = 0
    why_memory(sources, kept.id, node_id)

    assert 0 < counting.reads == few


class Reads:
    """A table that counts how often it is read."""

    def __init__(self, table: Any) -> None:
        self._table = table
        self.reads = 0

    def __getattr__(self, name: str) -> Any:
        self.reads += name in ("get", "get_many", "query")
        return getattr(self._table, name)


# Patrols.


@pytest.fixture
def world() -> Iterator[World]:
    new = new_world(builtin()[0], StandIn())
    yield new
    new.database.close()


def of_world(world: World, id_: str) -> Any:
    records = ItemRecords(world.table, world.being_id, clock=world.clock)
    return why_memory(Sources(world.table, world.memory, records, {}), world.being_id, id_)


def test_a_patrol_that_took_a_scene_is_named(world: World) -> None:
    world.note("Bob sold his boat")
    receipt = world.run()
    [node] = world.memory.nodes.page(world.being_id).nodes

    run = below(of_world(world, node.node_id), "told by", "taken by")

    assert (run.kind, run.id, run.at) == ("patrol run", receipt.run_id, receipt.started)
    assert (fact(run, "number"), fact(run, "language model")) == ("1", "stand-in")


def test_a_patrol_that_found_and_merged_is_named(world: World) -> None:
    for number in range(3):
        world.note(f"Ann fed the cat {number}")
    world.clock.move(60)
    receipts = [world.run()]
    merged = [node for node in world.memory.nodes.page(world.being_id).nodes if node.parents]
    assert merged, "the stand-in merges these"

    cause = of_world(world, merged[0].node_id)

    assert fact(cause, "merged by") == "a patrol"
    assert below(cause, "merged by").id == receipts[0].run_id
    assert len([each for each in cause.causes if each.relation == "merged from"]) == len(
        merged[0].parents
    )
