"""The conversations that other programs have stored on this machine: `nacre import --find`."""

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from nacre.cli.memory.transcript_files import (
    TranscriptFile,
    recognized_format,
    transcript_files,
)
from nacre.core.errors import InvalidInputError
from nacre.core.lazy_dataclasses import dataclass
from nacre.firewall.wrap.client_formats import Machine, expanded

_PLACES: dict[str, tuple[str, ...]] = {
    "claude-code": ("$CLAUDE_CONFIG_DIR/projects|~/.claude/projects",),
    "codex": (
        "$CODEX_HOME/sessions|~/.codex/sessions",
        "$CODEX_HOME/archived_sessions|~/.codex/archived_sessions",
    ),
    "gemini": ("~/.gemini/tmp",),
    "cursor": ("{config}/Cursor/User",),
}
_DOWNLOADS = ("~/Downloads",)
_USER_FOLDERS = ("linux:{xdg}/user-dirs.dirs",)  # the names of folders in the user's language
_DOWNLOAD_FOLDER = re.compile(r'^XDG_DOWNLOAD_DIR="(\$HOME/|/)([^"\n]+)"', re.MULTILINE)
# Some browsers unpack an archive when it arrives.
_EXPORTS = (
    "*.zip",
    "conversations*.json",
    "*/conversations*.json",
    "Takeout*/*/Gemini*/*.json",
    "*/Takeout*/*/Gemini*/*.json",
)
_MOST_EXPORTS = 500  # of a folder of downloads


@dataclass(frozen=True, slots=True)
class TranscriptPlace:
    """A folder or an archive with conversations of one program."""

    format: str
    path: Path
    files: tuple[TranscriptFile, ...]

    @property
    def size(self) -> int:
        """Return the number of bytes of all files."""
        return sum(file.size for file in self.files)


def transcript_places(machine: Machine) -> Iterator[TranscriptPlace]:
    """Yield the places on this machine that have files of conversations."""
    for format_, patterns in _PLACES.items():
        for path in map(Path, expanded(patterns, machine)):
            if path.is_dir():
                yield from _place(path, format_)
    for folder in _download_folders(machine):
        for path in islice(_exports(folder), _MOST_EXPORTS):
            try:
                format_or_none = recognized_format(path)
            except (InvalidInputError, OSError):
                continue  # it is broken, or nobody may read it
            if format_or_none is not None:
                yield from _place(path, format_or_none)


def _download_folders(machine: Machine) -> list[Path]:
    """Return the usual folder of downloads, and that of the user's language."""
    folders = [*expanded(_DOWNLOADS, machine)]
    for file in expanded(_USER_FOLDERS, machine):
        with suppress(OSError):
            text = Path(file).read_text(encoding="utf-8", errors="replace")
            if match := _DOWNLOAD_FOLDER.search(text):
                base = machine.home if match[1] == "$HOME/" else ""
                folders.append(f"{base}/{match[2]}")
    return [Path(folder) for folder in dict.fromkeys(folders)]


def _exports(folder: Path) -> Iterator[Path]:
    for pattern in _EXPORTS:
        with suppress(OSError):
            yield from sorted(path for path in folder.glob(pattern) if path.is_file())


def _place(path: Path, format_: str) -> Iterator[TranscriptPlace]:
    try:
        files = transcript_files(path, format_)
    except InvalidInputError:  # it has none
        return
    yield TranscriptPlace(format_, path, tuple(files))
