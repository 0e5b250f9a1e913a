"""The conversations that other programs have stored on this machine: `nacre import --find`."""

from collections.abc import Iterator
from pathlib import Path

from nacre.cli.memory.archive_file import is_archive
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
_ARCHIVES = 500  # of a folder of downloads


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
    for folder in map(Path, expanded(_DOWNLOADS, machine)):
        for path in sorted(folder.glob("*.zip"))[:_ARCHIVES]:
            try:
                format_or_none = recognized_format(path) if is_archive(path) else None
            except (InvalidInputError, OSError):
                continue  # it is broken, or nobody may read it
            if format_or_none is not None:
                yield from _place(path, format_or_none)


def _place(path: Path, format_: str) -> Iterator[TranscriptPlace]:
    try:
        files = transcript_files(path, format_)
    except InvalidInputError:  # it has none
        return
    yield TranscriptPlace(format_, path, tuple(files))
