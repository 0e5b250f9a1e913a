"""A Being and a folder of Markdown files take each other's changes."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

import pytest

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.being.memory.mirror.content import Unit, content_of
from nacre.being.memory.mirror.list_page import items_of, parsed_page
from nacre.being.memory.mirror.state import state_from
from nacre.being.memory.mirror.sync import Answer, Mirror, SyncResult
from nacre.being.memory.model.types import Cluster, Node
from nacre.being.memory.store.targets import KNOWLEDGE, NOTES
from nacre.core.errors import ConflictError
from nacre.ports.items.table import Write
from tests.adapters.conftest import StillClock
from tests.being.memory.keeping import Keeper, a_node, keeper, queue_of, scene_draft
from tests.being.memory.mirror.folders import KilledError, MemoryFiles

PAGE = "Memories/cats.md"
KEY = "ghp_" + "aB3" * 12


@dataclass
class World:
    """A Being with its folder."""

    kept: Keeper
    clock: StillClock
    files: MemoryFiles = field(default_factory=MemoryFiles)
    rng: Random = field(default_factory=lambda: Random(7))

    def sync(self, answer: Answer = "stop") -> SyncResult:
        mirror = Mirror(self.kept.memory, self.kept.id, self.files, self.clock, self.rng)
        return mirror.sync(self.files.state, lambda count: answer)

    def node(self, number: int) -> Node:
        node = self.kept.memory.nodes.get(self.kept.id, a_node(number).node_id)
        assert node is not None
        return node

    def units(self) -> dict[str, Unit]:
        """Return the content of the Being."""
        return content_of(self.kept.memory, self.kept.id).units

    def said(self) -> list[str]:
        """Return every text of the Being, without keys."""
        return sorted(unit.text for unit in self.units().values())

    def edit(self, path: str, old: str, new: str) -> None:
        assert self.files.pages[path].count(old) == 1, self.files.pages[path]
        self.files.pages[path] = self.files.pages[path].replace(old, new)

    def drop(self, path: str, text: str) -> None:
        """Remove the line with a text from a page."""
        lines = self.files.pages[path].split("\n")
        self.files.pages[path] = "\n".join(line for line in lines if text not in line)


def new_world(laptop: Keeper, clock: StillClock) -> World:
    """Return three memories about cats, a scene that waits, knowledge and a note, mirrored once."""
    cluster = Cluster(cluster_id="c", created_at="t", label="cats", n_active=3)
    laptop.memory.clusters.add(laptop.id, cluster)
    nodes = [a_node(number, cluster_id="c") for number in (1, 2, 3)]
    laptop.memory.nodes.add(laptop.id, nodes)
    laptop.memory.scenes.record(laptop.id, [scene_draft("Bob bought a net")], notes=["call Bob"])
    laptop.memory.entries.update(laptop.id, KNOWLEDGE, "Pearls: how?", "Grain by grain.\n\nSlowly.")
    world = World(laptop, clock)
    world.sync()
    return world


def take_scene(world: World) -> Node:
    """Make a memory of the scene that waits, as a patrol does."""
    [scene] = world.kept.memory.scenes.pending(world.kept.id).scenes
    node = a_node(9, action=scene.action, when=scene.when, actors=scene.actors)
    world.kept.memory.nodes.add(world.kept.id, [node])
    consumed = replace(scene, status="consumed", node_id=node.node_id)
    world.kept.table.put(consumed.to_item(world.kept.id))
    return node


@pytest.fixture
def world(laptop: Keeper, clock: StillClock) -> World:
    """A Being with its folder, mirrored once."""
    return new_world(laptop, clock)


def test_a_being_is_written_as_pages_that_obsidian_reads(world: World) -> None:
    ids = [a_node(number).node_id for number in (1, 2, 3)]
    assert sorted(world.files.pages) == [
        "Knowledge/Pearls how.md",
        "Memories/Unsorted.md",
        PAGE,
        "Notes/call Bob.md",
    ]
    assert world.files.pages[PAGE] == (
        "---\nnacre: memories\ntags:\n  - nacre\n---\n# cats\n\n"
        f"- [2026-07-01] Ann fed cat 1 ([[Ann]]) ^{ids[0]}\n"
        f"- [2026-07-01] Ann fed cat 2 ([[Ann]]) ^{ids[1]}\n"
        f"- [2026-07-01] Ann fed cat 3 ([[Ann]]) ^{ids[2]}\n"
    )
    assert world.files.pages["Knowledge/Pearls how.md"] == (
        '---\nnacre: "knowledge/Pearls: how?"\naliases:\n  - "Pearls: how?"\ntags:\n  - nacre\n'
        "---\nGrain by grain.\n\nSlowly.\n"
    )


def test_a_second_run_changes_nothing(world: World) -> None:
    before = dict(world.files.pages)

    assert world.sync() == SyncResult()
    assert world.files.pages == before


def test_an_edited_line_is_a_correction_by_the_mirror(world: World) -> None:
    world.edit(PAGE, "[2026-07-01] Ann fed cat 2 ([[Ann]])", "Ann fed both cats")

    result = world.sync()

    assert result.corrected == 1
    node = world.node(2)
    assert (node.action, node.when, node.actors) == ("Ann fed both cats", ("2026-07-01",), ("Ann",))
    assert '"by": "mirror"' in node.wordings[0]
    assert node.origins == ("agent", "mirror")
    assert "- [2026-07-01] Ann fed both cats ([[Ann]]) ^" in world.files.pages[PAGE]


def test_days_people_and_several_lines_are_corrected(world: World) -> None:
    world.edit(
        PAGE,
        "[2026-07-01] Ann fed cat 2 ([[Ann]])",
        "[2026-07-03 2026-07-02] Fed:\n\n  - Mia\n    - both ([[Bob]], [[Mia|the cat]])",
    )

    world.sync()

    node = world.node(2)
    assert node.when == ("2026-07-02", "2026-07-03")
    assert node.action == "Fed:\n\n- Mia\n  - both"
    assert node.actors == ("Bob", "Mia")
    assert world.sync() == SyncResult()


def test_a_new_item_is_a_scene_and_other_text_stays(world: World) -> None:
    world.files.pages[PAGE] += (
        "\nMy own words.\n* Ann likes tea ([[Ann]])\n\n```\n- no memory\n```\n"
    )

    assert world.sync().added == 1

    [scene] = [
        s for s in world.kept.memory.scenes.pending(world.kept.id).scenes if "tea" in s.action
    ]
    assert (scene.action, scene.actors, scene.themes) == ("Ann likes tea", ("Ann",), ("cats",))
    assert (scene.source, scene.trust, scene.when) == ("mirror", "agent", ("2026-07-28",))
    assert "My own words.\n" in world.files.pages[PAGE]
    assert "\n- no memory\n" in world.files.pages[PAGE]
    assert world.sync() == SyncResult()


@pytest.mark.security
def test_secrets_in_edits_are_cut_as_in_captured_conversations(world: World) -> None:
    world.edit(PAGE, "Ann fed cat 2", f"Ann's key is {KEY}")
    world.files.pages[PAGE] += f"- Bob's key is {KEY} ([[{KEY}]])\n"
    world.edit("Knowledge/Pearls how.md", "Slowly.", f"Slowly, with {KEY}.")
    world.files.pages["Knowledge/Door.md"] = f"The door opens with {KEY}.\n"
    world.files.pages["Notes/Door.md"] = f"Tell Bob {KEY}\n"
    edited_pages = dict(world.files.pages)

    result = world.sync()

    assert (result.corrected, result.added, result.refused) == (2, 3, [])
    assert len(result.conflicts) == 5
    said = "\n".join(world.said())
    assert KEY not in said
    for text in ("Ann's key is", "Bob's key is", "Slowly, with", "door opens with", "Tell Bob"):
        assert f"{text} [redacted: github-token]" in said
    # The pages have what the Being has, and what was cut is in a copy that says why.
    assert not any(KEY in page for page in world.files.pages.values())
    copies = list(world.files.copies.values())
    assert all("were cut (github-token)" in copy and KEY in copy for copy in copies)
    assert world.sync() == SyncResult()
    # Brought back from the copy or by git, it is cut again.
    world.files.pages |= edited_pages
    world.sync()
    assert KEY not in "\n".join(world.said())


@pytest.mark.security
def test_a_page_with_a_secret_in_its_name_is_refused_without_telling_it(world: World) -> None:
    world.files.pages[f"Knowledge/{KEY}.md"] = "The door.\n"
    world.files.pages[f"Memories/{KEY}.md"] = "- Bob knocks\n"

    result = world.sync()

    assert result.added == 0
    assert len(result.refused) == 2
    for reason in result.refused:
        assert "[redacted: github-token]" in reason
        assert "rename the page" in reason
    assert KEY not in "\n".join([*result.refused, *world.said(), *world.units()])
    assert world.files.pages[f"Knowledge/{KEY}.md"] == "The door.\n"


@pytest.mark.security
def test_a_secret_that_the_being_has_already_stays_until_its_text_is_edited(world: World) -> None:
    world.kept.memory.entries.update(world.kept.id, KNOWLEDGE, "Door", f"It opens with {KEY}.")
    world.sync()
    assert world.sync() == SyncResult()
    assert KEY in world.files.pages["Knowledge/Door.md"]

    world.edit("Knowledge/Door.md", "It opens", "The door opens")
    world.sync()

    assert "The door opens with [redacted: github-token]." in world.said()


def test_a_deleted_line_hides_its_memory_and_bringing_it_back_shows_it(world: World) -> None:
    before = world.files.pages[PAGE]
    world.drop(PAGE, "cat 2")

    assert world.sync().deleted == 1
    assert (world.node(2).status, world.node(2).hidden_by) == ("hidden", "mirror")
    world.files.pages[PAGE] = before

    assert world.sync().restored == 1
    assert world.node(2).status == "active"
    assert world.files.pages[PAGE] == before


def test_a_deleted_entry_and_a_deleted_scene_leave_a_copy(world: World) -> None:
    del world.files.pages["Knowledge/Pearls how.md"]
    world.drop("Memories/Unsorted.md", "net")

    assert world.sync().deleted == 2

    assert not any("net" in text or "Grain" in text for text in world.said())
    assert sorted(text.split("\n")[-2] for text in world.files.copies.values()) == [
        "Slowly.",
        "[2026-07-01] Bob bought a net ([[Ann]])",
    ]


def test_a_change_of_the_being_is_written(world: World) -> None:
    world.kept.memory.corrections.correct(world.kept.id, a_node(1).node_id, "Ann fed", by="agent")
    world.kept.memory.corrections.hide(world.kept.id, a_node(3).node_id, by="owner")
    world.kept.memory.entries.update(world.kept.id, KNOWLEDGE, "Pearls: how?", "Fast.")
    world.kept.memory.entries.delete(
        world.kept.id, NOTES, world.kept.memory.entries.page(world.kept.id, NOTES).entries[0].key
    )

    world.sync()

    texts = [item.text for item in items_of(parsed_page(world.files.pages[PAGE]))]
    assert texts == ["[2026-07-01] Ann fed ([[Ann]])", "[2026-07-01] Ann fed cat 2 ([[Ann]])"]
    assert world.files.pages["Knowledge/Pearls how.md"].endswith("---\nFast.\n")
    assert "Notes/call Bob.md" not in world.files.pages


def test_both_changed_is_a_conflict_and_the_being_wins(world: World) -> None:
    world.kept.memory.corrections.correct(world.kept.id, a_node(1).node_id, "Ann fed A", by="agent")
    world.edit(PAGE, "Ann fed cat 1", "Ann fed B")
    world.kept.memory.corrections.hide(world.kept.id, a_node(2).node_id, by="owner")
    world.edit(PAGE, "Ann fed cat 2", "Ann fed C")

    result = world.sync()

    assert len(result.conflicts) == 2
    copies = "".join(world.files.copies.values())
    assert "Ann fed B" in copies
    assert "Ann fed C" in copies
    assert "Ann fed A" in world.files.pages[PAGE]
    assert world.node(2).status == "hidden"
    assert world.sync() == SyncResult()


def test_the_owners_pin_and_hiding_hold(world: World) -> None:
    before = world.files.pages[PAGE]
    world.kept.memory.edits.pin(world.kept.id, a_node(1).node_id, pinned=True)
    world.kept.memory.edits.pin(world.kept.id, a_node(2).node_id, pinned=True)
    world.edit(PAGE, "Ann fed cat 1", "Ann fed nobody")
    world.drop(PAGE, "cat 2")
    world.kept.memory.corrections.hide(world.kept.id, a_node(3).node_id, by="owner")
    result = world.sync()

    assert len(result.refused) == 2
    assert (world.node(1).action, world.node(2).status) == ("Ann fed cat 1", "active")
    assert "Ann fed nobody" in "".join(world.files.copies.values())
    world.files.pages[PAGE] = before  # an earlier version of the page
    world.sync()
    assert world.node(3).status == "hidden"
    assert "cat 3" not in world.files.pages[PAGE]


@pytest.mark.parametrize("answer", ["stop", "restore", "delete"])
def test_many_missing_units_need_a_yes(answer: Answer, world: World) -> None:
    world.kept.memory.nodes.add(world.kept.id, [a_node(n, cluster_id="c") for n in (4, 5, 6)])
    world.sync()
    before = world.files.pages.pop(PAGE)

    if answer == "stop":
        with pytest.raises(ConflictError, match="6 memories and entries are missing"):
            world.sync(answer)
    else:
        world.sync(answer)

    statuses = {world.node(number).status for number in range(1, 7)}
    assert statuses == ({"hidden"} if answer == "delete" else {"active"})
    assert (world.files.pages.get(PAGE) == before) == (answer == "restore")


def test_a_branch_switch_deletes_nothing_without_a_yes(world: World) -> None:
    world.drop(PAGE, "cat 2")
    world.files.head = "ref: refs/heads/other"

    with pytest.raises(ConflictError, match="1 memory or entry is missing"):
        world.sync()
    assert world.node(2).status == "active"


def test_a_renamed_top_folder_deletes_nothing_without_a_yes(world: World) -> None:
    content = world.files.pages.pop("Knowledge/Pearls how.md")
    world.files.folders_gone = {"Knowledge"}

    with pytest.raises(ConflictError, match="1 memory or entry is missing"):
        world.sync()
    world.files.folders_gone = set()
    world.files.pages["Knowledge/Pearls how.md"] = content
    assert world.sync() == SyncResult()


def test_the_state_has_no_texts_and_that_of_an_earlier_version_is_read(world: World) -> None:
    facts = world.files.state.facts()
    units = world.units()
    texts = {name: [path, units[name].text] for name, (path, _) in facts["digests"].items()}
    earlier = {"units": texts, "branch": None, "journal": facts["journal"]}

    assert len(texts) == len(units) == 6
    digests = {digest for _, digest in facts["digests"].values()}
    assert all(re.fullmatch("[0-9a-f]{32}", digest) for digest in digests)
    assert state_from(earlier) == world.files.state


def test_a_mark_that_was_changed_by_hand_is_written_again(world: World) -> None:
    before = dict(world.files.pages)
    knowledge, number = "Knowledge/Pearls how.md", a_node(2).node_id
    world.edit(knowledge, '"knowledge/Pearls: how?"', '"knowledge/Shells"')
    world.edit(knowledge, "Slowly", "Very slowly")
    world.edit(PAGE, number, number.replace("0002", "0009"))

    assert world.sync() == SyncResult(corrected=1, written=2)
    assert "Grain by grain.\n\nVery slowly." in world.said()
    assert world.files.pages[PAGE] == before[PAGE]
    assert '"knowledge/Pearls: how?"' in world.files.pages[knowledge]


def test_an_ending_in_capitals_is_no_part_of_a_title(world: World) -> None:
    world.files.pages["Memories/Dogs.MD"] = "- Rex barks\n"
    world.sync()

    scenes = world.kept.memory.scenes.pending(world.kept.id).scenes
    assert [scene.themes for scene in scenes if scene.action == "Rex barks"] == [("Dogs",)]


def test_a_page_that_cannot_be_read_deletes_nothing(world: World) -> None:
    content = world.files.pages.pop(PAGE)
    world.files.unreadable = {PAGE}
    assert world.sync().unreadable == [PAGE]
    world.files.unreadable = set()
    world.files.pages[PAGE] = content

    assert world.sync() == SyncResult()
    world.files.pages[PAGE] = f"<<<<<<< HEAD\n{content}=======\n>>>>>>> other\n"
    assert world.sync().unreadable == [PAGE]
    assert world.node(1).status == "active"


def test_a_page_with_an_unfinished_merge_is_not_written_elsewhere(world: World) -> None:
    before, content = dict(world.files.pages), world.files.pages[PAGE]
    merging = {**before, PAGE: f"<<<<<<< HEAD\n{content}=======\n>>>>>>> other\n"}
    world.files.pages = dict(merging)

    assert world.sync() == SyncResult(unreadable=[PAGE])
    assert world.files.pages == merging
    world.files.pages[PAGE] = content.replace("fed cat 2", "fed both cats")

    assert world.sync() == SyncResult(corrected=1)
    assert world.node(2).action == "Ann fed both cats"
    assert world.files.pages.keys() == before.keys()


@pytest.mark.parametrize("is_taken", [False, True])
def test_a_branch_may_have_the_ids_before_edits(world: World, is_taken: bool) -> None:
    unsorted = "Memories/Unsorted.md"
    other_branch = world.files.pages[unsorted].replace("a net", "the net")
    for before, text in (("a net", "two nets"), ("two nets", "three nets")):
        world.edit(unsorted, before, text)
        assert world.sync().corrected == 1
    if is_taken:
        take_scene(world)
    world.files.pages[unsorted] = other_branch

    result = world.sync()

    assert (result.corrected, result.deleted, result.conflicts) == (1, 0, [])
    assert "Bob bought the net" in str(world.said())
    assert "nets" not in str(world.said())
    assert world.sync() == SyncResult()


def test_a_memory_that_a_patrol_made_of_a_line_waits_for_its_page(world: World) -> None:
    unsorted = world.files.pages["Memories/Unsorted.md"]
    world.files.pages["Memories/Unsorted.md"] = f"{unsorted}<<<<<<< HEAD\n"
    node = take_scene(world)
    pages = dict(world.files.pages)

    assert world.sync().unreadable == ["Memories/Unsorted.md"]
    assert world.files.pages == pages
    world.files.pages["Memories/Unsorted.md"] = unsorted
    assert world.sync().written == 1
    assert f"a net ([[Ann]]) ^{node.node_id}" in world.files.pages["Memories/Unsorted.md"]


def test_lines_that_move_and_pages_that_are_renamed_are_the_same(world: World) -> None:
    world.files.pages["Memories/Animals/My cats.md"] = world.files.pages.pop(PAGE)
    world.files.pages["Knowledge/pearl.md"] = world.files.pages.pop("Knowledge/Pearls how.md")
    before = dict(world.files.pages)

    assert world.sync() == SyncResult()
    assert world.files.pages == before


def test_a_copied_line_that_was_edited_is_new(world: World) -> None:
    lines = world.files.pages[PAGE].split("\n")
    line = next(line for line in lines if "cat 1" in line)
    world.files.pages[PAGE] += line + "\n" + line.replace("cat 1", "cat 7") + "\n"

    assert world.sync().added == 1

    assert world.node(1).action == "Ann fed cat 1"
    assert "[2026-07-01] Ann fed cat 7 ([[Ann]])" in world.said()
    assert world.sync() == SyncResult()


def test_an_edit_while_the_page_is_written_is_not_lost(world: World) -> None:
    world.kept.memory.corrections.correct(world.kept.id, a_node(1).node_id, "Ann fed A", by="agent")
    edited = world.files.pages[PAGE].replace("cat 2", "both")
    world.files.edits_before_write[PAGE] = edited

    world.sync()
    assert world.files.pages[PAGE] == edited
    result = world.sync()

    assert (result.corrected, result.conflicts) == (1, [])
    assert (world.node(1).action, world.node(2).action) == ("Ann fed A", "Ann fed both")
    assert "Ann fed A" in world.files.pages[PAGE]


def test_a_scene_that_a_patrol_takes_keeps_its_line(world: World) -> None:
    node = take_scene(world)
    world.edit("Memories/Unsorted.md", "a net", "two nets")

    result = world.sync()

    assert (result.corrected, result.conflicts) == (1, [])
    assert world.node(9).action == "Bob bought two nets"
    assert f"two nets ([[Ann]]) ^{node.node_id}" in world.files.pages["Memories/Unsorted.md"]


def test_new_pages_become_entries(world: World) -> None:
    world.files.pages["Knowledge/Tea.md"] = "---\nmine: 1\n---\nGreen."
    world.files.pages["Notes/todo.md"] = "buy tea"
    world.files.pages["Diary/2026-07-02.md"] = "A quiet day."
    world.files.pages["Diary/someday.md"] = "No date."

    result = world.sync()

    assert result.added == 3
    assert len(result.refused) == 1
    assert {"Green.", "buy tea", "A quiet day."} <= {*world.said()}
    assert world.files.pages["Knowledge/Tea.md"] == (
        '---\nnacre: "knowledge/Tea"\nmine: 1\n---\nGreen.\n'
    )
    assert world.files.pages["Diary/someday.md"] == "No date."
    assert world.sync().added == 0


def edited(world: World) -> None:
    """Make every kind of edit on both sides."""
    world.edit(PAGE, "Ann fed cat 1", "Ann fed one")
    world.drop(PAGE, "cat 2")
    world.edit("Memories/Unsorted.md", "a net", "two nets")
    world.files.pages[PAGE] += "- Ann likes tea\n- Ann likes tea\n"
    world.files.pages["Notes/todo.md"] = "buy tea"
    del world.files.pages["Knowledge/Pearls how.md"]
    world.kept.memory.corrections.correct(world.kept.id, a_node(3).node_id, "Ann fed A", by="agent")
    world.edit(PAGE, "Ann fed cat 3", "Ann fed B")
    world.kept.memory.nodes.add(world.kept.id, [a_node(8, action="Bob sings")])


class StoppingTable(SqliteTable):
    """A table whose process dies before one of its writes."""

    before_write: Callable[[], None] = staticmethod(lambda: None)

    def transact(self, writes: Sequence[Write], *, token: str | None = None) -> None:
        self.before_write()
        super().transact(writes, token=token)


def test_a_run_that_is_killed_at_any_step_loses_and_doubles_nothing(clock: StillClock) -> None:
    steps = 0
    while killed_once(clock, steps):
        steps += 1
    assert steps > 20


def killed_once(clock: StillClock, steps: int) -> bool:
    """Kill a run after so many steps, and let the next ones go on; return whether it was killed."""
    database = SqliteDatabase(":memory:")
    table = StoppingTable(database, now=clock)
    world = new_world(keeper(table, queue_of(database, clock), clock), clock)
    edited(world)
    table.before_write = world.files.step
    world.files.steps_left = steps
    was_killed = False
    try:
        world.sync()
    except KilledError:
        was_killed = True
    world.files.steps_left = None
    world.sync()
    assert world.sync() == SyncResult()
    assert sorted(world.said()) == sorted(
        [
            "[2026-07-01] Ann fed one ([[Ann]])",
            "[2026-07-01] Ann fed A ([[Ann]])",
            "[2026-07-01] Bob bought two nets ([[Ann]])",
            "[2026-07-01] Bob sings ([[Ann]])",
            "[2026-07-28] Ann likes tea",
            "[2026-07-28] Ann likes tea",
            "buy tea",
            "call Bob",
        ]
    ), steps
    assert world.node(2).hidden_by == "mirror"
    assert sum("Ann fed B" in text for text in world.files.copies.values()) == 1
    assert sum("Slowly." in text for text in world.files.copies.values()) == 1
    database.close()
    return was_killed


def test_pages_that_a_program_wrote_anew_without_marks_are_the_same(world: World) -> None:
    world.files.pages["Knowledge/Pearls how.md"] = "Very slowly."
    content = world.files.pages[PAGE]
    without = "\n".join(line.partition(" ^")[0] for line in content.split("\n"))
    world.files.pages[PAGE] = without

    result = world.sync()

    assert (result.corrected, result.added, result.deleted) == (1, 0, 0)
    assert world.files.pages[PAGE] == content
    assert world.files.pages["Knowledge/Pearls how.md"] == (
        '---\nnacre: "knowledge/Pearls: how?"\n---\nVery slowly.\n'
    )
    assert "Very slowly." in world.said()
