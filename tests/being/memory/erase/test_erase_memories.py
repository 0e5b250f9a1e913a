"""What is erased leaves nothing behind, and takes with it what was made of it."""

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nacre.adapters.aws.dynamodb.residue import DynamoResidue
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.residue import SqliteResidue
from nacre.adapters.sqlite.table import SqliteTable
from nacre.being.memory.erase.erase_memories import MemoryEraser
from nacre.being.memory.erase.erase_texts import TextEraser
from nacre.being.memory.index.vector_items import pages
from nacre.being.memory.model import keys
from nacre.being.memory.model.message_chain import ChatMessage
from nacre.being.memory.model.types import Cluster, Node, Scene
from nacre.being.memory.repositories import open_repositories
from nacre.being.memory.store.scenes import checked_scene
from nacre.being.memory.store.targets import KNOWLEDGE, NOTES, PARTNER_RULES, SOULS
from nacre.being.memory.transfer.deferred_index import DeferredIndex
from nacre.core.errors import InvalidInputError, NotFoundError, UnavailableError
from nacre.core.origins import external
from nacre.ports.items.table import Change, Table
from nacre.ports.operation.residue import Residue
from tests.adapters.conftest import StillClock
from tests.being.memory.keeping import Keeper, a_node, keeper, queue_of, scene_draft
from tests.being.memory.minds import CountingTable
from tests.being.memory.moving import exported, fill
from tests.scaffolding.aws_stack import Stack


def marking(kept: Keeper, clock: StillClock) -> Keeper:
    """The same Being, its search in the items that the product writes."""
    index = DeferredIndex(kept.table, clock=clock, rng=Random(7))
    memory = open_repositories(
        kept.table, kept.queue, index, kept.renewals, clock=clock, rng=Random(8)
    )
    return replace(kept, memory=memory)


@pytest.fixture
def kept(kept: Keeper, clock: StillClock) -> Keeper:
    return marking(kept, clock)


@pytest.fixture
def erasing(kept: Keeper, clock: StillClock) -> MemoryEraser:
    return MemoryEraser(kept.table, clock=clock, rng=Random(3))


@pytest.fixture
def residue(kept: Keeper, request: pytest.FixtureRequest) -> Residue:
    table: Any = kept.table
    if isinstance(table, SqliteTable):
        return SqliteResidue(table._database)
    stack: Stack = request.getfixturevalue("stack")
    return DynamoResidue(stack.dynamodb, [stack.ids["DataTable"]])


def a_scene(kept: Keeper, number: int, node_id: str | None = None, **fields: Any) -> Scene:
    """Store a scene that a patrol has made a memory of, or not yet."""
    draft = scene_draft(fields.pop("action", f"Scene number {number} happened"), **fields)
    scene = checked_scene(
        draft,
        "scene",
        scene_id=f"SCENE{number}",
        created_at=f"2026-07-01T10:00:0{number % 10}.000Z",
    )
    if node_id is not None:
        item = {**scene.to_item(kept.id), "status": "consumed", "node_id": node_id}
        scene = Scene.from_item(item)
    kept.table.put(scene.to_item(kept.id))
    if node_id is None:
        kept.table.update(keys.meta(kept.id), Change(add={"pending_scenes": 1}))
    return scene


def nodes(kept: Keeper) -> dict[str, Node]:
    return {node.node_id: node for node in kept.memory.nodes.page(kept.id).nodes}


def left(residue: Residue, *needles: str) -> list[str]:
    return [trace.place for trace in residue.find(needles)]


def test_a_memory_goes_with_its_scenes(
    kept: Keeper, erasing: MemoryEraser, residue: Residue
) -> None:
    node = a_node(1, action="Ann hid the key", evidence=("SCENE1", "SCENE2"))
    kept.memory.nodes.add(kept.id, [node, a_node(2, evidence=())])
    for number in (1, 2):
        a_scene(kept, number, node.node_id)
    stays = a_scene(kept, 3)

    erased = erasing.node(kept.id, node.node_id)

    assert erased.counts == {"node": 1, "scene": 2}
    marks = keys.marks(kept.id)  # a repair clears them
    assert [each for each in left(residue, *erased.ids, *erased.texts) if marks not in each] == []
    assert list(nodes(kept)) == [a_node(2).node_id]
    assert [each.scene_id for each in kept.memory.scenes.page(kept.id).scenes] == [stays.scene_id]
    assert kept.meta("pending_scenes") == 1


def test_a_merge_goes_with_what_it_was_made_of(kept: Keeper, erasing: MemoryEraser) -> None:
    kept.memory.nodes.add(kept.id, [a_node(number) for number in (1, 2, 3)])
    merged = kept.memory.edits.merge(
        kept.id, [a_node(1).node_id, a_node(2).node_id], action="Two cats were fed"
    )

    erased = erasing.node(kept.id, merged.node.node_id)

    assert erased.counts == {"node": 3}
    assert list(nodes(kept)) == [a_node(3).node_id]


def test_a_merge_of_an_erased_memory_is_taken_back(kept: Keeper, erasing: MemoryEraser) -> None:
    kept.memory.nodes.add(kept.id, [a_node(number) for number in (1, 2, 3)])
    first = kept.memory.edits.merge(
        kept.id, [a_node(1).node_id, a_node(2).node_id], action="Two cats were fed"
    )
    second = kept.memory.edits.merge(
        kept.id, [first.node.node_id, a_node(3).node_id], action="All cats were fed"
    )

    erased = erasing.node(kept.id, a_node(1).node_id)

    assert set(erased.ids) == {a_node(1).node_id, first.node.node_id, second.node.node_id}
    assert {"Two cats were fed", "All cats were fed"} <= set(erased.texts)
    after = nodes(kept)
    assert {each: node.status for each, node in after.items()} == {
        a_node(2).node_id: "active",
        a_node(3).node_id: "active",
    }
    assert all(node.merged_into is None for node in after.values())


def test_what_a_memory_made_untrue_stands_again(kept: Keeper, erasing: MemoryEraser) -> None:
    kept.memory.nodes.add(kept.id, [a_node(1), a_node(2, superseded_by=a_node(1).node_id)])

    erasing.node(kept.id, a_node(1).node_id)

    assert nodes(kept)[a_node(2).node_id].superseded_by is None


def test_links_to_an_erased_memory_go_with_it(kept: Keeper, erasing: MemoryEraser) -> None:
    gone, other = a_node(1).node_id, a_node(3).node_id
    kept.memory.nodes.add(kept.id, [a_node(1), a_node(2, similar=(gone, other)), a_node(3)])

    erasing.node(kept.id, gone)

    assert nodes(kept)[a_node(2).node_id].similar == (other,)


def test_the_summaries_it_was_in_are_emptied(kept: Keeper, erasing: MemoryEraser) -> None:
    def cluster(name: str, **fields: Any) -> Cluster:
        defaults = {
            "label": "keys",
            "digest": "Ann hid the key",
            "themes": ("key",),
            "n_active": 2,
        }
        return Cluster(cluster_id=name, created_at="2026-07-01", **{**defaults, **fields})

    for each in (
        cluster("old", state="retired", children=("new",), n_active=0),
        cluster("new"),
        cluster("other"),
    ):
        kept.table.put(each.to_item(kept.id))
    kept.memory.nodes.add(kept.id, [a_node(1, cluster_id="new"), a_node(2, cluster_id="new")])

    erasing.node(kept.id, a_node(1).node_id)

    found = kept.memory.clusters.get_many(kept.id, ["old", "new", "other"])
    empty = {"label": "", "digest": "", "themes": ()}
    for name in ("old", "new"):
        assert {each: getattr(found[name], each) for each in empty} == empty, name
    assert (found["new"].n_active, found["new"].dirty, found["old"].dirty) == (1, True, False)
    assert found["other"] == cluster("other")


def test_the_only_scene_of_a_memory_takes_it_along(kept: Keeper, erasing: MemoryEraser) -> None:
    kept.memory.nodes.add(kept.id, [a_node(1)])
    a_scene(kept, 1, a_node(1).node_id)

    erased = erasing.scene(kept.id, "SCENE1")

    assert erased.counts == {"node": 1, "scene": 1}
    assert nodes(kept) == {}


def test_a_memory_is_made_anew_of_its_other_scenes(kept: Keeper, erasing: MemoryEraser) -> None:
    node = a_node(1, evidence=("SCENE1", "SCENE2", "SCENE3"), trust="external", importance=0.9)
    kept.memory.nodes.add(kept.id, [node])
    a_scene(kept, 1, node.node_id, trust="external", actors=["Eve"], when=["2026-06-01"])
    a_scene(kept, 2, node.node_id, importance=0.3)
    a_scene(kept, 3, node.node_id, importance=0.8, actors=["Bob"], when=["2026-06-03"])

    erased = erasing.scene(kept.id, "SCENE1")

    assert erased.counts == {"scene": 1}
    after = nodes(kept)[node.node_id]
    assert (after.action, after.evidence) == ("Scene number 3 happened", ("SCENE2", "SCENE3"))
    assert set(after.actors) == {"Ann", "Bob"}
    assert after.when == ("2026-06-03", "2026-07-01")
    assert (after.trust, after.importance) == ("agent", 0.9)
    [items] = pages(kept.table, kept.id)
    assert [item.text for item in items] == [
        f"[2026-06-03, 2026-07-01] {', '.join(after.actors)}: Scene number 3 happened"
    ]


def test_an_erased_scene_takes_its_origins_along(
    kept: Keeper, erasing: MemoryEraser, residue: Residue
) -> None:
    stays, goes = ("agent", "external:weather"), ("agent", "external:circus")
    node = a_node(
        1,
        evidence=("SCENE1", "SCENE2"),
        cluster_id="c",
        trust="external",
        origins=("agent", "external:circus", "external:weather"),
        tellings=("agent\nexternal:circus", "agent\nexternal:weather"),
    )
    kept.memory.nodes.add(kept.id, [node])
    cluster = Cluster(cluster_id="c", created_at="t", n_active=1, origins=("external:circus",))
    kept.memory.clusters.add(kept.id, cluster)
    a_scene(kept, 1, node.node_id, origins=goes)
    a_scene(kept, 2, node.node_id, origins=stays)

    erasing.scene(kept.id, "SCENE1")

    after = nodes(kept)[node.node_id]
    assert (after.origins, after.tellings, after.trust) == (stays, (), "external")
    assert left(residue, "circus") == []


def test_a_corrected_text_keeps_the_origins_of_what_was_erased(
    kept: Keeper, erasing: MemoryEraser
) -> None:
    # The text stays, and may say what the erased scene said.
    node = a_node(1, evidence=("SCENE1", "SCENE2"), cluster_id=None)
    kept.memory.nodes.add(kept.id, [node])
    a_scene(kept, 1, node.node_id)
    a_scene(kept, 2, node.node_id)
    kept.memory.corrections.correct(
        kept.id, node.node_id, "Ann left", by="agent", origins=[external("web")]
    )

    erasing.scene(kept.id, "SCENE1")

    after = nodes(kept)[node.node_id]
    assert (after.action, after.origins) == ("Ann left", ("agent", "external:web"))


def test_a_scene_that_waits_is_gone_from_the_count(kept: Keeper, erasing: MemoryEraser) -> None:
    a_scene(kept, 1)
    a_scene(kept, 2)

    erasing.scene(kept.id, "SCENE1")

    assert kept.meta("pending_scenes") == 1
    with pytest.raises(NotFoundError, match="no scene 'SCENE1'"):
        erasing.scene(kept.id, "SCENE1")


class Breaking(CountingTable):
    """A store that stops before some write."""

    left = 0

    def _count(self) -> None:
        if self.left == 0:
            raise UnavailableError("gone")
        self.left -= 1

    def transact(self, writes: Any, *, token: str | None = None) -> None:
        self._count()
        super().transact(writes, token=token)

    def put(self, item: Any, *, when: Any = None) -> None:
        self._count()
        super().put(item, when=when)

    def delete(self, key: Any, *, when: Any = None) -> Any:
        self._count()
        return super().delete(key, when=when)


@pytest.mark.parametrize("kind", ["node", "scene"])
def test_a_command_that_broke_off_anywhere_is_finished_by_the_next(
    kind: str, clock: StillClock
) -> None:
    writes = 0
    while True:
        database = SqliteDatabase(":memory:")
        table = SqliteTable(database, now=clock)
        kept = marking(keeper(table, queue_of(database, clock), clock), clock)
        cluster = Cluster(cluster_id="c", created_at="2026-07-01", digest="Ann hid the key")
        kept.table.put(cluster.to_item(kept.id))
        evidence = tuple(f"SCENE{number}" for number in range(1, 40))
        made = [a_node(1, cluster_id="c", evidence=evidence), a_node(2), a_node(3)]
        made[2] = a_node(3, superseded_by=made[0].node_id)
        kept.memory.nodes.add(kept.id, made)
        for number in range(1, 40):
            a_scene(kept, number, made[0].node_id, action="Ann hid the key")
        kept.memory.edits.merge(
            kept.id, [each.node_id for each in made[:2]], action="Ann hid the key and fed a cat"
        )
        breaking = Breaking(kept.table)
        breaking.left = writes
        wanted = made[0].node_id if kind == "node" else "SCENE1"
        try:
            getattr(MemoryEraser(breaking, clock=clock, rng=Random(1)), kind)(kept.id, wanted)
            finished = True
        except UnavailableError:
            finished = False
            again = MemoryEraser(kept.table, clock=clock, rng=Random(2))
            getattr(again, kind)(kept.id, wanted)
        if kind == "node":
            assert sorted(nodes(kept)) == [made[1].node_id, made[2].node_id]
            assert nodes(kept)[made[2].node_id].superseded_by is None
            assert kept.memory.scenes.page(kept.id).scenes == ()
        else:
            assert "SCENE1" not in nodes(kept)[made[0].node_id].evidence
            assert nodes(kept)[made[1].node_id].status == "active"
        assert kept.memory.clusters.get(kept.id, "c").digest == ""  # type: ignore[union-attr]  # it is there
        database.close()
        if finished:
            assert writes > 3
            return
        writes += 1


# Words


@pytest.fixture
def words(kept: Keeper) -> TextEraser:
    return TextEraser(kept.table)


def test_an_entry_goes_with_its_old_versions(
    kept: Keeper, words: TextEraser, residue: Residue
) -> None:
    entries = kept.memory.entries
    rule = entries.append(kept.id, PARTNER_RULES, "[manner] never mention the heist")
    entries.update(kept.id, PARTNER_RULES, rule.key, "be silent about the heist")

    erased = words.entry(kept.id, PARTNER_RULES, rule.key)

    assert erased.counts == {"version": 1, "partner_rules": 1}
    assert left(residue, "heist", rule.key) == []
    assert kept.meta(PARTNER_RULES.counter) == 0


def test_a_long_entry_goes_with_the_text_that_is_kept_apart(
    kept: Keeper, words: TextEraser, residue: Residue
) -> None:
    kept.memory.entries.append(kept.id, KNOWLEDGE, "heist " * 2000, key="Plan")

    words.entry(kept.id, KNOWLEDGE, "Plan")

    assert left(residue, "heist") == []


def test_a_note_is_gone_and_another_stays(
    kept: Keeper, words: TextEraser, residue: Residue
) -> None:
    one, _ = (kept.memory.entries.append(kept.id, NOTES, text) for text in ("heist", "buy a net"))

    erased = words.entry(kept.id, NOTES, one.key)

    assert (erased.ids, erased.texts) == ((one.key,), ("heist",))
    assert left(residue, one.key, "heist") == []
    assert kept.meta(NOTES.counter) == 1
    with pytest.raises(NotFoundError, match="there is no entry"):
        words.entry(kept.id, NOTES, one.key)


def test_what_has_to_be_there_loses_its_old_versions_only(
    kept: Keeper, words: TextEraser, residue: Residue
) -> None:
    for name in ("Mallory", "Pearl", "Mallory", "Opal"):
        kept.memory.entries.update(kept.id, SOULS, "name", name)

    erased = words.entry(kept.id, SOULS, "name")

    assert (erased.counts, erased.texts) == ({"version": 3}, ("Mallory", "Pearl"))
    assert left(residue, "Mallory") == []
    assert kept.memory.entries.get(kept.id, SOULS, "name").text == "Opal"  # type: ignore[union-attr]  # it is there


def test_messages_of_some_days_are_erased(
    kept: Keeper, words: TextEraser, residue: Residue, clock: StillClock
) -> None:
    batches = ["July heist", "August heist", "September calm"]
    marker = None
    for number, text in enumerate(batches):
        added = kept.memory.history.add(
            kept.id,
            [ChatMessage("user", text), ChatMessage("assistant", f"{text}, yes")],
            marker_id=marker,
        )
        marker = added.marker_id
        clock.move(31 * 86_400 * (number < 2))
    found = kept.memory.history.search(kept.id, limit=9, query="july")
    scene = a_scene(kept, 1, evidence=(found.messages[0].message_id, "other"))

    erased = words.messages(kept.id, "2026-07-01", "2026-08-31")

    assert erased.counts == {"message": 4}
    assert erased.derived_scenes == (scene.scene_id,)
    assert left(residue, "heist", *erased.ids) == []
    assert [str(item["sk"]) for item in kept.table.query(keys.months(kept.id)).items] == ["2026-09"]
    kept_scene = kept.memory.scenes.get_many(kept.id, [scene.scene_id])[scene.scene_id]
    assert kept_scene.evidence == ("other",)
    assert len(kept.memory.history.search(kept.id, limit=9).messages) == 2


def test_erased_messages_are_not_brought_back_by_a_client_that_sends_all_again(
    kept: Keeper, words: TextEraser
) -> None:
    said = [ChatMessage("user", "heist"), ChatMessage("assistant", "calm")]
    marker = kept.memory.history.add(kept.id, said).marker_id
    words.messages(kept.id, "2026-07-28", "2026-07-28")

    added = kept.memory.history.add(kept.id, [*said, ChatMessage("user", "new")], marker_id=marker)

    assert (added.stored, added.known) == (1, 2)


def test_erased_messages_wait_for_no_patrol(
    kept: Keeper, words: TextEraser, clock: StillClock
) -> None:
    history = kept.memory.history
    marker = history.add(
        kept.id, [ChatMessage("user", "heist"), ChatMessage("user", "calm")], for_patrol=True
    )
    clock.move(86_400)
    history.add(kept.id, [ChatMessage("user", "new")], marker_id=marker.marker_id, for_patrol=True)

    words.messages(kept.id, "2026-07-28", "2026-07-28")
    assert kept.meta("pending_messages") == 1

    words.messages(kept.id, "2026-07-29", "2026-07-29")
    assert kept.meta("pending_messages") == 0


def test_days_in_the_wrong_order_are_refused(kept: Keeper, words: TextEraser) -> None:
    with pytest.raises(InvalidInputError, match="is after --to"):
        words.messages(kept.id, "2026-07-02", "2026-07-01")


# Laws


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("raw")


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30)


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(words=TEXT, number=st.integers(1, 6), seed=st.integers(0, 2**32))
def test_no_id_text_or_vector_is_left_in_rows_pages_or_exports(
    words: str, number: int, seed: int, clock: StillClock, folder: Path
) -> None:
    from nacre.adapters.sqlite.vectors import LocalVectors
    from nacre.being.memory.index.maintenance import IndexMaintenance
    from nacre.being.memory.index.sync import IndexSync
    from tests.being.memory.minds import builtin

    path = folder / f"{seed}-{number}-{abs(hash(words))}.db"
    path.unlink(missing_ok=True)
    database = SqliteDatabase(path)
    table: Table = SqliteTable(database, now=clock)
    kept = marking(keeper(table, queue_of(database, clock), clock, seed=seed), clock)
    indexing = IndexSync(
        table, lambda emb: LocalVectors(database, emb), builtin()[0], clock=clock, rng=Random(1)
    )
    secret = f"Zqx{seed}: {words} :xqZ"
    every = [
        a_node(each, action=secret if each == number else f"Ann fed cat {each}", evidence=())
        for each in range(1, 7)
    ]
    from nacre.being.memory.store.nodes import Nodes

    Nodes(table, indexing).add(kept.id, every)
    wanted = every[number - 1].node_id
    vector = table.get(keys.point(kept.id, wanted))
    assert vector is not None
    of_line, of_subject = [each for each in vector.values() if isinstance(each, bytes)]
    kept.memory.edits.merge(
        kept.id, [wanted, every[number % 6].node_id], action=f"merged: {secret}"
    )

    erased = MemoryEraser(table, clock=clock, rng=Random(2)).node(kept.id, wanted)
    IndexMaintenance(indexing).check_and_repair(kept.id)
    residue = SqliteResidue(database)
    residue.settle()

    assert left(residue, *erased.ids, *erased.texts, f"Zqx{seed}") == []
    content, _ = exported(table, kept.beings, kept.id, clock, with_vectors=True)
    database.close()
    raw = path.read_bytes()
    for place in (raw, content):
        assert wanted.encode() not in place
        assert f"Zqx{seed}".encode() not in place
        assert of_line[:32] not in place
        assert of_subject[:32] not in place
    path.unlink()


def test_erasing_nothing_of_what_stays(laptop: Keeper, clock: StillClock) -> None:
    """Everything that is not about the memory is in the export as before."""
    fill(laptop)
    laptop.memory.nodes.add(laptop.id, [a_node(50, evidence=())])
    before, _ = exported(laptop.table, laptop.beings, laptop.id, clock)

    MemoryEraser(laptop.table, clock=clock, rng=Random(1)).node(laptop.id, a_node(50).node_id)

    after, _ = exported(laptop.table, laptop.beings, laptop.id, clock)
    gone = set(before.splitlines()[1:-1]) - set(after.splitlines())
    assert len(gone) == 1
    assert a_node(50).node_id.encode() in gone.pop()
    assert set(after.splitlines()[1:-1]) <= set(before.splitlines())
