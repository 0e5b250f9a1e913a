"""Which servers run over a data folder, for commands that name or check their address."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nacre.adapters.files.private_files import write_private

_FOLDER = "serving"


@contextmanager
def noted(folder: Path, url: str) -> Iterator[None]:
    """Note a server's URL while it runs."""
    place = folder / _FOLDER
    place.mkdir(mode=0o700, exist_ok=True)
    running_urls(folder)  # clears what killed servers have left
    file = place / str(os.getpid())
    write_private(file, url.encode())
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def running_urls(folder: Path) -> list[str]:
    """Return the URLs of the servers that run over this folder, the one started last first."""
    place = folder / _FOLDER
    if not place.is_dir():
        return []
    running = []
    for file in place.iterdir():
        with suppress(OSError, ValueError):
            if _is_running(int(file.name)):
                running.append((file.stat().st_mtime_ns, file.read_text(encoding="utf-8")))
            else:
                file.unlink()
    return [url for _, url in sorted(running, reverse=True)]


def _is_running(pid: int) -> bool:
    if os.name != "posix":  # a signal would end it there
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
