"""The formats of transcripts, and whose file a record is from."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from nacre.being.memory.conversations.captured_message import CapturedMessage
from nacre.being.memory.transfer.transcripts import (
    chatgpt,
    claude,
    claude_code,
    codex,
    cursor,
    gemini,
)
from nacre.being.memory.transfer.transcripts.parts import Hints, LeftOut
from nacre.core.lazy_dataclasses import dataclass

Read = Callable[[Iterable[object], Hints], Iterator[CapturedMessage | LeftOut]]


@dataclass(frozen=True, slots=True)
class TextFormat:
    """A format of JSON: its reader, and the names of its files in a folder or an archive."""

    title: str
    read: Read
    recognizes: Callable[[dict[str, object]], bool]
    files: tuple[str, ...]


TEXT_FORMATS: Mapping[str, TextFormat] = {
    claude_code.CLIENT: TextFormat(
        "Claude Code", claude_code.read, claude_code.recognizes, ("*.jsonl",)
    ),
    codex.CLIENT: TextFormat(
        "Codex", codex.read, codex.recognizes, ("rollout-*.jsonl", "rollout-*.json")
    ),
    chatgpt.CLIENT: TextFormat(
        "ChatGPT", chatgpt.read, chatgpt.recognizes, ("conversations*.json",)
    ),
    claude.CLIENT: TextFormat("Claude", claude.read, claude.recognizes, ("conversations*.json",)),
    gemini.CLIENT: TextFormat(
        "Gemini",
        gemini.read,
        gemini.recognizes,
        ("session-*.json", "session-*.jsonl", "My*Activity*.json"),
    ),
}
"""The formats that are JSON or JSON lines, by the name that `--format` takes."""

CURSOR = cursor.CLIENT
FORMATS = (*TEXT_FORMATS, CURSOR)
"""The names of all formats."""

_LOOKED_AT = 20  # records; the first ones of a transcript may be of any type


def format_of(values: Iterable[object]) -> str | None:
    """Return the format whose records these are, or None."""
    for number, value in enumerate(values):
        if number >= _LOOKED_AT:
            break
        if isinstance(value, dict):
            for name, format_ in TEXT_FORMATS.items():
                if format_.recognizes(value):
                    return name
    return None
