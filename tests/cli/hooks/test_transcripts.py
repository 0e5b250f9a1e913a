"""Hooks read transcripts piece by piece, and find the same messages as an import."""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from nacre.being.memory.conversations.captured_message import CapturedMessage, identity_of
from nacre.being.memory.transfer.transcripts import claude_code, codex, gemini
from nacre.being.memory.transfer.transcripts.parts import Hints
from nacre.cli.hooks.transcripts import TranscriptMessage, messages_in, read_increment
from tests.scaffolding import transcripts

Read = Callable[[Iterable[object], Hints], Iterator[object]]
NOW = datetime(2026, 7, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("client", "content", "read"),
    [
        ("claude-code", transcripts.claude_code(), claude_code.read),
        ("codex", transcripts.codex(), codex.read),
        ("gemini-cli", transcripts.gemini_lines(), gemini.read),
    ],
    ids=["claude-code", "codex", "gemini-cli"],
)
def test_a_hook_and_an_import_give_the_same_identities(
    tmp_path: Path, client: str, content: bytes, read: Read
) -> None:
    file = tmp_path / "transcript.jsonl"
    file.write_bytes(content)
    hints = Hints(session="s1", changed=NOW, project=None)

    hooked = [
        identity_of(captured(client, message))
        for message in read_increment(client, str(file), 0).messages
    ]
    values = [json.loads(line) for line in content.splitlines()]
    imported = [
        identity_of(message)
        for message in read(values, hints)
        if isinstance(message, CapturedMessage)
    ]

    assert len(hooked) >= 2
    assert hooked == imported


def captured(client: str, message: TranscriptMessage) -> CapturedMessage:
    return CapturedMessage(
        client=client,
        session="another",
        role=message.role,
        text=message.text,
        at=datetime.fromisoformat(message.at),
        message_id=message.id or None,
    )


@pytest.mark.parametrize("size", [61, 97, 1000, 5000])
def test_any_pieces_give_the_whole(tmp_path: Path, size: int) -> None:
    content = transcripts.claude_code() + transcripts.lines(
        *(transcripts.claude_code_record("user", f"text {n} é", n) for n in range(100, 130))
    )
    file = tmp_path / "transcript.jsonl"
    whole = [
        message for line in content.splitlines() for message in messages_in("claude-code", line)
    ]
    collected: list[TranscriptMessage] = []
    offset = 0
    for end in [*range(size, len(content), size), len(content)]:
        file.write_bytes(content[:end])
        increment = read_increment("claude-code", str(file), offset)
        assert not increment.has_more  # an unfinished line is for the next hook
        collected += increment.messages
        offset = increment.offset
    assert collected == whole
    assert offset == len(content)


def test_a_file_that_begins_anew_is_read_from_its_start(tmp_path: Path) -> None:
    file = tmp_path / "transcript.jsonl"
    file.write_bytes(transcripts.lines(transcripts.claude_code_record("user", "new", 1)))
    (message,) = read_increment("claude-code", str(file), 10_000).messages
    assert message.text == "new"


def test_another_file_of_the_session_is_read_from_its_start(tmp_path: Path) -> None:
    file = tmp_path / "transcript.jsonl"
    record = transcripts.claude_code_record
    file.write_bytes(transcripts.lines(record("user", "a", 1), record("user", "b", 2)))
    offset = read_increment("claude-code", str(file), 0).offset
    moved = [record("user", f"a message that is longer {n}", n) for n in range(5)]
    file.write_bytes(transcripts.lines(*moved))

    assert len(read_increment("claude-code", str(file), offset).messages) == 5


@pytest.mark.parametrize("is_finished", [True, False])
def test_a_line_that_is_too_long_is_passed_over_whole(tmp_path: Path, is_finished: bool) -> None:
    file = tmp_path / "transcript.jsonl"
    after = transcripts.lines(transcripts.claude_code_record("user", "after it", 1))
    long = b"x" * (9 * 1024 * 1024)
    file.write_bytes(long + b"\n" + after if is_finished else long)

    first = read_increment("claude-code", str(file), 0)
    assert (first.messages, first.has_more) == ([], is_finished)
    assert first.offset == (len(long) + 1 if is_finished else 0)
    if is_finished:
        (message,) = read_increment("claude-code", str(file), first.offset).messages
        assert message.text == "after it"


def test_a_pipe_is_no_transcript(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(OSError, match="not a file"):
        read_increment("claude-code", str(tmp_path / "pipe"), 0)


def test_a_message_that_a_later_line_completes_is_taken_whole(tmp_path: Path) -> None:
    def line(text: str) -> dict[str, Any]:
        at = "2026-07-01T09:00:00Z"
        return {"id": "m1", "timestamp": at, "type": "gemini", "content": [{"text": text}]}

    file = tmp_path / "chat.jsonl"
    file.write_bytes(transcripts.lines(line("I"), {"$set": {"messages": [line("I am here.")]}}))
    (message,) = read_increment("gemini-cli", str(file), 0).messages
    assert message.text == "I am here."


@pytest.mark.parametrize(
    "line", ["", "null", "7", "[]", "{}", '{"type": "user"}', '{"$set": 7}', "[" * 5000, "\x00"]
)
@pytest.mark.parametrize("client", ["claude-code", "codex", "gemini-cli", "cursor"])
def test_lines_of_other_forms_have_no_messages(client: str, line: str) -> None:
    assert list(messages_in(client, line)) == []
