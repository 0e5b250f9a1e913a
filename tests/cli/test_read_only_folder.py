"""A data folder that may only be read: whatever only reads works, the rest says why it does not."""

import ctypes
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre.adapters.sqlite.database import SqliteDatabase

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="its permissions are others")

_DROP, _OVERRIDE, _SEARCH = 24, 1, 2  # prctl's PR_CAPBSET_DROP, and what lets root write anywhere


def as_anybody() -> None:
    """Give up what lets root pass every permission."""
    if os.getuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in (_OVERRIDE, _SEARCH):
            if libc.prctl(_DROP, capability, 0, 0, 0) != 0:
                raise OSError(ctypes.get_errno(), "the capability cannot be dropped")


def nacre(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run the command as somebody who is bound by permissions."""
    return subprocess.run(
        [sys.executable, "-m", "nacre.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=as_anybody,
        env={**os.environ, "HOME": str(home), "NACRE_EMBEDDINGS": "none", "NO_COLOR": "1"},
    )


def only_read(folder: Path) -> None:
    for file in folder.rglob("*"):
        file.chmod(0o500 if file.is_dir() else 0o400)
    folder.chmod(0o500)


@pytest.fixture
def sealed(tmp_path: Path) -> Iterator[Path]:
    """A folder with a Being in it, which may only be read."""
    place = tmp_path / "data"
    assert (
        nacre("being", "create", "Pearl", "--data-dir", str(place), home=tmp_path).returncode == 0
    )
    only_read(place)
    yield place
    place.chmod(0o700)
    for file in place.rglob("*"):
        file.chmod(0o700)


@pytest.mark.slow
def test_everything_that_only_reads_works_and_nothing_is_written(
    sealed: Path, tmp_path: Path
) -> None:
    before = {file.name: file.read_bytes() for file in sealed.iterdir()}
    target = tmp_path / "pearl.json"

    done = nacre("export", str(target), "--data-dir", str(sealed), home=tmp_path)
    assert (done.returncode, "Exported Pearl" in done.stdout + done.stderr) == (0, True), done
    assert target.stat().st_size > 0
    for command in (
        ("status",),
        ("being", "list"),
        ("token", "list"),
        ("patrol", "status"),
        ("patrol", "history"),
        ("sessions", "list"),
        ("capture", "status"),
        ("backup", str(tmp_path / "all.backup")),
    ):
        done = nacre(*command, "--data-dir", str(sealed), home=tmp_path)
        assert done.returncode == 0, (command, done.stderr)
    doctor = nacre("doctor", "--json", "--data-dir", str(sealed), home=tmp_path)
    assert "is read-only" in doctor.stdout
    assert '"fail"' not in doctor.stdout
    assert {file.name: file.read_bytes() for file in sealed.iterdir()} == before


@pytest.mark.parametrize(
    "command",
    [
        ("being", "create", "Coral"),
        ("token", "create", "--being", "Pearl", "--scope", "full"),
        ("patrol", "run"),
        ("serve", "--port", "0"),
        ("mcp-server",),
        ("mirror", "pages"),
    ],
)
def test_what_writes_says_that_the_folder_can_only_be_read(
    sealed: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    done = nacre(*command, "--data-dir", str(sealed), home=tmp_path)

    assert done.returncode != 0
    assert "can only be read" in done.stderr or "you may not write to it" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_empty_folder_is_no_store_to_read(tmp_path: Path) -> None:
    place = tmp_path / "empty"
    place.mkdir(mode=0o500)

    done = nacre("status", "--data-dir", str(place), home=tmp_path)

    assert done.returncode != 0
    assert "you may not write to it" in done.stderr


def read_by_somebody(path: Path) -> str:
    """Return what a process that may only read finds in the store."""
    program = (
        "import sys; from nacre.adapters.sqlite.database import SqliteDatabase as S\n"
        "d = S(sys.argv[1])\n"
        "with d.read() as c: print(c.execute('SELECT sk FROM data ORDER BY sk').fetchall())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=as_anybody,
        env={**os.environ, "TMPDIR": str(path.parent.parent / "tmp")},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("keeps_shared_memory", [True, False])
def test_writes_that_are_still_in_the_log_of_a_snapshot_are_read(
    tmp_path: Path, keeps_shared_memory: bool
) -> None:
    live, snapshot = tmp_path / "live", tmp_path / "snapshot"
    (tmp_path / "tmp").mkdir()
    live.mkdir()
    database = SqliteDatabase(live / "nacre.db")
    with database.write() as connection:
        connection.execute("INSERT INTO data (pk, sk, body) VALUES ('p', 'kept', '{}')")
    shutil.copytree(live, snapshot)
    database.close()
    assert (snapshot / "nacre.db-wal").stat().st_size > 0
    if not keeps_shared_memory:
        (snapshot / "nacre.db-shm").unlink()
    only_read(snapshot)
    try:
        assert read_by_somebody(snapshot / "nacre.db") == "[('kept',)]"
    finally:
        snapshot.chmod(0o700)
    assert list((tmp_path / "tmp").iterdir()) == []  # no copy is left behind


def test_an_older_store_is_read_as_it_is(tmp_path: Path) -> None:
    place = tmp_path / "old"
    place.mkdir()
    SqliteDatabase(place / "nacre.db").close()
    connection = sqlite3.connect(place / "nacre.db")
    connection.execute("PRAGMA user_version=1")
    connection.close()
    (tmp_path / "tmp").mkdir()
    only_read(place)
    try:
        assert read_by_somebody(place / "nacre.db") == "[]"
    finally:
        place.chmod(0o700)


def test_a_store_that_can_only_be_read_refuses_writes(tmp_path: Path) -> None:
    place = tmp_path / "data"
    place.mkdir()
    SqliteDatabase(place / "nacre.db").close()
    only_read(place)
    program = (
        "import sys; from nacre.adapters.sqlite.database import SqliteDatabase as S\n"
        "with S(sys.argv[1]).write(): pass\n"
    )
    try:
        done = subprocess.run(
            [sys.executable, "-c", program, str(place / "nacre.db")],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            preexec_fn=as_anybody,
        )
    finally:
        place.chmod(0o700)
    assert "StoreError" in done.stderr
    assert "can only be read" in done.stderr
