"""The folder of a mirror: its pages, the file that marks it, and the state on this machine.

The mark is in the folder, `.nacre/mirror.json`. A folder that is not mounted, or is on a branch
without it, has none, and then nothing is read or deleted. The state is in Nacre's data folder, so
that no program and no branch changes it.
"""

import json
import os
import stat
import tempfile
import time
import unicodedata
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from nacre.being.memory.mirror.content import FOLDERS
from nacre.being.memory.mirror.pages import MEMORIES
from nacre.being.memory.mirror.state import MirrorState, state_from
from nacre.core.errors import ConflictError, InvalidInputError
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.core.limits import MIRROR_PAGE_BYTES
from nacre.wiring.data_folder import prepare_data_folder

_MARK = ".nacre/mirror.json"
_STATES = "mirrors"
_SETTLE_SECONDS = 0.5  # editors that save by renaming take milliseconds
_BOM = b"\xef\xbb\xbf"


@dataclass(slots=True)
class MirrorFolder:
    """A MirrorFiles over a folder of this machine."""

    root: Path
    being_id: str
    state_file: Path
    state: MirrorState
    _files: dict[str, tuple[Path, bytes]] = field(default_factory=dict)  # as they were read

    def read(self) -> Mapping[str, str | None]:
        """Return the content of every page; None for one that cannot be read."""
        self._check_mark()
        self._files = {}
        contents: dict[str, str | None] = {}
        for path, file in self._pages():
            is_twin = path in contents  # in another normal form; nobody knows which one counts
            contents[path] = None
            if is_twin:
                self._files.pop(path, None)
                continue
            try:
                with file.open("rb") as opened:
                    data = opened.read(MIRROR_PAGE_BYTES + 1)
                text = data.decode("utf-8-sig").replace("\r\n", "\n")
            except FileNotFoundError:  # it was renamed or deleted a moment ago
                del contents[path]
                continue
            except (OSError, UnicodeDecodeError):
                continue
            if len(data) <= MIRROR_PAGE_BYTES:
                contents[path] = text
                self._files[path] = (file, data)
        return contents

    def has_folder(self, name: str) -> bool:
        """Return whether a top folder of pages exists."""
        return (self.root / name).is_dir()

    def settle(self) -> None:
        """Wait until an editor that saves a file in several steps has finished."""
        time.sleep(_SETTLE_SECONDS)

    def write(self, path: str, content: str) -> bool:
        """Write a page with the line ends that it had; False if it has changed meanwhile."""
        file, before = self._files.get(path, (self.root / path, None))
        if not self._is_unchanged(file, before):
            return False
        data = content.encode()
        if before is not None and b"\r\n" in before:
            data = data.replace(b"\n", b"\r\n")
        if before is not None and before.startswith(_BOM):
            data = _BOM + data
        _replace_file(file, data)
        self._files[path] = (file, data)
        return True

    def remove(self, path: str) -> bool:
        """Remove a page; False if it has changed meanwhile."""
        file, before = self._files[path]
        if not self._is_unchanged(file, before):
            return False
        file.unlink()
        return True

    def keep(self, path: str, content: str) -> None:
        """Write a file that is no page, unless there is one of this path."""
        file = self.root / path
        if not file.exists():
            _replace_file(file, content.encode())

    def save(self, state: MirrorState) -> None:
        """Replace the state."""
        facts = {"folder": str(self.root), "being": self.being_id, "state": state.facts()}
        _replace_file(self.state_file, json.dumps(facts, ensure_ascii=False).encode())
        self.state = state

    def branch(self) -> str | None:
        """Return the head of the git repository that the folder is in, if any."""
        for folder in (self.root, *self.root.parents):
            git = folder / ".git"
            if git.is_file():  # of a worktree or a submodule
                with suppress(OSError, UnicodeDecodeError):
                    git = folder / git.read_text().removeprefix("gitdir:").strip()
            if git.is_dir():
                try:
                    return (git / "HEAD").read_text().strip()
                except (OSError, UnicodeDecodeError):
                    return None
        return None

    def _check_mark(self) -> None:
        if not (self.root / _MARK).is_file():
            raise ConflictError(
                f"{self.root} has no {_MARK}: is it mounted, and on the right branch? Nothing was"
                " changed; --restart begins a new mirror in an empty folder"
            )

    def _pages(self) -> Iterator[tuple[str, Path]]:
        """Yield the pages; raises ConflictError for a folder that cannot be listed.

        Its pages would otherwise look deleted.
        """
        for top in (MEMORIES, *FOLDERS):
            if not os.path.lexists(self.root / top):
                continue
            for folder, folders, names in os.walk(self.root / top, onerror=_refuse):
                folders[:] = sorted(name for name in folders if not name.startswith("."))
                for name in sorted(names):
                    file = Path(folder, name)
                    if name.startswith(".") or not name.lower().endswith(".md"):
                        continue
                    if not _is_page(file):
                        continue
                    relative = file.relative_to(self.root).as_posix()
                    yield unicodedata.normalize("NFC", relative), file

    def _is_unchanged(self, file: Path, before: bytes | None) -> bool:
        try:
            return file.read_bytes() == before
        except FileNotFoundError:
            return before is None
        except OSError:
            return False


def _is_page(file: Path) -> bool:
    """Return whether a path is a file, and no link, which may lead out of the folder."""
    try:
        return stat.S_ISREG(file.lstat().st_mode)
    except FileNotFoundError:
        return False
    except OSError:
        return True  # reading it will fail, too, and then it is listed


def _refuse(error: OSError) -> None:
    if isinstance(error, FileNotFoundError) and not Path(error.filename).is_symlink():
        return  # it was renamed or deleted a moment ago
    raise ConflictError(
        f"{error.filename} cannot be read ({error.strerror}); nothing was changed"
    ) from error


def open_mirror_folder(
    folder: str, data_folder: str, being_id: str, *, restart: bool, is_dry: bool = False
) -> MirrorFolder:
    """Open the folder of a Being's mirror, or begin a mirror in an empty one.

    Raises ConflictError for a folder that is not all there, or is that of another Being. Raises
    ConfigurationError if the data folder cannot be written.
    """
    root = Path(folder).expanduser().absolute()
    states = prepare_data_folder(data_folder) / _STATES
    states.mkdir(exist_ok=True, mode=0o700)
    mark = _json(root / _MARK)
    if mark is not None:
        if mark.get("being") != being_id:
            raise ConflictError(f"{root} is a mirror of another Being; choose another folder")
        file = states / f"{uuid.UUID(str(mark.get('mirror')))}.json"
        stored = _json(file)
        if stored is None:
            return MirrorFolder(root, being_id, file, MirrorState())
        earlier = Path(stored["folder"])
        if earlier != root and (earlier / _MARK).is_file():
            raise ConflictError(
                f"{root} is a copy of the mirror in {earlier}; keep one of them, and delete"
                f" {_MARK} of the other"
            )
        return MirrorFolder(root, being_id, file, state_from(stored["state"]))
    if not restart:
        for file in states.glob("*.json"):
            if (_json(file) or {}).get("folder") == str(root):
                return MirrorFolder(
                    root, being_id, file, MirrorState()
                )  # reading it says what is missing
    if is_dry:
        raise InvalidInputError(f"{root} is no mirror yet; the first run makes it one")
    return _new(root, states, being_id)


def mirrored_folders(data_folder: str, being_id: str) -> list[str]:
    """Return the folders that a Being was mirrored to from this machine."""
    folders = set()
    for file in (Path(data_folder).expanduser() / _STATES).glob("*.json"):
        with suppress(InvalidInputError):
            facts = _json(file) or {}
            if facts.get("being", being_id) == being_id and isinstance(facts.get("folder"), str):
                folders.add(facts["folder"])
    return sorted(folders)


def _new(root: Path, states: Path, being_id: str) -> MirrorFolder:
    if root.exists() and not root.is_dir():
        raise InvalidInputError(f"{root} is no folder")
    if root.is_dir() and any(not file.name.startswith(".") for file in root.iterdir()):
        raise InvalidInputError(
            f"{root} is not empty; choose an empty folder, for example one in your vault"
        )
    for file in states.glob("*.json"):
        if (_json(file) or {}).get("folder") == str(root):
            file.unlink()
    mirror = str(uuid.uuid4())
    facts = {"mirror": mirror, "being": being_id}
    _replace_file(root / _MARK, json.dumps(facts, indent=2).encode())
    opened = MirrorFolder(root, being_id, states / f"{mirror}.json", MirrorState())
    opened.save(MirrorState(branch=opened.branch()))
    return opened


def _json(file: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(file.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"{file}: cannot be read ({error})") from error
    return value if isinstance(value, dict) else None


def _replace_file(file: Path, data: bytes) -> None:
    """Write a file completely or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, name = tempfile.mkstemp(prefix=".nacre-", dir=file.parent)  # 0600
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(data)
            opened.flush()
            os.fsync(opened.fileno())
        with suppress(FileNotFoundError):
            temporary.chmod(file.stat().st_mode & 0o777)
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)
