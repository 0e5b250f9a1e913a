"""Laws of a mirror: whatever both sides do, they are the same afterwards, and no text is lost."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.being.memory.mirror.entry_page import parsed_entry
from nacre.being.memory.mirror.list_page import (
    items_of,
    new_item,
    parsed_page,
    with_items_added,
    written_page,
)
from nacre.being.memory.mirror.memory_line import MemoryLine, parsed_line, plain
from nacre.being.memory.mirror.names import file_name, path_key
from nacre.being.memory.mirror.sync import SyncResult
from nacre.being.memory.store.targets import KNOWLEDGE
from tests.adapters.conftest import StillClock
from tests.being.memory.keeping import a_node, keeper, queue_of
from tests.being.memory.mirror.test_sync import World, new_world

ID = a_node(1).node_id
texts = st.text(min_size=1, max_size=60).map(plain).filter(bool)
lines = st.text("ab -*+#`~[]()^\n\t>|1.é", min_size=1, max_size=40).map(plain).filter(bool)


@given(st.text("-*+ ab\n\t`~#^[]\r", max_size=80))
def test_a_page_that_is_not_changed_is_written_as_it_was(content: str) -> None:
    assert written_page(parsed_page(content)) == content


@given(st.lists(texts | lines, max_size=4), st.text("ab\n -#", max_size=20))
def test_items_are_read_as_they_were_written(said: list[str], before: str) -> None:
    items = [new_item(text, ID) for text in said]
    page = with_items_added(parsed_page(before), items)

    read = [item for item in items_of(parsed_page(written_page(page))) if item.memory_id]

    assert [(item.text, item.memory_id) for item in read] == [(text, ID) for text in said]


@given(lines, st.lists(st.dates(), max_size=3), st.lists(st.text("abé ", min_size=1), max_size=3))
def test_a_line_is_the_same_after_reading_it(
    action: str, days: list[object], actors: list[str]
) -> None:
    people = tuple(dict.fromkeys(name.strip() for name in actors if name.strip()))
    line = str(MemoryLine(action, tuple(sorted({str(day) for day in days})), people))

    assert str(parsed_line(line)) == line


@given(texts)
def test_an_entry_is_read_as_it_was_written(text: str) -> None:
    page = parsed_entry("").named("notes/x").with_text(text)

    assert parsed_entry(str(page)) == page
    assert page.name == "notes/x"


@given(st.text(max_size=200))
def test_names_are_accepted_everywhere(title: str) -> None:
    name = file_name(title)

    assert 0 < len(name.encode()) <= 130
    assert not set(name) & set('\\/:*?"<>|#^[]%\0\n')
    assert name == name.strip(" .")
    assert path_key(name) == path_key(name.upper()) or name.upper().lower() != name.lower()


MINE = ("mine 1", "mine\ntwo", "mine 3 ([[Bob]])")
edits = st.lists(
    st.tuples(
        st.sampled_from(("change", "drop", "add", "move", "remove page", "add page", "being")),
        st.integers(0, 5),
        st.sampled_from(MINE),
    ),
    max_size=6,
)
REMOVED = "removed"


@given(st.lists(edits, min_size=1, max_size=3))
def test_after_any_edits_both_sides_are_the_same_and_nothing_is_lost(
    rounds: list[list[tuple[str, int, str]]],
) -> None:
    clock = StillClock()
    database = SqliteDatabase(":memory:")
    table = SqliteTable(database, now=clock)
    world = new_world(keeper(table, queue_of(database, clock), clock), clock)
    rng = Random(3)
    for number, round_ in enumerate(rounds):
        expected = set()
        for place, (kind, which, text) in enumerate(round_):
            text = f"{text} {number}.{place}"
            if changed(world, kind, which, text, rng):
                expected.add(plain(text))
        present = {text for text in expected if in_pages(world, text) or text in being(world)}
        world.sync("delete")
        assert world.sync("stop") == SyncResult()
        everywhere = being(world) + "".join(world.files.copies.values())
        for text in present:
            assert plain(text).split(" ([[")[0].split("\n")[0] in everywhere
        for name, unit in world.units().items():
            pages = "".join(world.files.pages.values())
            assert name in pages, (name, unit)
    database.close()


def being(world: World) -> str:
    return "\n".join(world.said())


def in_pages(world: World, text: str) -> bool:
    first = text.split("\n")[0]
    return any(first in content for content in world.files.pages.values())


def changed(world: World, kind: str, which: int, text: str, rng: Random) -> bool:
    """Make one edit; return whether it put the text somewhere."""
    pages = world.files.pages
    entries = sorted(path for path in pages if path.startswith("Knowledge/"))
    lists = sorted(path for path in pages if path.startswith("Memories/"))
    if kind == "being":
        return changed_being(world, which, text)
    if kind == "add page":
        pages[f"Knowledge/New {which}.md"] = text
        return True
    if kind == "remove page" and entries:
        del pages[entries[which % len(entries)]]
    elif kind == "move" and lists:
        row = taken_out(world, lists[which % len(lists)], which)
        pages[lists[rng.randrange(len(lists))]] += f"{row}\n" if row else ""
    elif kind == "drop" and lists:
        taken_out(world, lists[which % len(lists)], which)
    elif kind in ("add", "change") and lists:
        path = lists[which % len(lists)]
        row = taken_out(world, path, which) if kind == "change" else ""
        mark = f" ^{row.rpartition(' ^')[2]}" if " ^" in row else ""
        pages[path] += new_item(text, ID).raw.removesuffix(f" ^{ID}") + f"{mark}\n"
        return True
    return False


def changed_being(world: World, which: int, text: str) -> bool:
    memory, id_ = world.kept.memory, world.kept.id
    if which % 3 == 0:
        memory.entries.update(id_, KNOWLEDGE, "Pearls: how?", text)
        return True
    if which % 3 == 1 and world.node(2).status != "hidden":
        memory.corrections.correct(id_, world.node(2).node_id, text, by="agent")
        return True
    memory.corrections.hide(id_, world.node(3).node_id, by="owner")
    return False


def taken_out(world: World, path: str, which: int) -> str:
    """Remove an item of one line from a page and return it; "" if there is none."""
    rows = world.files.pages[path].split("\n")
    items = [place for place, row in enumerate(rows) if row.startswith("- ") and " ^" in row]
    if not items:
        return ""
    row = rows.pop(items[which % len(items)])
    world.files.pages[path] = "\n".join(rows)
    return row
