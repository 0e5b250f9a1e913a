"""The command `nacre import`, on the laptop and on a stack."""

import io
import json
import zipfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from nacre.adapters.embeddings.builtin_models import ENCODER
from nacre.being.memory.index.vector_items import pages
from nacre.being.memory.model import keys
from nacre.being.memory.model.types import Scene, SceneDraft
from nacre.being.memory.store.targets import TARGETS
from nacre.core.limits import MAX_RELATIONS
from nacre.ports.items.table import Change
from tests.cli.conftest import Nacre
from tests.cli.worlds import World, laptop_world, stack_world

EMBEDDING = ENCODER.emb_id


def being(nacre: Nacre, world: World, name: str) -> str:
    return str(nacre("being", "create", name, "--json", *world.options).json()["being_id"])


@pytest.fixture
def export(nacre: Nacre, world: World, tmp_path: Path) -> Path:
    """An export of Ann, who remembers a little."""
    being_id = being(nacre, world, "Ann")
    drafts = [
        SceneDraft(action=f"found pearl {number}", actors=("Ann",), when=("2026-07-01",))
        for number in range(3)
    ]
    world.memory.scenes.record(being_id, drafts, notes=["buy a net"])
    world.memory.entries.append(being_id, TARGETS["knowledge"], "x" * 5000, key="Pearls")
    file = tmp_path / "ann.jsonl.gz"
    assert nacre("export", str(file), "--being", "Ann", *world.options).code == 0
    return file


def state(nacre: Nacre, world: World, name: str, tmp_path: Path) -> str:
    file = tmp_path / f"state-{name}"
    exported = nacre("export", str(file), "--force", "--json", "--being", name, *world.options)
    return str(exported.json()["state"])


def test_an_import_makes_a_being_with_the_same_state(
    nacre: Nacre, world: World, export: Path, tmp_path: Path
) -> None:
    done = nacre("import", str(export), "--create", "Copy", "--json", *world.options).json()

    assert done["new"] == {"knowledge": 1, "notes": 1, "scene": 3}
    assert done["same"] == {"being": 1}
    assert done["same_state"] is True
    assert (
        state(nacre, world, "Copy", tmp_path)
        == done["state"]
        == state(nacre, world, "Ann", tmp_path)
    )


def test_what_was_imported_is_found_by_meaning(nacre: Nacre, world: World, export: Path) -> None:
    copy = nacre("import", str(export), "--create", "Copy", "--json", *world.options).json()

    [items] = pages(world.table, copy["being_id"])
    assert len(items) == 3
    assert all(EMBEDDING in item.vectors for item in items)
    assert world.indexing.marks.newest(copy["being_id"]) == []
    if world.file is not None:
        assert len(world.indexing.index(EMBEDDING).scan(copy["being_id"], after=None, limit=9)) == 3


def test_vectors_of_an_export_are_not_made_again(
    nacre: Nacre, world: World, export: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nacre.adapters.embeddings import combined_embedder

    assert (
        nacre("export", str(export), "--force", "--vectors", "--being", "Ann", *world.options).code
        == 0
    )

    def refuse(*_: object) -> Any:
        raise AssertionError("a model was asked")

    monkeypatch.setattr(combined_embedder.CombinedEmbedder, "documents", refuse)
    copy = nacre("import", str(export), "--create", "Copy", "--json", *world.options).json()

    [items] = pages(world.table, copy["being_id"])
    assert [list(item.vectors) for item in items] == [[EMBEDDING]] * 3


def test_the_same_file_again_changes_nothing(nacre: Nacre, world: World, export: Path) -> None:
    for _ in range(2):
        again = nacre("import", str(export), "--into", "Ann", "--json", *world.options).json()

        assert (again["new"], again["kept"], again["same_state"]) == ({}, {}, True)


def test_a_dry_run_writes_nothing(nacre: Nacre, world: World, export: Path) -> None:
    previewed = nacre("import", str(export), "--create", "Copy", "--dry-run", *world.options)

    assert previewed.code == 0
    assert previewed.out.splitlines()[0].split() == [
        "KIND", "NEW", "ALREADY", "THERE", "NOT", "CHANGED", "NO", "ROOM"
    ]  # fmt: skip
    assert ["scene", "3", "0", "0", "0"] in [line.split() for line in previewed.out.splitlines()]
    assert previewed.err == "Nothing was written. Without --dry-run, this is imported into Copy.\n"
    assert len(nacre("being", "list", "--json", *world.options).json()) == 1


def test_a_taken_name_is_refused_and_told_what_to_do(
    nacre: Nacre, world: World, export: Path
) -> None:
    being(nacre, world, "Copy")

    refused = nacre("import", str(export), "--create", "copy", *world.options)

    assert refused.code == 5
    assert "choose another name, or give --into to import into that one" in refused.err


def test_a_being_that_was_erased_comes_back_with_its_id(
    nacre: Nacre, world: World, export: Path
) -> None:
    before = nacre("being", "list", "--json", *world.options).json()
    assert nacre("forget", "being", "Ann", "--yes", *world.options).code == 0

    first = nacre("import", str(export), "--create", "Ann", "--json", *world.options).json()
    again = nacre("import", str(export), "--create", "Ann", "--json", *world.options).json()

    assert nacre("being", "list", "--json", *world.options).json() == before
    assert first["being_id"] == again["being_id"] == before[0]["being_id"]
    assert (again["new"], again["same_state"]) == ({}, True)


def test_a_damaged_file_is_refused_before_anything_is_written(
    nacre: Nacre, world: World, export: Path
) -> None:
    export.write_bytes(export.read_bytes()[:-40])

    refused = nacre("import", str(export), "--create", "Copy", *world.options)

    assert refused.code == 2
    assert f"error: {export}: line " in refused.err
    assert "the file is cut off" in refused.err
    assert len(nacre("being", "list", "--json", *world.options).json()) == 1


def test_standard_input_is_read(
    nacre: Nacre, world: World, export: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(export.read_bytes())))

    done = nacre("import", "-", "--create", "Copy", "--json", *world.options).json()

    assert done["same_state"] is True


def test_two_targets_are_one_too_many(nacre: Nacre, world: World, export: Path) -> None:
    refused = nacre("import", str(export), "--create", "A", "--into", "B", *world.options)

    assert (refused.code, refused.err.splitlines()[0]) == (
        2,
        "error: --into and --create name two Beings; give only one",
    )


def test_a_memory_goes_to_a_stack_and_back(
    nacre: Nacre, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as stack:
        here = stack.enter_context(laptop_world(folder, nacre))
        there = stack.enter_context(stack_world(monkeypatch))
        being_id = being(nacre, here, "Ann")
        drafts = [SceneDraft(action="found a pearl", actors=("Ann",), when=("2026-07-01",))]
        here.memory.scenes.record(being_id, drafts)
        first, second = tmp_path / "there.jsonl", tmp_path / "back.jsonl.gz"

        nacre("export", str(first))
        up = nacre("import", str(first), "--create", "Ann", "--json", *there.options).json()
        nacre("export", str(second), *there.options)
        down = nacre("import", str(second), "--create", "Ann again", "--json").json()

        assert (up["being_id"], up["same_state"], down["same_state"]) == (being_id, True, True)
        assert up["state"] == down["state"]
        assert down["being_id"] != being_id  # it is taken here


# Other programs


def scenes(world: World, being_id: str) -> list[Scene]:
    return list(world.memory.scenes.page(being_id).scenes)


def test_the_memory_of_server_memory_comes_in_once(
    nacre: Nacre, world: World, tmp_path: Path
) -> None:
    being_id = being(nacre, world, "Ann")
    file = tmp_path / "memory.jsonl"
    lines = [
        {"type": "entity", "name": "Mia", "entityType": "person", "observations": ["likes tea"]},
        {"type": "relation", "from": "Mia", "to": "Ann", "relationType": "is_friend_of"},
        {"type": "strange"},
    ]
    file.write_text("\n".join([*map(json.dumps, lines), "{broken"]))
    options = ["--format", "server-memory", "--json", *world.options]

    dry = nacre("import", str(file), "--dry-run", *options).json()
    done = nacre("import", str(file), *options).json()
    again = nacre("import", str(file), *options).json()

    assert dry["new"] == done["new"] == again["same"] == {"relation": 1, "scene": 2}
    assert again["new"] == {}
    assert done["not_understood"] == [
        {"reason": "neither an entity nor a relation", "count": 1, "where": ["line 3"]},
        {"reason": "not JSON", "count": 1, "where": ["line 4"]},
    ]
    assert {each.action for each in scenes(world, being_id)} == {
        "likes tea",
        "Mia is friend of Ann",
    }
    assert {each.trust for each in scenes(world, being_id)} == {"import"}


def test_entities_without_room_are_kept_as_scenes_and_said_up_front(
    nacre: Nacre, world: World, tmp_path: Path
) -> None:
    being_id = being(nacre, world, "Ann")
    world.table.update(keys.meta(being_id), Change(set={"n_relations": MAX_RELATIONS - 1}))
    file = tmp_path / "memory.jsonl"
    lines = [
        {"type": "entity", "name": name, "entityType": "person", "observations": seen}
        for name, seen in (("Mia", ["likes tea"]), ("Bo", []), ("Cy", ["likes rain"]))
    ]
    file.write_text("\n".join(map(json.dumps, lines)))
    options = ["--format", "server-memory", *world.options]

    told = nacre("import", str(file), "--dry-run", *options)
    done = nacre("import", str(file), "--json", *options).json()
    again = nacre("import", str(file), "--json", *options).json()

    assert "no room, so kept as scenes: 2 of kind relation\n" in told.out
    assert (done["new"], done["no_room"], done["as_scenes"]) == (
        {"relation": 1, "scene": 4}, {}, {"relation": 2}
    )  # fmt: skip
    assert (again["new"], again["same"]) == ({}, {"relation": 1, "scene": 4})
    found = {each.action for each in scenes(world, being_id)}
    assert found == {"likes tea", "likes rain", "Bo: person\nperson", "Cy: person\n- likes rain"}


def test_the_memories_of_mem0_keep_their_dates(nacre: Nacre, world: World, tmp_path: Path) -> None:
    being_id = being(nacre, world, "Ann")
    memory = {
        "id": "1",
        "memory": "Likes tea",
        "user_id": "mia",
        "created_at": "2025-03-04T05:06:07Z",
    }
    file = tmp_path / "mem0.json"
    file.write_text(json.dumps({"results": [memory, {"memory": " "}]}))

    done = nacre("import", str(file), "--format", "mem0", *world.options)

    assert done.code == 0
    assert "not understood: 1: a memory without text (memory 2)" in done.out
    [scene] = scenes(world, being_id)
    assert (scene.action, scene.actors, scene.when) == ("Likes tea", ("mia",), ("2025-03-04",))


@pytest.mark.parametrize("packed", [False, True], ids=["folder", "zip"])
def test_the_notes_of_basic_memory_become_knowledge_and_scenes(
    nacre: Nacre, world: World, tmp_path: Path, *, packed: bool
) -> None:
    being_id = being(nacre, world, "Ann")
    text = "---\ntitle: Tea\ncreated: 2025-01-02\n---\n# Tea\n\n- [fact] green is mild #tea\n"
    source = tmp_path / "notes"
    source.mkdir()
    (source / "tea.md").write_text(text)
    (source / "picture.png").write_bytes(b"\x89PNG")
    if packed:
        source = tmp_path / "notes.zip"
        with zipfile.ZipFile(source, "w") as file:
            file.writestr("notes/tea.md", text)

    done = nacre("import", str(source), "--format", "basic-memory", "--json", *world.options).json()

    assert done["new"] == {"knowledge": 1, "scene": 1}
    entry = world.memory.entries.get(being_id, TARGETS["knowledge"], "Tea")
    assert entry is not None
    assert entry.text == "# Tea\n\n- [fact] green is mild #tea"
    [scene] = scenes(world, being_id)
    assert (scene.when, scene.setting) == (("2025-01-02",), "Tea")


def test_a_file_that_cannot_be_read_is_named(nacre: Nacre, world: World, tmp_path: Path) -> None:
    being(nacre, world, "Ann")
    missing, text = tmp_path / "none", tmp_path / "text.txt"
    text.write_text("just words")

    for format_ in ("nacre", "server-memory", "mem0", "basic-memory"):
        refused = nacre("import", str(missing), "--format", format_, *world.options)
        assert refused.code == 2, format_
        assert str(missing) in refused.err
    assert nacre("import", str(text), "--format", "mem0", *world.options).err == (
        "error: the file is neither JSON nor JSON lines\n"
    )
    assert "this is not an export of Nacre" in nacre("import", str(text), *world.options).err
