"""Messages in the transcripts that clients write, read from where the last hook stopped.

A transcript has one JSON object a line. Only texts that a person or a model wrote are messages:
not the results of tools, not thoughts, and not texts that the client adds.
"""

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping

from nacre.core.lazy_dataclasses import dataclass, replace

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any, BinaryIO

_MOST_BYTES = 1024 * 1024  # read by one hook; the next one continues
_LONGEST_LINE = 8 * 1024 * 1024  # a longer one is an image or a file
_REMINDER_NAMES = (
    "system-reminder",
    "ide_opened_file",
    "ide_selection",
    "memory-recall",
    "nacre-context",
)
# How texts begin that the client adds. Compiling a pattern of them would take a millisecond.
_OWN_TEXTS = (
    "<command-",
    "<local-command-",
    "<bash-",
    "<task-notification",
    "<teammate-message",
    "<user-memory-input",
    "<environment_context",
    "<user_instructions",
    "<INSTRUCTIONS",
    "<turn_aborted",
    "<permissions instructions",
    "<collaboration_mode",
    "<skill>",
    "<subagent_notification",
    "<user_shell_command",
    "<session_context",
    "Caveat: The messages below were generated",
    "[Request interrupted by user",
    "# AGENTS.md instructions",
    "This session is being continued from a previous conversation",
    "This is the Gemini CLI. We are setting up the context",
)


@dataclass(frozen=True, slots=True)
class TranscriptMessage:
    """A message of a transcript."""

    role: str
    text: str
    at: str  # in RFC 3339, UTC
    id: str | None


@dataclass(frozen=True, slots=True)
class Increment:
    """The new messages of a transcript, where the next hook continues, and whether it has more."""

    messages: list[TranscriptMessage]
    offset: int
    has_more: bool


def read_increment(client: str, path: str, offset: int) -> Increment:
    """Return the messages after an offset; an unfinished line waits for the next hook.

    A file that has no end of a line before the offset is not the one that was read, and is read
    from its start: the client has written it anew, or moved the session to another folder.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116 - pathlib loads slowly
        raise OSError("the transcript is not a file")  # a pipe would hold up the hook
    with open(path, "rb") as file:  # noqa: PTH123 - as above
        size = os.fstat(file.fileno()).st_size
        if offset:
            file.seek(offset - 1)
            if file.read(1) != b"\n":
                offset = 0
        file.seek(offset)
        content = file.read(_MOST_BYTES)
        while b"\n" not in content and len(content) < _LONGEST_LINE:
            part = file.read(_MOST_BYTES)
            if not part:
                break
            content += part
        end = content.rfind(b"\n") + 1
        if not end and len(content) >= _LONGEST_LINE:
            after = _end_of_line(file)
            return Increment([], after or offset, has_more=0 < after < size)
    messages: dict[object, TranscriptMessage] = {}
    for number, line in enumerate(content[:end].split(b"\n")):
        for place, message in enumerate(messages_in(client, line) if line.strip() else ()):
            # A later line may have the same message again, more complete.
            messages[message.id or (number, place)] = message
    was_read = offset + len(content)
    return Increment(list(messages.values()), offset + end, has_more=was_read < size and end > 0)


def _end_of_line(file: "BinaryIO") -> int:
    """Return the offset after the next end of a line, or 0 if there is none yet."""
    while part := file.read(_MOST_BYTES):
        place = part.find(b"\n")
        if place >= 0:
            return file.tell() - len(part) + place + 1
    return 0


def messages_in(client: str, line: bytes | str) -> Iterator[TranscriptMessage]:
    """Yield the messages of one line; none for a line that cannot be read."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return
    reader = _READERS.get(client)
    if reader is None or not isinstance(entry, dict):
        return
    for part in _parts(client, entry):
        message = reader(part)
        if message is None or not message.at:
            continue
        text = _without_reminders(message.text).strip()
        if text and not text.startswith(_OWN_TEXTS):
            yield replace(message, text=text)


def _without_reminders(text: str) -> str:
    """Return a text without what the client and Nacre's hooks added to it."""
    if not any(f"<{name}" in text for name in _REMINDER_NAMES):
        return text
    names = "|".join(_REMINDER_NAMES)
    return re.sub(rf"<({names})\b[^>]*>.*?</\1>\s*", "", text, flags=re.DOTALL)


def _parts(client: str, entry: "Mapping[str, Any]") -> "list[dict[str, Any]]":
    """Return the records in a line; Gemini CLI sets several messages in one."""
    changed = entry.get("$set")
    if client != "gemini-cli" or not isinstance(changed, dict):
        return [dict(entry)]
    messages = changed.get("messages")
    return (
        [part for part in messages if isinstance(part, dict)] if isinstance(messages, list) else []
    )


def _claude_code(entry: "Mapping[str, Any]") -> TranscriptMessage | None:
    role = entry.get("type")
    message = entry.get("message")
    hidden = ("isMeta", "isSidechain", "isCompactSummary", "isApiErrorMessage")
    if role not in ("user", "assistant") or not isinstance(message, dict):
        return None
    if any(entry.get(name) for name in hidden):
        return None
    text = text_of(message.get("content"))
    return TranscriptMessage(role, text, _text(entry.get("timestamp")), _text(entry.get("uuid")))


def _codex(entry: "Mapping[str, Any]") -> TranscriptMessage | None:
    # Events repeat these items with other times; an import reads the items, too.
    payload = entry.get("payload")
    if entry.get("type") != "response_item" or not isinstance(payload, dict):
        return None
    role = payload.get("role")
    if payload.get("type") != "message" or role not in ("user", "assistant"):
        return None
    text = text_of(payload.get("content"))
    return TranscriptMessage(role, text, _text(entry.get("timestamp")), _text(payload.get("id")))


def _gemini(entry: "Mapping[str, Any]") -> TranscriptMessage | None:
    role = {"user": "user", "gemini": "assistant"}.get(str(entry.get("type")))
    if role is None:
        return None
    text = text_of(entry.get("content"))
    return TranscriptMessage(role, text, _text(entry.get("timestamp")), _text(entry.get("id")))


_READERS = {"claude-code": _claude_code, "codex": _codex, "gemini-cli": _gemini}


def text_of(content: object) -> str:
    """Return the texts of a message's content: a text, or parts of which some have text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [
        part["text"]
        for part in content
        if isinstance(part, dict)
        and part.get("type", "text") in ("text", "input_text", "output_text")
        and isinstance(part.get("text"), str)
    ]
    return "\n".join(texts)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
