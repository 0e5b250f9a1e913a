"""A disk without space under `nacre serve`, and under the commands that write files."""

import json
import resource
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import Nacre, folder, nacre
from tests.cli.processes import Server, finish, serving, start
from tests.end_to_end.faults.laptop import Caller, caller

__all__ = ["folder", "nacre"]  # fixtures
pytestmark = pytest.mark.slow

UNAVAILABLE = 4  # the exit code
_DISK = 3 * 1024 * 1024
_LONG = "x" * 3000


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Give a folder on a disk of three megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={_DISK}", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(command, check=False).returncode:
        pytest.skip("NOT RUN, no small disk: only root may mount a tmpfs")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(disk: Path, *, leave: int) -> Path:
    """Take up a small disk but for so many bytes."""
    ballast = disk / "ballast"
    ballast.write_bytes(bytes(shutil.disk_usage(disk).free - leave))
    return ballast


def noted(server: Server, who: Caller, text: str) -> tuple[bool, str]:
    """Write a note; return whether it was acknowledged, and what was said."""
    return who.call(server, "update_notes", notes=[f"{text} {_LONG}"])


def filled(server: Server, who: Caller) -> tuple[list[str], str]:
    """Write notes until one is refused; return what was acknowledged, and the refusal."""
    kept: list[str] = []
    for number in range(5000):
        text = f"note {number:05}"
        is_kept, said = noted(server, who, text)
        if not is_kept:
            return kept, said
        kept.append(text)
    raise AssertionError("the disk has no end")


def found_notes(nacre: Nacre, file: Path) -> set[str]:
    assert nacre("export", str(file), "--force").code == 0
    return {
        line["value"]["text"][: len("note 00000")]
        for line in map(json.loads, file.read_text().splitlines())
        if line["type"] == "notes"
    }


def test_a_full_disk_refuses_clearly_and_space_is_all_it_takes_to_go_on(
    nacre: Nacre, small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NACRE_HOME", str(small_disk / "data"))
    who = caller(nacre)
    ballast = fill(small_disk, leave=1_000_000)
    with serving() as server:
        kept, refusal = filled(server, who)
        ballast.unlink()
        after = noted(server, who, "note 99999")
        code, _, err = server.stop(signal.SIGTERM)

    assert len(kept) > 10
    assert "the server's disk is full; nothing was written" in refusal or "audit" in refusal
    assert (after[0], code) == (True, 0), after
    assert "Traceback" not in err
    assert {*kept, "note 99999"} == found_notes(nacre, tmp_path / "all.jsonl")
    assert nacre("audit", "verify").code == 0
    assert nacre("doctor").code == 0


@contextmanager
def limited(server: Server, size: int) -> Iterator[None]:
    """Let the server's files grow no further, without any right to mount."""
    pid = server.process.pid
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)


def test_files_that_may_grow_no_further_refuse_clearly_too(
    nacre: Nacre, tmp_path: Path, folder: Path
) -> None:
    who = caller(nacre)
    with serving() as server:
        assert noted(server, who, "note 00000")[0]
        with limited(server, (folder / "nacre.db-wal").stat().st_size + 100_000):
            kept, refusal = filled(server, who)
        after = noted(server, who, "note 99999")
        code, _, err = server.stop(signal.SIGTERM)

    assert "does not answer now" in refusal or "disk is full" in refusal or "audit" in refusal
    assert (after[0], code, "Traceback" in err) == (True, 0, False), after
    assert {*kept, "note 99999"} == found_notes(nacre, tmp_path / "all.jsonl")
    assert nacre("doctor").code == 0


@pytest.mark.parametrize("command", ["backup", "export"])
def test_a_file_that_does_not_fit_is_not_left_half(
    nacre: Nacre, small_disk: Path, command: str
) -> None:
    who = caller(nacre)
    with serving() as server:
        for number in range(200):
            assert noted(server, who, f"note {number}")[0]
    ballast = fill(small_disk, leave=200_000)
    target = small_disk / "file"

    code, _, err = finish(start(command, str(target)))

    assert (code, "Traceback" in err) == (UNAVAILABLE, False), err
    assert err.startswith(f"error: {small_disk}"), err
    assert "No space left on device" in err or "the disk is full" in err
    assert [each.name for each in small_disk.iterdir()] == ["ballast"]
    ballast.unlink()
    code, _, err = finish(start(command, str(target)))
    assert (code, target.stat().st_size > 100_000) == (0, True), err


def test_a_restore_that_does_not_fit_leaves_nothing(
    nacre: Nacre, small_disk: Path, tmp_path: Path
) -> None:
    caller(nacre)
    file = tmp_path / "file"
    assert nacre("backup", str(file)).code == 0
    ballast = fill(small_disk, leave=50_000)
    target = ("restore", str(file), "--data-dir", str(small_disk / "data"))

    refused = nacre(*target)

    assert (refused.code, "cannot be written" in refused.err) == (UNAVAILABLE, True), refused.err
    assert [each.name for each in small_disk.iterdir()] == ["ballast"]
    ballast.unlink()
    assert nacre(*target).code == 0
    assert nacre("doctor", "--data-dir", str(small_disk / "data")).code == 0


def test_an_answer_that_cannot_be_written_says_so(nacre: Nacre) -> None:
    caller(nacre)
    with Path("/dev/full").open("w") as full:
        code, _, err = finish(start("export", "-", stdout=full.fileno()))

    assert (code, "Traceback" in err) == (1, False), err
    assert err.startswith("error: the output cannot be written (No space left"), err
