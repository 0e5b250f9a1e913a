"""A patrol turns notes into memories, and leaves others alone."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from nacre.being.memory.conversations.captured_message import CapturedMessage
from nacre.being.memory.conversations.captured_store import CapturedConversations
from nacre.being.memory.model import keys
from nacre.being.memory.model import size_limit as room
from nacre.being.memory.model.message_chain import ChatMessage
from nacre.being.memory.model.types import Node
from nacre.being.memory.store.clusters import marking_dirty
from nacre.being.memory.store.diary import think_notes
from nacre.being.patrol.patrol import Patrol
from nacre.being.patrol.planning import prompt_text
from nacre.being.patrol.run.runs import Receipt, run_id_of
from nacre.being.patrol.steps import split_clusters
from nacre.core.errors import InvalidInputError, NotFoundError, UnavailableError
from nacre.core.limits import PATROL_REFUSALS
from nacre.jobs.lease import Lease
from nacre.ports.items.table import Change, Key
from nacre.ports.vectors.embedder import Vector
from tests.being.memory.minds import builtin
from tests.being.patrol.invariants import check
from tests.being.patrol.stand_in import Refusing, StandIn
from tests.being.patrol.worlds import World, new_world


@pytest.fixture
def world() -> Iterator[World]:
    new = new_world(builtin()[0])
    yield new
    new.database.close()


@pytest.fixture
def planned_world() -> Iterator[World]:
    new = new_world(builtin()[0], StandIn())
    yield new
    new.database.close()


def nodes(world: World) -> dict[str, Node]:
    return {n.action: n for n in world.memory.nodes.page(world.being_id).nodes}


def sound(world: World) -> None:
    assert world.embedder is not None
    check(world.items(), world.being_id, emb_id=world.embedder.emb_id)


def test_scenes_become_memories_and_wait_no_more(world: World) -> None:
    world.note("Ann fed the cat", "Bob sold his boat", importance=0.5)
    receipt = world.run()

    assert (receipt.state, receipt.clock, receipt.backlog) == ("done", 1, 0)
    assert receipt.counts == {"scenes_taken": 2, "nodes_created": 2, "renewed": 2}
    assert receipt.run_id == run_id_of(world.being_id, 1)
    assert set(nodes(world)) == {"Ann fed the cat", "Bob sold his boat"}
    fed = nodes(world)["Ann fed the cat"]
    assert (fed.stability, fed.clock0, fed.due) == (16.0, 1, 123)
    assert world.memory.scenes.pending(world.being_id).scenes == ()
    sound(world)


def test_the_same_event_on_another_day_is_evidence_and_no_second_memory(world: World) -> None:
    world.note("Ann fed the cat")
    world.run()
    world.note("Ann fed the cat.", when=["2026-07-05"], importance=0.9)
    world.note("Ann fed the cat", "Ann did not feed the cat", "Ann fed 2 cats", "Ann fed the dog")
    receipt = world.run()

    fed = nodes(world)["Ann fed the cat"]
    assert (receipt.counts["evidence_added"], receipt.counts["nodes_created"]) == (2, 3)
    assert (len(fed.evidence), fed.when, fed.importance) == (
        3,
        ("2026-07-01", "2026-07-05"),
        0.9,
    )
    sound(world)


def test_a_scene_of_others_is_trusted_less_and_another_actor_is_another_event(
    world: World,
) -> None:
    world.note("fed the cat")
    world.run()
    world.note("fed the cat", actors=["Bob"])
    world.note("fed the cat", when=["2026-07-02"], trust="external")
    world.run()

    assert {(n.actors, n.trust) for n in world.memory.nodes.page(world.being_id).nodes} == {
        (("Ann",), "external"),
        (("Bob",), "agent"),
    }
    sound(world)


def test_a_scene_that_cannot_be_a_memory_is_kept_and_says_why(world: World) -> None:
    world.note("Ann fed the cat")
    [scene] = world.memory.scenes.pending(world.being_id).scenes
    broken = replace(scene, when=())
    world.table.put(broken.to_item(world.being_id))
    receipt = world.run()

    stored = world.memory.scenes.get_many(world.being_id, [scene.scene_id])[scene.scene_id]
    assert (stored.status, stored.reason) == (
        "invalid",
        "'scene.when' needs at least one date, written YYYY-MM-DD",
    )
    assert receipt.counts["invalid"] == 1
    sound(world)


def test_only_days_on_which_the_being_was_used_count(world: World) -> None:
    clocks: list[int] = []
    for _ in range(2):
        world.note(f"event {len(clocks)}")
        clocks.append(world.run().clock)
    world.clock.move(86_400)
    clocks.append(world.run().clock)  # nothing was noted
    world.note("another event")
    clocks.append(world.run().clock)

    assert clocks == [1, 1, 1, 2]


def test_what_is_not_recalled_fades_dies_and_comes_back_when_asked_for(world: World) -> None:
    world.note("Ann fed the cat", "Bob sold his boat", importance=0.0)
    world.run()
    fed, sold = nodes(world)["Ann fed the cat"], nodes(world)["Bob sold his boat"]
    world.age(32)
    world.memory.recalls.add(world.being_id, {sold.node_id: 1})
    first = world.run().counts
    world.age(20)
    second = world.run().counts
    dead = nodes(world)["Ann fed the cat"]

    assert (first["dying"], first["refreshed"]) == (1, 1)
    assert second["dead"] == 1
    assert (dead.status, nodes(world)["Bob sold his boat"].status) == ("dead", "active")
    sound(world)

    world.memory.recalls.add(world.being_id, {fed.node_id: 2})
    third = world.run()
    back = nodes(world)["Ann fed the cat"]
    assert third.counts["revived"] == 1
    assert (back.status, back.stability, back.clock0) == ("active", 6.0, third.clock)
    sound(world)


def test_a_pinned_memory_never_fades(world: World) -> None:
    world.note("Ann fed the cat", importance=0.0)
    world.run()
    node = nodes(world)["Ann fed the cat"]
    pinned = replace(node, pinned=True, version=node.version + 1)
    world.table.put(pinned.to_item(world.being_id))
    world.age(5000)
    world.run()

    assert nodes(world)["Ann fed the cat"].status == "active"


def test_the_tenth_scene_during_a_run_is_sent_for_at_its_end(world: World) -> None:
    world.note(*(f"event {number}" for number in range(10)))
    world.memory.trigger.after_scenes(world.being_id)
    message = world.queue.receive()
    assert message is not None
    world.queue.done(message)

    came: list[bool] = []

    def more() -> None:
        if came:
            return
        came.append(True)
        world.note(*(f"later event {number}" for number in range(11)))
        assert world.memory.trigger.after_scenes(world.being_id).patrol == "queued before"

    world.table.before_write = more
    receipt = world.run()
    assert receipt.backlog == 11
    assert world.queue.depth().waiting == 1
    assert world.run().backlog == 0


def test_after_a_run_the_tenth_scene_fires_at_once(world: World) -> None:
    world.memory.trigger.ask(world.being_id)
    world.note("event 0")
    world.run()
    world.note(*(f"event {number}" for number in range(1, 11)))

    assert world.memory.trigger.after_scenes(world.being_id).patrol == "queued"


class Failing:
    """An Embedder that answers only while it is up."""

    def __init__(self) -> None:
        self._embedder = builtin()[0]
        self.emb_id, self.dimension = self._embedder.emb_id, self._embedder.dimension
        self.is_down = False

    def documents(self, texts: Sequence[str]) -> list[Vector]:
        if self.is_down:
            raise UnavailableError("no model now")
        return self._embedder.documents(texts)

    def query(self, text: str) -> Vector:
        return self.documents([text])[0]


def test_without_the_embedder_scenes_wait_and_the_next_run_goes_on() -> None:
    embedder = Failing()
    world = new_world(embedder)
    embedder.is_down = True
    world.note("Ann fed the cat", "Bob sold his boat")
    blocked = world.run()

    assert blocked.state == "blocked"
    assert blocked.reasons == ("blocked: the embedding model does not answer",)
    assert len(world.memory.scenes.pending(world.being_id).scenes) == 2
    assert nodes(world) == {}

    embedder.is_down = False
    world.clock.move(60)
    receipt = world.run()
    assert (receipt.run_id, receipt.state, receipt.started) == (
        blocked.run_id,
        "done",
        blocked.started,
    )
    assert receipt.counts["nodes_created"] == 2
    check(world.items(), world.being_id, emb_id=embedder.emb_id)
    world.database.close()


def test_a_model_merges_supersedes_describes_and_writes_the_diary(planned_world: World) -> None:
    planned_world.note("the cat caught a mouse in the cellar", "the cat caught a mouse in the barn")
    planned_world.note("the cat caught a mouse in the attic", "Bob sold his boat")
    receipt = planned_world.run()

    assert receipt.model == "stand-in"
    assert (receipt.counts["merged"], receipt.counts["superseded"]) == (2, 1)
    assert receipt.tokens == {"input": 21, "output": 9}
    [diary] = [
        item for item in planned_world.items() if str(item["sk"]).startswith("DIARY#2026-07-28")
    ]
    assert "4 things happened" in str(diary)
    assert len(think_notes(planned_world.table, planned_world.being_id)) == 1
    sound(planned_world)

    report = planned_world.patrol.undo(planned_world.being_id, receipt.run_id)
    assert len(report.undone) == 2
    assert report.not_undone == {}
    merged_nodes = nodes(planned_world)
    assert all(n.superseded_by is None for n in merged_nodes.values())
    assert [n.status for n in merged_nodes.values()].count("active") == 4
    assert planned_world.patrol.undo(planned_world.being_id, receipt.run_id).undone == ()


def test_a_model_that_fails_changes_nothing_and_is_asked_again(planned_world: World) -> None:
    model = StandIn(silent=frozenset({"consolidate", "digest", "diary", "think", "split"}))
    planned_world.planner = model
    planned_world.note("the cat caught a mouse in the cellar", "the cat caught a mouse in the barn")
    receipt = planned_world.run()

    assert receipt.state == "done"
    assert "merged" not in receipt.counts
    assert "consolidation: the model does not answer" in receipt.reasons
    planned_world.planner = StandIn()
    planned_world.note("the cat caught a mouse in the attic")
    assert planned_world.run().counts["merged"] == 2
    sound(planned_world)


def test_messages_become_scenes_with_a_model_and_history_without(planned_world: World) -> None:
    batch = [
        ChatMessage("user", "Dan planted a pear tree"),
        ChatMessage("assistant", "Eve baked rye bread"),
    ]
    planned_world.memory.history.add(planned_world.being_id, batch, for_patrol=True)
    receipt = planned_world.run()

    assert (receipt.counts["messages_read"], receipt.counts["scenes_created"]) == (2, 2)
    assert {(n.action, n.trust) for n in nodes(planned_world).values()} == {
        ("Dan planted a pear tree", "user"),
        ("Eve baked rye bread", "agent"),
    }
    assert receipt.marker_out is not None
    assert planned_world.memory.trigger.pending(planned_world.being_id) == (0, 0)
    sound(planned_world)

    planned_world.planner = None
    planned_world.memory.history.add(
        planned_world.being_id, [ChatMessage("user", "hello")], for_patrol=True
    )
    second = planned_world.run()
    assert second.counts == {"messages_read": 1}
    assert "no_llm: extraction skipped" in second.reasons
    assert second.marker_in == receipt.marker_out
    assert planned_world.memory.trigger.pending(planned_world.being_id) == (0, 0)


def said(world: World, *messages: str, role: str = "user") -> Receipt:
    """Hand messages to a patrol that has no model, and return its receipt."""
    batch = [ChatMessage(role, message) for message in messages]
    world.memory.history.add(world.being_id, batch, for_patrol=True)
    return world.run()


def hearing(world: World, facts: int, captured: int = 0) -> World:
    """Return the world with a patrol that may hear so many facts a day."""
    world.patrol = Patrol(
        world.table,
        world.queue,
        world.memory,
        world.indexing,
        clock=world.clock,
        heard_facts=facts,
        captured_facts=captured,
    )
    return world


def test_without_consent_messages_stay_in_the_history_only(world: World) -> None:
    receipt = said(world, "I live in Porto with my two sons.")

    assert receipt.counts == {"messages_read": 1}
    assert nodes(world) == {}


def test_without_a_model_rules_hear_what_users_say_about_themselves(world: World) -> None:
    hearing(world, 20)

    receipt = said(
        world,
        "I live in Porto with my two sons. Can you find us a flat?",
        "Yesterday I sold my boat in Faro.",
        "My password is hunter2 and I use it everywhere.",
        "<memory-recall>I adopted a grey cat in May</memory-recall>",
    )

    assert receipt.counts["facts_heard"] == 2
    assert receipt.counts["messages_read"] == 4
    today = world.clock().date()
    heard = {node.action: node for node in nodes(world).values()}
    assert set(heard) == {"I live in Porto with my two sons", "Yesterday I sold my boat in Faro"}
    home = heard["I live in Porto with my two sons"]
    assert (home.actors, home.themes, home.trust) == (("user",), ("heard",), "user")
    assert home.when == (today.isoformat(),)
    assert len(home.evidence) == 1
    boat = heard["Yesterday I sold my boat in Faro"]
    assert boat.when == ((today - timedelta(days=1)).isoformat(),)
    sound(world)


def test_facts_of_captured_messages_name_their_source_and_have_a_limit_for_each_day(
    world: World,
) -> None:
    hearing(world, 0, captured=2)
    towns = ("Ulm", "Bern", "Kiel", "Jena")
    monday, tuesday = (datetime(2025, 3, day, 9, tzinfo=UTC) for day in (3, 4))
    captured = CapturedConversations(world.table, clock=world.clock)

    def capture(*messages: tuple[str, datetime]) -> Receipt:
        captured.keep(
            world.being_id,
            [
                CapturedMessage(
                    client="codex",
                    session="s1",
                    role="user",
                    text=f"I moved to the town of {town} last spring.",
                    at=at,
                )
                for town, at in messages
            ],
        )
        return world.run()

    first = capture((towns[0], monday), (towns[1], tuesday))
    second = capture((towns[2], monday), (towns[3], monday))

    assert first.counts["captured_facts_heard"] == 2
    assert second.counts["captured_facts_heard"] == 1
    assert "facts_heard" not in said(world, "I live in Porto with my two sons.").counts
    heard = list(world.memory.scenes.get_many(world.being_id, every_evidence(world)).values())
    assert {(scene.client, scene.session, scene.themes) for scene in heard} == {
        ("codex", "s1", ("heard",))
    }
    actions = set(nodes(world))
    assert len(actions & {f"I moved to the town of {town} last spring" for town in towns[2:]}) == 1
    sound(world)


def every_evidence(world: World) -> list[str]:
    """Return the ids of all scenes that became memories."""
    return [scene_id for node in nodes(world).values() for scene_id in node.evidence]


def test_what_assistants_and_tools_say_is_not_heard(world: World) -> None:
    hearing(world, 20)

    for role in ("assistant", "tool", "system"):
        assert "facts_heard" not in said(world, "I live in Porto with my sons.", role=role).counts


def test_a_day_hears_a_stated_number_of_facts(world: World) -> None:
    hearing(world, 3)
    places = [f"I moved to the town of {name} last spring." for name in ("Ulm", "Bern", "Kiel")]

    assert said(world, *places[:2]).counts["facts_heard"] == 2
    assert said(world, places[2], "My brother works in Rome as a cook.").counts["facts_heard"] == 1
    assert "facts_heard" not in said(world, "I bought a small house in Turin.").counts
    world.clock.move(86_400)
    assert said(world, "I bought a red car in Milan.").counts["facts_heard"] == 1


def test_a_message_that_comes_again_is_heard_once(world: World) -> None:
    hearing(world, 20)
    said(world, "I live in Porto with my two sons.")

    again = said(world, "I live in Porto with my two sons.")

    assert len(nodes(world)) == 1
    assert again.counts.get("nodes_created", 0) == 0


def test_a_dry_run_writes_nothing_and_says_what_a_run_would_do(planned_world: World) -> None:
    planned_world.note("the cat caught a mouse in the cellar", "the cat caught a mouse in the barn")
    planned_world.run()
    planned_world.note("the cat caught a mouse in the cellar", "Bob sold his boat")
    before = planned_world.dump()
    receipt = planned_world.patrol.dry_run(planned_world.being_id, planned_world.planner)

    assert planned_world.dump() == before
    assert receipt.state == "dry"
    assert receipt.counts == {"scenes_taken": 2, "evidence_added": 1, "nodes_created": 1}
    assert planned_world.run().counts["evidence_added"] == 1


def test_undo_wants_a_run_that_is_there_and_done(world: World) -> None:
    with pytest.raises(NotFoundError, match="there is no patrol run"):
        world.patrol.undo(world.being_id, "nonsense")
    world.note("Ann fed the cat")
    world.run()
    place = Key(f"B#{world.being_id}#R", "00000001")
    world.table.update(place, Change(set={"state": "blocked"}))
    with pytest.raises(InvalidInputError, match="blocked"):
        world.patrol.undo(world.being_id, run_id_of(world.being_id, 1))


def test_a_being_with_nothing_to_do_stands_where_no_sweep_looks(world: World) -> None:
    def listed() -> bool:
        item = world.table.get(keys.meta(world.being_id))
        return item is not None and "gsi1pk" in item

    world.note("Ann fed the cat")
    assert listed()
    world.run()
    assert not listed()


def test_a_worker_that_lost_its_lease_writes_nothing_more(world: World) -> None:
    from nacre.core.errors import LeaseLostError
    from nacre.jobs.lease import Leases

    leases = Leases(world.table, now=world.clock)
    place = Key(f"B#{world.being_id}", "LOCK#PATROL")
    lease: Lease = leases.take(place)
    world.note("Ann fed the cat", "Bob sold his boat")
    new_leases: list[Lease] = []

    def lose() -> None:
        if not new_leases and world.fuse.writes > 12:
            world.clock.move(100_000)
            new_leases.append(leases.take(place))

    world.table.before_write = lose
    with pytest.raises(LeaseLostError):
        world.patrol.run(world.being_id, trigger="auto", renew_lease=lambda: None, lease=lease)
    again = world.patrol.run(
        world.being_id, trigger="auto", renew_lease=lambda: None, lease=new_leases[0]
    )
    assert again.counts["nodes_created"] == 2
    sound(world)


def test_runs_are_listed_the_newest_first(world: World) -> None:
    for number in range(3):
        world.note(f"event {number}")
        world.run()
    runs = world.patrol.runs
    page = runs.page(world.being_id, limit=2)

    assert [run.seq for run in page.runs] == [3, 2]
    assert [run.seq for run in runs.page(world.being_id, limit=2, start=page.next).runs] == [1]
    assert runs.get(world.being_id, run_id_of(world.being_id, 2)) == page.runs[1]
    latest = runs.latest(world.being_id)
    assert latest is not None
    assert latest.seq == 3
    assert runs.open(world.being_id) is None


def test_messages_that_a_model_failed_on_wait_for_the_next_run(planned_world: World) -> None:
    planned_world.planner = StandIn(silent=frozenset({"extract"}))
    batch = [ChatMessage("user", "Dan planted a pear tree")]
    planned_world.memory.history.add(planned_world.being_id, batch, for_patrol=True)
    first = planned_world.run()

    assert first.state == "done"
    assert "extraction: the model does not answer" in first.reasons
    assert planned_world.memory.trigger.pending(planned_world.being_id) == (0, 1)
    assert planned_world.queue.depth().waiting == 0
    planned_world.planner = StandIn()
    assert planned_world.run().counts["scenes_created"] == 1
    assert planned_world.memory.trigger.pending(planned_world.being_id) == (0, 0)
    sound(planned_world)


def with_a_cluster_about_two_subjects(planned_world: World) -> str:
    """Note two subjects that share a cluster, and return its id."""
    planned_world.planner = None
    rooms = ("kitchen", "garden", "cellar", "attic", "barn", "office", "hall", "porch")
    planned_world.note(*(f"the cat slept in the {room}" for room in rooms))
    planned_world.note(*(f"the cat ate fish and bread in the {room}" for room in rooms))
    planned_world.note("the cat slept")
    planned_world.run()
    clusters = planned_world.memory.clusters.active(planned_world.being_id)
    large = [cluster.cluster_id for cluster in clusters if cluster.n_active >= 16]
    if not large:
        pytest.fail("the notes do not make one cluster any more")
    planned_world.planner = StandIn(silent=frozenset({"consolidate"}))
    return large[0]


def test_a_cluster_about_two_subjects_is_divided_by_a_model(planned_world: World) -> None:
    cluster_id = with_a_cluster_about_two_subjects(planned_world)
    planned_world.note("the cat slept in the car")
    receipt = planned_world.run()

    assert receipt.counts["split"] == 1
    parent = planned_world.memory.clusters.get(planned_world.being_id, cluster_id)
    assert parent is not None
    assert (parent.state, len(parent.children)) == ("retired", 2)
    sound(planned_world)


@pytest.mark.parametrize("limit", [0, 1])
def test_a_dry_run_asks_about_as_many_splits_as_a_run_makes(
    planned_world: World, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    cluster_id = with_a_cluster_about_two_subjects(planned_world)
    marking = marking_dirty(planned_world.being_id, cluster_id)
    planned_world.table.transact([marking])
    monkeypatch.setattr(split_clusters, "PATROL_SPLITS", limit)

    dry = planned_world.patrol.dry_run(planned_world.being_id, planned_world.planner)

    assert dry.counts.get("split", 0) == limit
    assert planned_world.run().counts.get("split", 0) == limit


def test_messages_that_a_model_refuses_run_after_run_are_let_go_to_the_history(
    planned_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prompt_text, "ASKED_MESSAGES", 1)
    planned_world.planner = Refusing()
    texts = ("Dan planted a pear tree", "vile words", "Eve baked rye bread")
    batch = [ChatMessage("user", text) for text in texts]
    planned_world.memory.history.add(planned_world.being_id, batch, for_patrol=True)
    receipts = [planned_world.run() for _ in range(PATROL_REFUSALS)]

    assert [r.counts.get("messages_read", 0) for r in receipts] == [1, 0, 2]
    assert [r.counts.get("scenes_created", 0) for r in receipts] == [1, 0, 1]
    assert all("extraction: it refuses" in r.reasons for r in receipts)
    let_go = "extraction: messages that the model refused in 3 runs stay in the history only"
    assert [let_go in r.reasons for r in receipts] == [False, False, True]
    assert not any("nothing to do" in reason for r in receipts for reason in r.reasons)
    assert planned_world.memory.trigger.pending(planned_world.being_id) == (0, 0)
    assert not any("refused" in item for item in planned_world.items())
    hits = planned_world.memory.history.search(
        planned_world.being_id, limit=5, query="vile"
    ).messages
    assert [message.content for message in hits] == ["vile words"]
    sound(planned_world)


def test_messages_wait_as_long_as_a_provider_is_down(planned_world: World) -> None:
    planned_world.planner = StandIn(silent=frozenset({"extract"}))
    batch = [ChatMessage("user", "Dan planted a pear tree")]
    planned_world.memory.history.add(planned_world.being_id, batch, for_patrol=True)
    for _ in range(PATROL_REFUSALS + 1):
        receipt = planned_world.run()

    assert receipt.reasons == ("extraction: the model does not answer",)
    assert planned_world.memory.trigger.pending(planned_world.being_id) == (0, 1)


def test_an_event_that_fills_its_memory_goes_on_in_another(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "NODE_LIST_BYTES", 120)  # three scenes and a day
    for _ in range(4):
        world.note(*["Ann fed the cat"] * 2)
        world.run()

    every = world.memory.nodes.page(world.being_id).nodes
    assert sorted(len(node.evidence) for node in every) == [2, 3, 3]
    assert {node.action for node in every} == {"Ann fed the cat"}
    assert len({node.fingerprint for node in every}) == 3
    sound(world)


def test_memories_that_would_not_fit_one_are_not_merged(
    planned_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "NODE_LIST_BYTES", 60)
    planned_world.note("the cat caught a mouse in the cellar", "the cat caught a mouse in the barn")
    planned_world.note("the cat caught a mouse in the attic", "Bob sold his boat")
    receipt = planned_world.run()

    apart = "consolidation: memories of more scenes than one can hold stay apart"
    assert apart in receipt.reasons
    assert "merged" not in receipt.counts
    ids = [node.node_id for node in nodes(planned_world).values() if "mouse" in node.action]
    with pytest.raises(InvalidInputError, match="more scenes than one can hold"):
        planned_world.memory.edits.merge(planned_world.being_id, ids, action="a mouse")
    sound(planned_world)
