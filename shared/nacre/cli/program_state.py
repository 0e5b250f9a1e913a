"""The state of the installed program, by which a running server is compared with it."""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import nacre
from nacre import __version__
from nacre.core.lazy_dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class ProgramState:
    """A version, the folder of its files, and a digest of their names, sizes and times."""

    version: str
    folder: str
    digest: str

    def as_text(self) -> str:
        """Return the state as JSON."""
        return json.dumps(asdict(self))


def installed_program() -> ProgramState:
    """Return the state of this program's files as they are now.

    A version alone does not tell two commits of a clone apart.
    """
    folder = Path(nacre.__file__).parent
    digest = hashlib.sha256()
    for path in _files(folder):
        with suppress(FileNotFoundError):  # an upgrade is going on
            facts = path.lstat()
            line = f"{path.relative_to(folder)} {facts.st_size} {facts.st_mtime_ns}\n"
            digest.update(line.encode())
    return ProgramState(__version__, str(folder), digest.hexdigest()[:16])


def program_from_text(text: str) -> ProgramState | None:
    """Return a state from its JSON, None if it is none."""
    try:
        return ProgramState(**json.loads(text))
    except (TypeError, ValueError):
        return None


def difference(running: str) -> str:
    """Return how the program of a server differs from this one, or an empty text.

    `running` is what the server noted at its start, empty for a server that notes nothing.
    """
    at_start = program_from_text(running)
    if at_start is None:
        return "it was started by an older Nacre"
    if at_start.version != __version__:
        return f"it runs Nacre {at_start.version}, and this program is {__version__}"
    now = installed_program()
    if at_start.folder == now.folder and at_start.digest != now.digest:
        return "it was started before this program was changed"
    return ""


def _files(folder: Path) -> Iterator[Path]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name.startswith(".") or entry.name == "__pycache__":  # of editors, of Python
                continue
            if entry.is_dir():
                yield from _files(Path(entry.path))
            else:
                yield Path(entry.path)
