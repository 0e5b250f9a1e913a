"""The registry of the servers that run on a data folder: each one writes its URL to a file.

A second file beside it notes the program that the server was started from.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nacre.adapters.files.private_files import write_private
from nacre.core.lazy_dataclasses import dataclass

_FOLDER = "serving"
_PROGRAM = ".program"


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server: its process, its URL, and what it noted about its program, which may be empty."""

    process: int
    url: str
    program: str


@contextmanager
def registered_server(folder: Path, url: str, program: str) -> Iterator[None]:
    """Register a server while it runs."""
    registry = folder / _FOLDER
    registry.mkdir(mode=0o700, exist_ok=True)
    running_servers(folder)  # removes the files of killed servers
    file = registry / str(os.getpid())
    write_private(file.with_suffix(_PROGRAM), program.encode())
    write_private(file, url.encode())
    try:
        yield
    finally:
        _remove(file)


def running_urls(folder: Path) -> list[str]:
    """Return the URLs of the servers that run on this folder, the newest first."""
    return [server.url for server in running_servers(folder)]


def running_servers(folder: Path) -> list[RunningServer]:
    """Return the servers that run on this folder, the newest first."""
    registry = folder / _FOLDER
    if not registry.is_dir():
        return []
    running = []
    for file in registry.iterdir():
        with suppress(OSError, ValueError):
            process = int(file.name)
            if _is_running(process):
                url, started = file.read_text(encoding="utf-8"), file.stat().st_mtime_ns
                running.append((started, RunningServer(process, url, _program_of(file))))
            else:
                _remove(file)
    return [server for _, server in sorted(running, key=lambda entry: entry[0], reverse=True)]


def _program_of(file: Path) -> str:
    try:
        return file.with_suffix(_PROGRAM).read_text(encoding="utf-8")
    except FileNotFoundError:  # an older Nacre writes none
        return ""


def _remove(file: Path) -> None:
    file.unlink(missing_ok=True)
    file.with_suffix(_PROGRAM).unlink(missing_ok=True)


def _is_running(pid: int) -> bool:
    if os.name != "posix":  # on Windows a signal would end the process
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
