"""Conversations from other programs and pages from editors: read, or left out in words."""

import io
import json
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from nacre.being.memory.conversations.captured_message import identity_of
from nacre.being.memory.mirror.entry_page import parsed_entry
from nacre.being.memory.mirror.list_page import parsed_page, written_page
from nacre.being.memory.transfer.transcripts.formats import TEXT_FORMATS, format_of
from nacre.being.memory.transfer.transcripts.json_values import json_values
from nacre.being.memory.transfer.transcripts.parts import Hints, LeftOut
from nacre.cli.hooks.hook_input import CLIENTS, EVENTS, input_of
from nacre.cli.hooks.transcripts import read_increment
from nacre.cli.memory.transcript_files import read_transcripts, recognized_format, transcript_files
from nacre.core.errors import ConfigurationError, InvalidInputError
from nacre.firewall.wrap.hooks.formats import HOOK_FILES, with_hooks, without_hooks

HINTS = Hints("session", datetime(2026, 11, 18, tzinfo=UTC))
AT = "2026-01-01T00:00:00.000Z"
CLAUDE_CODE = {
    "type": "user",
    "uuid": "u1",
    "sessionId": "s1",
    "timestamp": AT,
    "cwd": "/home/ann",
    "message": {"role": "user", "content": "My cat is called Mochi"},
}
CODEX = {"timestamp": AT, "type": "event_msg", "payload": {"type": "user_message", "message": "a"}}
CHATGPT = {
    "title": "a",
    "id": "c1",
    "current_node": "n",
    "mapping": {
        "n": {
            "id": "n",
            "message": {
                "id": "m",
                "author": {"role": "user"},
                "create_time": 1767225600.5,
                "content": {"content_type": "text", "parts": ["b"]},
            },
            "parent": None,
            "children": [],
        }
    },
}
CLAUDE = {
    "uuid": "c",
    "chat_messages": [{"uuid": "m", "sender": "human", "text": "c", "created_at": AT}],
}
GEMINI = {
    "sessionId": "g",
    "startTime": AT,
    "messages": [{"id": "m", "timestamp": AT, "type": "user", "content": "d"}],
}


def _archive() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("conversations.json", json.dumps([CHATGPT]))
    return content.getvalue()


def _compact(*values: object) -> bytes:
    return "\n".join(json.dumps(value, separators=(",", ":")) for value in values).encode()


LENGTH = 2000
SEEDS = (
    b"",
    b"\0" + _compact(CLAUDE_CODE, CODEX) + b'\n{"type":"user","mess',
    b"\0" + _compact([CHATGPT, CLAUDE]),
    b"\0" + _compact(GEMINI),
    b"\1" + _compact(CLAUDE_CODE, CODEX, GEMINI["messages"]) + b"\n",
    b"\2" + _compact({"session_id": "s", "prompt": "a", "workspace_roots": ["/a"], "messages": []}),
    b"\3---\ntags: [a]\nnacre: \"n1\"\n---\ntext\n- first ^n1\n  more\n- second [[Ann]] ^s2\n",
    b'\4{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"a"}]}]},"b":1}',
    b"\5" + _archive(),
    b"\5" + _compact([CLAUDE]),
)  # fmt: skip


def one(data: bytes) -> None:
    """Take the input for a text of the form that its first byte says."""
    kind, raw = (data[:1] or b"\0")[0] % 6, data[1:]
    match kind:
        case 0:
            _transcript(raw)
        case 1:
            for client in CLIENTS:
                with _file(raw) as path:
                    increment = read_increment(client, str(path), 0)
                assert 0 <= increment.offset <= len(raw)
        case 2:
            _hook(raw)
        case 3:
            content = raw.decode(errors="replace")
            assert written_page(parsed_page(content)) == content
            str(parsed_entry(content))
        case 4:
            _hook_file(raw.decode(errors="replace"))
        case _:
            _imported(raw)


def _transcript(raw: bytes) -> None:
    format_of(json_values(io.BytesIO(raw)))
    for format_ in TEXT_FORMATS.values():
        for message in format_.read(json_values(io.BytesIO(raw)), HINTS):
            if not isinstance(message, LeftOut):
                assert len(identity_of(message)) == 64


def _hook(raw: bytes) -> None:
    try:
        payload = json.loads(raw)
    except (ValueError, RecursionError):
        return
    for client in CLIENTS:
        for event in EVENTS if isinstance(payload, dict) else ():
            try:
                input_of(client, event, payload, AT)
            except ValueError as error:
                assert "names no session" in str(error)


def _hook_file(text: str) -> None:
    for client, files in HOOK_FILES.items():
        for file in files:
            try:
                added = with_hooks(text, file, client, ["nacre"])
                if file.style != "own":
                    without_hooks(added)
            except ConfigurationError:
                continue


def _imported(raw: bytes) -> None:
    with _file(raw) as path:
        try:
            format_ = recognized_format(path)
            if format_ is not None and format_ in TEXT_FORMATS:
                list(read_transcripts(transcript_files(path, format_), format_))
        except InvalidInputError:
            return


@contextmanager
def _file(raw: bytes) -> Iterator[Path]:
    """Yield the path of a file with these bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "conversations.json")
        path.write_bytes(raw)
        yield path
