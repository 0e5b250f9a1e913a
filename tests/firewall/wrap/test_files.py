"""Clients' files on a disk: whole or untouched, whoever else writes them and whenever we die."""

import os
import signal
import stat
import sys
import threading
import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from nacre.adapters.files import config_files
from nacre.adapters.files.config_files import LocalConfigFiles
from nacre.core.errors import ConfigurationError, ConflictError, NacreError, UnavailableError

posix = pytest.mark.skipif(os.name != "posix", reason="only POSIX has these")


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "client" / "mcp.json"
    path.parent.mkdir()
    path.write_bytes(b"before")
    return path


def ticking() -> Callable[[], datetime]:
    moments = iter(datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=n) for n in range(1000))
    return lambda: next(moments)


@pytest.fixture
def files(state: Path) -> LocalConfigFiles:
    return LocalConfigFiles(state, managed=(), now=ticking())


def test_a_file_is_replaced_and_the_earlier_one_is_kept(
    files: LocalConfigFiles, file: Path, state: Path
) -> None:
    assert files.change(str(file), lambda text: f"{text} and after")

    assert file.read_bytes() == b"before and after"
    backups = [each for each in (state / "backups").rglob("*") if each.is_file()]
    assert [each.read_bytes() for each in backups] == [b"before"]
    assert {each.stat().st_mode & 0o077 for each in state.rglob("*")} == {0}
    assert sorted(each.name for each in file.parent.iterdir()) == ["mcp.json"]


def test_a_file_that_stays_as_it_is_is_not_written(files: LocalConfigFiles, file: Path) -> None:
    inode = file.stat().st_ino

    assert not files.change(str(file), lambda _: None)

    assert file.stat().st_ino == inode


def test_the_newest_backups_are_kept(files: LocalConfigFiles, file: Path, state: Path) -> None:
    for number in range(25):
        files.change(str(file), lambda _, number=number: str(number))  # type: ignore[misc]

    backups = sorted(each for each in (state / "backups").rglob("*") if each.is_file())
    assert [each.read_text() for each in backups] == [str(number) for number in range(4, 24)]


@posix
def test_mode_and_attributes_stay(files: LocalConfigFiles, file: Path) -> None:
    file.chmod(0o640)
    has_attributes = hasattr(os, "setxattr")
    if has_attributes:
        try:
            os.setxattr(file, "user.note", b"mine")
        except OSError:
            has_attributes = False

    files.change(str(file), lambda _: "after")

    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert not has_attributes or os.getxattr(file, "user.note") == b"mine"


@posix
def test_a_link_stays_a_link(files: LocalConfigFiles, file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to("client/mcp.json")

    files.change(str(link), lambda _: "after")

    assert link.is_symlink()
    assert link.readlink() == Path("client/mcp.json")
    assert file.read_bytes() == b"after"
    assert files.find([str(link), str(file)]) == [str(file.resolve())]


@posix
def test_a_link_to_what_an_administrator_keeps_is_not_followed(
    state: Path, file: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(file)
    files = LocalConfigFiles(state, managed=[str(file.parent / "*.json")], now=ticking())

    for path in (link, file):
        with pytest.raises(ConfigurationError, match="an administrator manages it; ask them"):
            files.change(str(path), lambda _: "after")
    assert file.read_bytes() == b"before"


def test_what_is_no_utf8_text_is_refused(files: LocalConfigFiles, file: Path) -> None:
    for content, told in (
        ("é".encode("latin-1"), "it is not in UTF-8; save it in UTF-8"),
        ("{}".encode("utf-16"), "it is not in UTF-8; save it in UTF-8"),
        ("{}".encode("utf-16-le"), "it contains bytes that are not text"),
    ):
        file.write_bytes(content)
        with pytest.raises(ConfigurationError, match=told):
            files.read(str(file))
        with pytest.raises(ConfigurationError, match=told):
            files.change(str(file), lambda _: "after")
        assert file.read_bytes() == content


def test_a_file_that_is_too_large_is_refused(
    files: LocalConfigFiles, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config_files, "MAX_CONFIG_BYTES", 5)

    with pytest.raises(ConfigurationError, match="it has more than 5 bytes"):
        files.read(str(file))


@posix
def test_what_is_no_plain_file_is_refused(files: LocalConfigFiles, file: Path) -> None:
    pipe = file.parent / "pipe"
    os.mkfifo(pipe)

    for each in (pipe, file.parent):
        with pytest.raises((ConfigurationError, UnavailableError)):
            files.change(str(each), lambda _: "after")


@posix
def test_a_second_name_is_kept(files: LocalConfigFiles, file: Path) -> None:
    (file.parent / "other").hardlink_to(file)

    with pytest.raises(ConfigurationError, match="a second name"):
        files.change(str(file), lambda _: "after")

    assert file.stat().st_nlink == 2


@posix
@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is write-protected from root")
def test_a_write_protected_file_is_refused(files: LocalConfigFiles, file: Path) -> None:
    file.chmod(0o400)

    with pytest.raises(ConfigurationError, match="write-protected"):
        files.change(str(file), lambda _: "after")


def test_a_file_that_is_not_there_is_named(files: LocalConfigFiles, file: Path) -> None:
    file.unlink()

    assert files.find([str(file)]) == []
    with pytest.raises(UnavailableError, match=r"mcp\.json: it cannot be read or written \(No "):
        files.change(str(file), lambda _: "after")


def test_only_a_star_is_a_pattern(files: LocalConfigFiles, tmp_path: Path) -> None:
    folder = tmp_path / "[a]?"
    if os.name == "posix":
        folder.mkdir()
        (folder / "x.json").touch()
        assert files.find([str(folder / "*.json")]) == [str(folder / "x.json")]
    assert files.find(["\0"]) == []


def test_what_a_client_writes_meanwhile_is_taken_in(files: LocalConfigFiles, file: Path) -> None:
    writes = iter([b"theirs", b"theirs again"])

    def change(text: str) -> str:
        if (content := next(writes, None)) is not None:
            file.write_bytes(content)
        return f"{text} and ours"

    assert files.change(str(file), change)
    assert file.read_bytes() == b"theirs again and ours"


def test_a_client_that_replaces_its_file_meanwhile_is_seen_too(
    files: LocalConfigFiles, file: Path
) -> None:
    def change(text: str) -> str:
        if text == "before":
            other = file.parent / "new"
            other.write_bytes(b"theirs")
            other.replace(file)
        return f"{text} and ours"

    assert files.change(str(file), change)
    assert file.read_bytes() == b"theirs and ours"


def test_a_file_that_never_comes_to_rest_is_left_alone(files: LocalConfigFiles, file: Path) -> None:
    def change(text: str) -> str:
        file.write_bytes(text.encode() + b".")
        return "ours"

    with pytest.raises(ConflictError, match="its client keeps writing it"):
        files.change(str(file), change)

    assert file.read_bytes() == b"before....."
    assert [each.name for each in file.parent.iterdir()] == ["mcp.json"]


def test_two_at_one_file_go_one_after_the_other(state: Path, file: Path) -> None:
    count = 12
    start = threading.Barrier(count)
    failures: list[NacreError] = []

    def run(number: int) -> None:
        files = LocalConfigFiles(state, managed=(), now=lambda: datetime.now(UTC))
        start.wait()
        try:
            files.change(str(file), lambda text: f"{text} {number}")
        except NacreError as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert sorted(file.read_text().split()[1:], key=int) == [str(n) for n in range(count)]


def test_another_command_that_stays_at_the_file_is_told_of(
    state: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config_files, "CONFIG_LOCK_SECONDS", 0.05)
    outer = LocalConfigFiles(state, managed=(), now=ticking())
    inner = LocalConfigFiles(state, managed=(), now=ticking())

    def change(_: str) -> str | None:
        with pytest.raises(ConflictError, match="another nacre is changing it"):
            inner.change(str(file), lambda _: "inner")
        return "outer"

    assert outer.change(str(file), change)
    assert file.read_bytes() == b"outer"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a process of its own")
def test_a_command_that_is_killed_anywhere_leaves_the_old_file_or_the_new_one(
    state: Path, file: Path
) -> None:
    """Kill the process before each step that the interpreter reports, until it comes through."""
    seen = set()
    for step in range(1, 200):
        file.write_bytes(b"before")
        killed = run_until(step, state, file)

        content = file.read_bytes()
        assert content in (b"before", b"after"), step
        seen.add((killed, content))
        # What is left is swept up by the next command, and does not stop it.
        again = LocalConfigFiles(state, managed=(), now=lambda: datetime.now(UTC))
        assert again.change(str(file), lambda _: "again")
        assert [each.name for each in file.parent.iterdir()] == ["mcp.json"]
        if not killed:
            break

    assert seen == {(True, b"before"), (True, b"after"), (False, b"after")}


def run_until(step: int, state: Path, file: Path) -> bool:
    """Change the file in a process that is killed at a step; tell whether it was."""
    with warnings.catch_warnings():
        # The child of a process with threads; it does nothing that a thread could hold up.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        steps = 0

        def at_step(event: str, _: tuple[object, ...]) -> None:
            nonlocal steps
            if event == "open" or event.startswith(("os.", "shutil.", "fcntl.")):
                steps += 1
                if steps == step:
                    os.kill(os.getpid(), signal.SIGKILL)

        files = LocalConfigFiles(state, managed=(), now=lambda: datetime.now(UTC))
        sys.addaudithook(at_step)
        try:
            files.change(str(file), lambda _: "after")
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
