"""The command `nacre mirror`, over a folder of this machine."""

import json
import os
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

import pytest

from nacre.being.memory.model.types import SceneDraft
from nacre.being.memory.store.targets import KNOWLEDGE
from nacre.cli.memory.mirror_folder import open_mirror_folder
from nacre.core.errors import ConflictError
from tests.cli.conftest import Nacre, Typed
from tests.cli.worlds import World

UNSORTED = "Memories/Unsorted.md"


@pytest.fixture
def being_id(nacre: Nacre, world: World) -> str:
    """The id of Ann, who has seven scenes and an entry of knowledge."""
    id_ = str(nacre("being", "create", "Ann", "--json", *world.options).json()["being_id"])
    drafts = [
        SceneDraft(action=f"found pearl {number}", actors=("Ann",), when=("2026-07-01",))
        for number in range(7)
    ]
    world.memory.scenes.record(id_, drafts)
    world.memory.entries.update(id_, KNOWLEDGE, "Pearls", "Grain by grain.")
    return id_


@pytest.fixture
def folder_(tmp_path: Path) -> Path:
    return tmp_path / "vault"


def said(world: World, being_id: str) -> list[str]:
    return sorted(scene.action for scene in world.memory.scenes.pending(being_id).scenes)


def test_a_folder_is_written_and_its_edits_are_taken(
    nacre: Nacre, world: World, being_id: str, folder_: Path
) -> None:
    first = nacre("mirror", str(folder_), "--json", *world.options).json()
    assert (first["written"], first["added"]) == (2, 0)
    page = folder_ / UNSORTED
    page.write_text(page.read_text().replace("pearl 3", "two pearls") + "- Bob sings\n")
    (folder_ / "Knowledge/Pearls.md").unlink()

    dry = nacre("mirror", str(folder_), "--dry-run", "--json", *world.options).json()
    done = nacre("mirror", str(folder_), "--json", *world.options).json()
    again = nacre("mirror", str(folder_), "--json", *world.options).json()

    for result in (dry, done):
        assert (result["corrected"], result["added"], result["deleted"]) == (1, 1, 1)
    assert again == {**dry, **dict.fromkeys(("corrected", "added", "deleted"), 0), "dry_run": False}
    assert {"Bob sings", "found two pearls"} <= {*said(world, being_id)}
    assert "found pearl 3" not in said(world, being_id)
    [copy] = (folder_ / ".nacre/deleted").iterdir()
    assert "Grain by grain." in copy.read_text()


@pytest.mark.parametrize("answer", ["delete\n", "restore\n", "\n"])
def test_more_than_five_deletions_are_asked_about(
    answer: str, nacre: Nacre, world: World, being_id: str, folder_: Path, typed: Typed
) -> None:
    nacre("mirror", str(folder_), *world.options)
    (folder_ / UNSORTED).unlink()
    typed(answer)

    outcome = nacre("mirror", str(folder_), *world.options)

    assert "7 memories and entries are missing from the folder" in outcome.err
    assert outcome.code == (5 if answer == "\n" else 0)
    assert len(said(world, being_id)) == (0 if answer == "delete\n" else 7)
    assert (folder_ / UNSORTED).exists() == (answer == "restore\n")


def test_a_folder_that_is_not_mounted_deletes_nothing(
    nacre: Nacre, world: World, being_id: str, folder_: Path, tmp_path: Path
) -> None:
    nacre("mirror", str(folder_), *world.options)
    folder_.rename(tmp_path / "elsewhere")
    folder_.mkdir()

    refused = nacre("mirror", str(folder_), "--yes", *world.options)
    assert refused.code == 5
    assert "is it mounted, and on the right branch? Nothing was changed" in refused.err
    assert len(said(world, being_id)) == 7
    assert list(folder_.iterdir()) == []
    anew = nacre("mirror", str(folder_), "--restart", "--json", *world.options)

    assert anew.json()["written"] == 2
    assert len(said(world, being_id)) == 7


def test_a_switched_branch_is_asked_about(
    nacre: Nacre, world: World, being_id: str, folder_: Path
) -> None:
    (folder_ / ".git").mkdir(parents=True)
    (folder_ / ".git/HEAD").write_text("ref: refs/heads/main\n")
    nacre("mirror", str(folder_), *world.options)
    (folder_ / ".git/HEAD").write_text("ref: refs/heads/other\n")
    page = folder_ / UNSORTED
    page.write_text("".join(page.read_text().splitlines(keepends=True)[:-1]))

    refused = nacre("mirror", str(folder_), *world.options)

    assert refused.code == 5
    assert "--yes deletes them, --restore writes them again" in refused.err
    assert len(said(world, being_id)) == 7


def test_other_folders_are_refused(
    nacre: Nacre, world: World, being_id: str, folder_: Path, tmp_path: Path
) -> None:
    folder_.mkdir()
    (folder_ / "diary.md").write_text("mine")
    full = nacre("mirror", str(folder_), *world.options)
    nacre("mirror", str(tmp_path / "a"), *world.options)
    nacre("being", "create", "Ben", *world.options)
    other = nacre("mirror", str(tmp_path / "a"), "--being", "Ben", *world.options)
    subprocess.run(["cp", "-r", str(tmp_path / "a"), str(tmp_path / "b")], check=True)
    copy = nacre("mirror", str(tmp_path / "b"), "--being", "Ann", *world.options)

    assert (full.code, other.code, copy.code) == (2, 5, 5)
    assert "is not empty" in full.err
    assert "is a mirror of another Being" in other.err
    assert "is a copy of the mirror in" in copy.err


def test_a_dry_run_begins_no_mirror(
    nacre: Nacre, world: World, being_id: str, folder_: Path
) -> None:
    refused = nacre("mirror", str(folder_), "--dry-run", *world.options)

    assert refused.code == 2
    assert not folder_.exists()


def test_marks_and_line_ends_of_windows_stay(
    nacre: Nacre, world: World, being_id: str, folder_: Path
) -> None:
    nacre("mirror", str(folder_), *world.options)
    page = folder_ / UNSORTED
    text = page.read_text().replace("pearl 3", "a big\n  pearl") + "- Bob sings\n"
    page.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    page.chmod(0o644)

    nacre("mirror", str(folder_), *world.options)

    content = page.read_bytes()
    assert content.startswith(b"\xef\xbb\xbf---\r\n")
    assert content.count(b"\n") == content.count(b"\r\n")
    assert b"Bob sings" in content
    assert page.stat().st_mode & 0o777 == 0o644
    assert "found a big\npearl" in said(world, being_id)


def test_names_in_another_normal_form_are_the_same_page(
    nacre: Nacre, world: World, being_id: str, folder_: Path
) -> None:
    world.memory.entries.update(being_id, KNOWLEDGE, "Café", "Dark.")
    world.memory.entries.update(being_id, KNOWLEDGE, "CAFÉ", "Light.")
    nacre("mirror", str(folder_), *world.options)
    names = sorted(file.name for file in (folder_ / "Knowledge").iterdir())
    assert names == ["CAFÉ.md", "Café 2.md", "Pearls.md"]
    file = folder_ / "Knowledge/CAFÉ.md"
    file.rename(file.with_name(unicodedata.normalize("NFD", file.name)))

    result = nacre("mirror", str(folder_), "--json", *world.options).json()

    assert not any(result[name] for name in ("corrected", "added", "deleted", "written", "removed"))


def test_two_pages_whose_names_look_the_same_are_left_alone(
    nacre: Nacre, world: World, being_id: str, folder_: Path
) -> None:
    nacre("mirror", str(folder_), *world.options)
    page = folder_ / "Memories" / "Müller.md"
    page.write_text("- Bob sings\n")
    nacre("mirror", str(folder_), *world.options)
    twin = page.with_name(unicodedata.normalize("NFD", page.name))
    twin.write_text(page.read_text().replace("sings", "whistles"))

    result = nacre("mirror", str(folder_), "--json", *world.options).json()
    twin.unlink()
    after = nacre("mirror", str(folder_), "--json", *world.options).json()

    assert result["unreadable"] == ["Memories/Müller.md"]
    assert not any(each[name] for each in (result, after) for name in ("corrected", "deleted"))
    assert "Bob sings" in said(world, being_id)


@pytest.mark.parametrize("way", ["renamed", "a link to nowhere", "a link to itself"])
def test_a_top_folder_that_is_gone_deletes_nothing_unasked(
    way: str, nacre: Nacre, world: World, being_id: str, folder_: Path
) -> None:
    nacre("mirror", str(folder_), *world.options)
    knowledge = folder_ / "Knowledge"
    knowledge.rename(folder_ / "knowledge-2")
    if way != "renamed":
        knowledge.symlink_to(folder_ / ("Knowledge" if way.endswith("itself") else "disk"))

    outcome = nacre("mirror", str(folder_), *world.options)

    assert outcome.code == 5
    assert "nothing was changed" in outcome.err
    assert "Grain by grain." in str(world.memory.entries.page(being_id, KNOWLEDGE).entries)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_cannot_be_listed_deletes_nothing(
    nacre: Nacre, world: World, being_id: str, folder_: Path
) -> None:
    nacre("mirror", str(folder_), *world.options)
    inner = folder_ / "Memories" / "inner"
    inner.mkdir()
    (inner / "Songs.md").write_text("- Bob sings\n")
    nacre("mirror", str(folder_), *world.options)
    inner.chmod(0)

    refused = nacre("mirror", str(folder_), *world.options)
    inner.chmod(0o400)  # it can be listed, and its pages cannot be read
    listed = nacre("mirror", str(folder_), "--json", *world.options).json()
    inner.chmod(0o700)

    assert refused.code == 5
    assert "inner cannot be read (Permission denied)" in refused.err
    assert "nothing was changed" in refused.err
    assert listed["unreadable"] == ["Memories/inner/Songs.md"]
    assert "Bob sings" in said(world, being_id)


def test_an_erased_text_leaves_the_mirror_with_its_next_run(
    nacre: Nacre, world: World, being_id: str, folder_: Path, folder: Path
) -> None:
    nacre("mirror", str(folder_), *world.options)
    [state] = (folder / "mirrors").glob("*.json")

    erased = nacre("forget", "entry", "knowledge", "Pearls", "--yes", *world.options)
    assert f"A mirror of Ann is in {folder_}: 'nacre mirror' updates its pages." in erased.err
    nacre("mirror", str(folder_), *world.options)

    assert "Grain" not in state.read_text()
    assert not any("Grain" in file.read_text() for file in folder_.rglob("*.md"))
    nacre("being", "create", "Ben", *world.options)
    assert (
        nacre("forget", "being", "Ben", "--yes", "--json", *world.options).json()["mirrors"] == []
    )
    whole = nacre("forget", "being", "Ann", "--yes", *world.options)
    assert f"A mirror of Ann is in {folder_}: delete it." in whole.err


def test_a_page_that_an_editor_saves_by_renaming_is_not_deleted(
    nacre: Nacre, world: World, being_id: str, folder_: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nacre("mirror", str(folder_), *world.options)
    page, saved = folder_ / UNSORTED, folder_ / "Memories/.Unsorted.md.tmp"
    page.rename(saved)
    monkeypatch.setattr(time, "sleep", lambda seconds: saved.rename(page))

    result = nacre("mirror", str(folder_), "--json", *world.options).json()

    assert result["deleted"] == 0
    assert len(said(world, being_id)) == 7


def test_a_page_in_another_encoding_is_left_alone(
    nacre: Nacre, world: World, being_id: str, folder_: Path
) -> None:
    nacre("mirror", str(folder_), *world.options)
    page = folder_ / UNSORTED
    content = page.read_text().encode("utf-16")
    page.write_bytes(content)

    result = nacre("mirror", str(folder_), "--json", *world.options).json()

    assert result["unreadable"] == [UNSORTED]
    assert page.read_bytes() == content
    assert len(said(world, being_id)) == 7


def test_a_link_leads_nowhere(
    nacre: Nacre, world: World, being_id: str, folder_: Path, tmp_path: Path
) -> None:
    nacre("mirror", str(folder_), *world.options)
    secret = tmp_path / "secret.md"
    secret.write_text("- a secret\n")
    (folder_ / "Memories/link.md").symlink_to(secret)

    assert nacre("mirror", str(folder_), "--json", *world.options).json()["added"] == 0


def test_a_damaged_mark_is_said(folder_: Path, tmp_path: Path, being_id: str) -> None:
    opened = open_mirror_folder(str(folder_), str(tmp_path), being_id, restart=False)
    (folder_ / ".nacre/mirror.json").unlink()

    with pytest.raises(ConflictError, match="is it mounted"):
        opened.read()


@pytest.mark.slow
def test_watching_takes_edits_until_it_is_stopped(
    nacre: Nacre, folder: Path, folder_: Path
) -> None:
    nacre("being", "create", "Ann")
    command = [
        sys.executable,
        "-m",
        "nacre.cli",
        "mirror",
        str(folder_),
        "--watch",
        "--every",
        "0.2",
    ]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while not list((folder / "mirrors").glob("*.json")) and time.monotonic() < deadline:
            time.sleep(0.05)
        (folder_ / "Memories").mkdir()
        page = folder_ / "Memories/Pearls.md"
        page.write_text("- Ann found a pearl\n")
        while "^" not in page.read_text() and time.monotonic() < deadline:
            time.sleep(0.05)
        other = nacre("mirror", str(folder_))
    finally:
        process.send_signal(2)
        code = process.wait(timeout=30)

    assert "^" in page.read_text()
    assert (code, other.code) == (0, 5)
    assert json.loads(nacre("status", "--json").out)
