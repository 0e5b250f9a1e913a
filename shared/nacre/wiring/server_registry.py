"""The registry of the servers that run on a data folder: each one writes its URL to a file."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nacre.adapters.files.private_files import write_private

_FOLDER = "serving"


@contextmanager
def registered_server(folder: Path, url: str) -> Iterator[None]:
    """Register the URL of a server while it runs."""
    registry = folder / _FOLDER
    registry.mkdir(mode=0o700, exist_ok=True)
    running_urls(folder)  # removes the files of killed servers
    file = registry / str(os.getpid())
    write_private(file, url.encode())
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def running_urls(folder: Path) -> list[str]:
    """Return the URLs of the servers that run on this folder, the newest first."""
    registry = folder / _FOLDER
    if not registry.is_dir():
        return []
    running = []
    for file in registry.iterdir():
        with suppress(OSError, ValueError):
            if _is_running(int(file.name)):
                running.append((file.stat().st_mtime_ns, file.read_text(encoding="utf-8")))
            else:
                file.unlink()
    return [url for _, url in sorted(running, reverse=True)]


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
