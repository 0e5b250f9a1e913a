"""The commands `nacre backup` and `nacre restore` on the laptop."""

import io
import json
import signal
import sqlite3
import stat
import tarfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from nacre.adapters.files.audit import JsonlAudit, JsonlRecords
from nacre.adapters.files.backup_file import Manifest, write_backup
from nacre.adapters.files.blobs import FileBlobs
from nacre.adapters.sqlite.copy import copy_database, count_rows
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.being.memory.model.types import SceneDraft
from nacre.cli.hooks.capture_settings import (
    NO_CAPTURE,
    CaptureSettings,
    read_settings,
    write_settings,
)
from nacre.core.clock import system_clock
from nacre.core.lazy_dataclasses import replace
from nacre.core.limits import AUDIT_FILE_BYTES
from nacre.firewall.audit.entry import AuditEntry
from nacre.firewall.audit.log import AuditTrail, verify_chain
from nacre.ports.items.table import Change, Key, Put, Update
from nacre.wiring.data_folder import AUDIT, DATABASE
from nacre.wiring.laptop import BLOBS
from nacre.wiring.laptop_backups import back_up, restore
from tests.cli.conftest import Nacre
from tests.cli.processes import finish, serving, start
from tests.cli.worlds import World, laptop_world

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


@pytest.fixture
def world(folder: Path, nacre: Nacre) -> Iterator[World]:
    with laptop_world(folder, nacre) as world:
        yield world


@pytest.fixture
def being_id(nacre: Nacre, world: World, folder: Path) -> str:
    """Make a Being with a memory, a token, a secret and a file."""
    being_id = str(nacre("being", "create", "Ann", "--json").json()["being_id"])
    nacre("token", "create", "--being", "Ann", "--scope", "full")
    drafts = [SceneDraft(action="found a pearl", actors=("Ann",), when=("2026-07-01",))]
    world.memory.scenes.record(being_id, drafts)
    FileBlobs(folder / BLOBS).put(f"{being_id}/photo", b"\x00picture")
    (folder / "secrets").mkdir(mode=0o700)
    (folder / "secrets" / "KEY").write_text("sk-secret")
    return being_id


def test_a_restored_folder_keeps_what_the_other_kept(
    nacre: Nacre, folder: Path, being_id: str, tmp_path: Path
) -> None:
    file, copy = tmp_path / "all.tar", tmp_path / "copy"

    made = nacre("backup", str(file))
    restored = nacre("restore", str(file), "--data-dir", str(copy))

    assert (made.code, restored.code) == (0, 0), (made.err, restored.err)
    states = [
        nacre("export", str(tmp_path / name), "--data-dir", str(each)).out
        for name, each in (("1", folder), ("2", copy))
    ]
    assert states[0] == states[1]
    tokens = [
        nacre("token", "list", "--being", "Ann", "--json", "--data-dir", str(each)).json()
        for each in (folder, copy)
    ]
    assert tokens[0] == tokens[1]
    assert len(tokens[0]) == 1
    assert FileBlobs(copy / BLOBS).get(f"{being_id}/photo") == b"\x00picture"
    assert (copy / "secrets" / "KEY").read_text() == "sk-secret"
    assert nacre("reindex", "--check", "--json", "--data-dir", str(copy)).json()["sound"] is True
    assert nacre("doctor", "--data-dir", str(copy)).code == 0


def test_a_backup_and_what_comes_of_it_are_its_owners_alone(
    nacre: Nacre, folder: Path, being_id: str, tmp_path: Path
) -> None:
    file, copy = tmp_path / "all.tar", tmp_path / "deep" / "copy"

    nacre("backup", str(file))
    nacre("restore", str(file), "--data-dir", str(copy))

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for each in [copy, *copy.rglob("*")]:
        assert stat.S_IMODE(each.stat().st_mode) == (0o700 if each.is_dir() else 0o600), each
    with closing(sqlite3.connect(copy / DATABASE)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert not list(tmp_path.rglob(".nacre-*"))


def test_secrets_may_be_left_out_and_the_server_goes_on_without(
    nacre: Nacre, folder: Path, being_id: str, tmp_path: Path
) -> None:
    file, copy = tmp_path / "all.tar", tmp_path / "copy"
    (folder / "vault.key").write_bytes(b"k" * 32)
    (folder / "vault.key").chmod(0o600)

    nacre("backup", str(file), "--without-secrets")
    restored = nacre("restore", str(file), "--data-dir", str(copy))

    assert b"sk-secret" not in file.read_bytes()
    assert b"k" * 32 not in file.read_bytes()
    assert "The backup has no secrets" in restored.err
    assert not (copy / "secrets").exists()
    assert nacre("secret", "list", "--json", "--data-dir", str(copy)).json() == []


@pytest.mark.security
def test_a_restore_brings_back_exclusions_and_no_consent(
    nacre: Nacre, folder: Path, being_id: str, tmp_path: Path
) -> None:
    for command in (
        ("allow",),
        ("exclude", "project", "/home/ann/taxes"),
        ("exclude", "word", "Waterloo"),
        ("pause",),
    ):
        assert nacre("capture", *command).code == 0
    before = read_settings(str(folder))
    (folder / "capture").mkdir()
    (folder / "capture" / "claude-code-s1").write_text("120")
    (folder / "hooks.log").write_text("a line\n")
    (folder / "serving").mkdir(exist_ok=True)
    (folder / "serving" / "1").write_text("http://127.0.0.1:9/mcp")
    file, copy = tmp_path / "all.tar", tmp_path / "copy"

    nacre("backup", str(file))
    nacre("capture", "deny")  # after the backup
    restored = nacre("restore", str(file), "--data-dir", str(copy))

    assert before.token.encode() not in file.read_bytes()
    after = read_settings(str(copy))
    assert after == replace(before, consented={}, token="")
    assert (after.is_allowed, after.is_paused, before.is_allowed) == (False, True, True)
    assert (after.projects, after.words) == (("/home/ann/taxes",), ("Waterloo",))
    assert not {"capture", "serving", "hooks.log"} & {path.name for path in copy.iterdir()}
    assert "nacre capture allow" in restored.err
    # The restored store still has the token that the consent brought; a new consent ends it.
    states = []
    for verb in ("status", "allow"):
        assert nacre("capture", verb, "--data-dir", str(copy)).code == 0
        tokens = nacre("token", "list", "--being", "Ann", "--json", "--data-dir", str(copy)).json()
        states += [entry["state"] for entry in tokens if entry["token_id"] == after.token_id]
    assert states == ["active", "revoked"]


@pytest.mark.security
@pytest.mark.parametrize(
    "text",
    [
        "{broken",
        "[]",
        "7",
        "[" * 100_000,
        json.dumps({"consented": {"this machine": "2026"}, "token": "brt_x"}),
    ],
)
def test_a_backup_of_an_early_version_brings_no_consent_either(
    nacre: Nacre, folder: Path, being_id: str, tmp_path: Path, text: str
) -> None:
    """Early versions put the settings of capturing into a backup as they were."""
    store, settings = tmp_path / "store.db", tmp_path / "capture.json"
    copy_database(folder / DATABASE, store)
    settings.write_text(text)
    early, copy = tmp_path / "early.tar", tmp_path / "copy"
    with early.open("wb") as target:
        manifest = Manifest("2026-11-18T12:00:00+00:00", "0.1.0", True, count_rows(store))
        files = [(DATABASE, store), ("capture.json", settings), ("serving/1", settings)]
        write_backup(target, files, manifest)

    assert nacre("restore", str(early), "--data-dir", str(copy)).code == 0

    assert not (copy / "serving").exists()
    assert "brt_x" not in (copy / "capture.json").read_text()
    if text.startswith('{"'):
        assert read_settings(str(copy)) == NO_CAPTURE
    else:
        with pytest.raises(ValueError, match="Expecting"):
            read_settings(str(copy))


@pytest.mark.security
def test_the_token_of_a_server_elsewhere_is_not_backed_up(
    nacre: Nacre, folder: Path, being_id: str, tmp_path: Path
) -> None:
    url = "https://nacre.example.com/mcp"
    elsewhere = CaptureSettings(
        consented={url: "2026"}, url=url, being_id="b", token="brt_far", token_id="tok_far"
    )
    write_settings(str(folder), replace(elsewhere, words=("Waterloo",)))
    file, copy = tmp_path / "all.tar", tmp_path / "copy"

    nacre("backup", str(file))
    nacre("restore", str(file), "--data-dir", str(copy))

    assert read_settings(str(copy)) == replace(NO_CAPTURE, words=("Waterloo",))
    assert not any(text in file.read_bytes() for text in (b"brt_far", b"nacre.example.com"))


def test_what_was_deleted_is_not_in_a_backup(
    nacre: Nacre, world: World, being_id: str, tmp_path: Path
) -> None:
    world.table.put({"pk": "X", "sk": "X", "schema": 1, "text": "a deleted diary " * 99})
    world.table.delete(Key("X", "X"))

    nacre("backup", str(tmp_path / "all.tar"))

    assert b"a deleted diary" not in (tmp_path / "all.tar").read_bytes()


def test_a_file_or_folder_that_is_there_is_left_alone(
    nacre: Nacre, folder: Path, being_id: str, tmp_path: Path
) -> None:
    file, full = tmp_path / "all.tar", tmp_path / "full"
    file.write_text("precious")
    full.mkdir()
    (full / "note").write_text("mine")

    refused = nacre("backup", str(file))
    forced = nacre("backup", str(file), "--force")
    into = [nacre("restore", str(file), "--data-dir", str(each)) for each in (full, folder)]
    onto = nacre("restore", str(file), "--data-dir", str(full / "note"))

    assert (refused.code, forced.code) == (5, 0)
    assert [each.code for each in (*into, onto)] == [5, 5, 5]
    assert into[0].err == (
        f"error: {full} is not empty\n"
        "hint: move it away, or choose another folder with --data-dir\n"
    )
    assert [each.name for each in full.iterdir()] == ["note"]


def test_where_there_is_nothing_nothing_is_made(nacre: Nacre, folder: Path, tmp_path: Path) -> None:
    done = nacre("backup", str(tmp_path / "all.tar"), "--data-dir", str(tmp_path / "none"))

    assert done.code == 3
    assert not (tmp_path / "all.tar").exists()
    assert not (tmp_path / "none").exists()


def test_a_check_tells_what_is_in_it_and_writes_nothing(
    nacre: Nacre, folder: Path, being_id: str, tmp_path: Path
) -> None:
    file = tmp_path / "all.tar"
    nacre("backup", str(file))

    facts = nacre("restore", str(file), "--check", "--json").json()

    assert facts["has_secrets"] is True
    assert facts["counts"]["tokens"] == 1
    assert facts["counts"]["data"] > 2
    assert facts["parts"] == 3
    assert sorted(each.name for each in tmp_path.iterdir()) == ["all.tar", "data", "home"]


def rebuilt(file: Path, change: Callable[[tarfile.TarInfo, bytes], tuple[str, bytes]]) -> None:
    """Write a tar file anew, each part under the name and with the bytes that `change` says."""
    with tarfile.open(file) as archive:
        parts = [(each, archive.extractfile(each)) for each in archive]
        read = [(each, part.read()) for each, part in parts if part is not None]
    with tarfile.open(file, "w") as archive:
        for each, content in read:
            each.name, content = change(each, content)
            each.size = len(content)
            archive.addfile(each, io.BytesIO(content))


def altered(part: tarfile.TarInfo, content: bytes) -> tuple[str, bytes]:
    return part.name, content.replace(b"sk-secret", b"sk-forged")


def escaping(part: tarfile.TarInfo, content: bytes) -> tuple[str, bytes]:
    return part.name.replace("secrets/KEY", "../outside"), content


def newer(part: tarfile.TarInfo, content: bytes) -> tuple[str, bytes]:
    return part.name, content.replace(b'"format": 1', b'"format": 2')


def of_another_program(part: tarfile.TarInfo, content: bytes) -> tuple[str, bytes]:
    return part.name, content.replace(b"nacre-backup", b"other-backup")


@pytest.mark.parametrize(
    ("change", "said", "code"),
    [
        (altered, "was altered: secrets/KEY is not what was written", 2),
        (escaping, "'../outside' leads out of its folder", 2),
        (newer, "The backup was written by a newer Nacre: it has schema 2", 4),
        (of_another_program, "this is not a backup of Nacre", 2),
    ],
)
def test_what_was_not_written_so_is_refused_before_anything_is_written(
    nacre: Nacre,
    being_id: str,
    tmp_path: Path,
    change: Callable[[tarfile.TarInfo, bytes], tuple[str, bytes]],
    said: str,
    code: int,
) -> None:
    file, copy = tmp_path / "all.tar", tmp_path / "copy"
    nacre("backup", str(file))
    rebuilt(file, change)

    done = nacre("restore", str(file), "--data-dir", str(copy))

    assert done.code == code, done.err
    assert said in done.err
    assert not copy.exists()


def test_a_backup_that_is_cut_off_anywhere_is_refused(
    nacre: Nacre, being_id: str, tmp_path: Path
) -> None:
    file, copy = tmp_path / "all.tar", tmp_path / "copy"
    nacre("backup", str(file))
    whole = file.read_bytes()
    end = whole.rindex(b"}", 0, len(whole)) + 1  # zeros follow, which say nothing

    for length in [0, 100, 512, 5000, *range(1024, end, max(1, end // 12)), end - 1]:
        file.write_bytes(whole[:length])
        done = nacre("restore", str(file), "--data-dir", str(copy))
        assert done.code == 2, (length, done.err)
        assert not copy.exists()


def test_a_store_of_a_newer_version_is_not_restored(
    nacre: Nacre, folder: Path, being_id: str, world: World, tmp_path: Path
) -> None:
    file, copy = tmp_path / "all.tar", tmp_path / "copy"
    with file.open("w+b") as content:
        back_up(folder, content, tmp_path, with_secrets=True)

    def of_later(part: tarfile.TarInfo, data: bytes) -> tuple[str, bytes]:
        if part.name == DATABASE:
            # Where SQLite keeps the user version.
            data = data[:60] + (99).to_bytes(4, "big") + data[64:]
        return part.name, data

    import hashlib

    rebuilt(file, of_later)
    with tarfile.open(file) as archive:
        store = archive.extractfile(DATABASE)
        assert store is not None
        fresh = hashlib.sha256(store.read()).hexdigest()

    def listed(part: tarfile.TarInfo, data: bytes) -> tuple[str, bytes]:
        if part.name == "backup.json":
            told = json.loads(data)
            told["parts"][DATABASE]["sha256"] = fresh
            data = json.dumps(told).encode()
        return part.name, data

    rebuilt(file, listed)
    done = nacre("restore", str(file), "--data-dir", str(copy))

    assert "schema 99" in done.err
    assert not copy.exists()


def test_a_backup_is_of_one_moment_while_others_write(tmp_path: Path) -> None:
    folder = tmp_path / "home"
    database = SqliteDatabase(folder / DATABASE)
    table = SqliteTable(database)
    ended = threading.Event()

    def write() -> None:
        number = 0
        while not ended.is_set():
            number += 1
            # Two that belong together: a half is as bad as a loss.
            table.transact(
                [
                    Put({"pk": "N", "sk": f"{number:08}", "schema": 1, "text": "x" * 300}),
                    Update(Key("N", "COUNT"), Change(set={"schema": 1}, add={"n": 1})),
                ]
            )

    thread = threading.Thread(target=write)
    thread.start()
    try:
        counted = []
        for attempt in range(5):
            file, copy = tmp_path / f"{attempt}.tar", tmp_path / f"copy{attempt}"
            before = table.get(Key("N", "COUNT")) or {"n": 0}
            with file.open("w+b") as content:
                back_up(folder, content, tmp_path, with_secrets=True)
                restore(copy, content)
            opened = SqliteDatabase(copy / DATABASE)
            rows = SqliteTable(opened).query("N").items
            opened.close()
            total = next((row["n"] for row in rows if row["sk"] == "COUNT"), 0)
            numbers = sorted(str(row["sk"]) for row in rows if row["sk"] != "COUNT")
            assert numbers == [f"{number:08}" for number in range(1, len(numbers) + 1)]
            assert total == len(numbers)
            # Whatever was acknowledged before is in it.
            assert total >= before["n"]  # type: ignore[operator]  # a number
            counted.append(total)
    finally:
        ended.set()
        thread.join()
        database.close()
    assert counted == sorted(counted)


class _BusyTarget(io.BytesIO):
    """A backup's target that adds records to the audit while the backup is written."""

    def __init__(self, trail: AuditTrail) -> None:
        super().__init__()
        self._trail = trail

    def write(self, content: "ReadableBuffer", /) -> int:
        for _ in range(5):
            self._trail.record(AuditEntry(outcome="allow", server="s", method="ping"))
        return super().write(content)


@pytest.mark.parametrize("file_bytes", [AUDIT_FILE_BYTES, 20_000], ids=["one file", "many files"])
def test_an_audit_that_grows_during_a_backup_is_whole_in_it(
    folder: Path, world: World, tmp_path: Path, file_bytes: int
) -> None:
    log = JsonlAudit(folder / AUDIT, file_bytes=file_bytes)
    trail = AuditTrail(log, system_clock)
    for _ in range(100):
        trail.record(AuditEntry(outcome="allow", server="s", method="ping"))
    target = _BusyTarget(trail)

    back_up(folder, target, tmp_path, with_secrets=True)
    trail.close()
    restore(tmp_path / "copy", target)

    checked = [verify_chain(chain) for chain in JsonlRecords(tmp_path / "copy" / AUDIT).chains()]
    assert [chain.problem for chain in checked] == [None]
    assert checked[0].records >= 100


def test_a_chain_that_begins_during_a_backup_does_not_look_damaged(
    folder: Path, world: World, tmp_path: Path
) -> None:
    trail = AuditTrail(JsonlAudit(folder / AUDIT), system_clock)
    target = _BusyTarget(trail)

    back_up(folder, target, tmp_path, with_secrets=True)
    trail.close()
    restore(tmp_path / "copy", target)

    checked = [verify_chain(chain) for chain in JsonlRecords(tmp_path / "copy" / AUDIT).chains()]
    assert {chain.problem for chain in checked} <= {None}


def test_a_line_that_is_being_written_is_backed_up_whole(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_bytes(b'{"a":1}\n{"b":')

    def finish_the_line() -> None:
        with path.open("ab") as file:
            file.write(b"2}\n")

    timer = threading.Timer(0.02, finish_the_line)
    timer.start()
    target = io.BytesIO()
    write_backup(target, [("audit/laptop-1.jsonl", path)], Manifest("", "", False, {}))
    timer.join()

    target.seek(0)
    with tarfile.open(fileobj=target) as archive:
        lines = archive.extractfile("audit/laptop-1.jsonl")
        assert lines is not None
        assert lines.read() == b'{"a":1}\n{"b":2}\n'


def test_a_file_that_is_replaced_while_it_is_read_is_backed_up_as_it_was(tmp_path: Path) -> None:
    path, newer = tmp_path / "note", tmp_path / "newer"
    path.write_bytes(b"old")
    newer.write_bytes(b"much longer than before")

    class Replaced(type(path)):  # type: ignore[misc]  # the platform's own class of paths
        def open(self, *args: Any, **options: Any) -> Any:
            content = super().open(*args, **options)
            newer.replace(path)
            return content

    target = io.BytesIO()
    write_backup(target, [("note", Replaced(path))], Manifest("", "", False, {}))

    target.seek(0)
    with tarfile.open(fileobj=target) as archive:
        note = archive.extractfile("note")
        assert note is not None
        assert note.read() == b"old"


@pytest.mark.slow
def test_a_server_goes_on_while_it_is_backed_up(
    nacre: Nacre, being_id: str, tmp_path: Path
) -> None:
    token = nacre("token", "create", "--being", "Ann", "--scope", "full", "--json").json()["token"]
    call = {"name": "get_current_time", "arguments": {"timezone": "UTC"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    with serving() as server:
        for attempt in range(3):
            backing = start("backup", str(tmp_path / f"{attempt}.tar"))
            answers = set()
            called = 0
            while backing.poll() is None and called < 50:  # nobody reads the server's lines
                called += 1
                status, answer = server.post(f"/{being_id}", token, message)
                answers.add((status, answer.get("result", {}).get("isError", False)))
            assert finish(backing)[0] == 0
            assert answers == {(200, False)}
        server.stop(signal.SIGTERM)
    for attempt in range(3):
        copy = tmp_path / f"copy{attempt}"
        done = nacre("restore", str(tmp_path / f"{attempt}.tar"), "--data-dir", str(copy))
        assert done.code == 0, done.err
        checked = nacre("audit", "verify", "--data-dir", str(copy))
        assert checked.code == 0, (checked.out, checked.err)


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["backup", "restore"])
def test_what_is_killed_in_the_middle_leaves_all_or_nothing(
    nacre: Nacre, folder: Path, being_id: str, world: World, tmp_path: Path, verb: str
) -> None:
    for number in range(300):
        world.table.put({"pk": "X", "sk": f"{number:04}", "schema": 1, "text": "x" * 20_000})
    source, file, copy = tmp_path / "source.tar", tmp_path / "all.tar", tmp_path / "copy"
    assert nacre("backup", str(source)).code == 0
    arguments = {
        "backup": ("backup", str(file)),
        "restore": ("restore", str(source), "--data-dir", str(copy)),
    }[verb]
    killed = 0
    for attempt in range(12):
        process = start(*arguments)
        begun = set(tmp_path.glob(".nacre-*"))
        while process.poll() is None and set(tmp_path.glob(".nacre-*")) == begun:
            threading.Event().wait(0.001)
        threading.Event().wait(0.004 * attempt)  # another place each time
        process.send_signal(signal.SIGKILL)
        killed += finish(process)[0] == -signal.SIGKILL
        if file.exists():
            assert nacre("restore", str(file), "--check").code == 0
            file.unlink()
        if copy.exists():
            assert nacre("being", "list", "--json", "--data-dir", str(copy)).json()
            copy.rename(tmp_path / f"whole{attempt}")
    assert killed
    assert nacre(*arguments).code == 0  # what the killed ones left is in nobody's way
