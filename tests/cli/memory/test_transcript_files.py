"""Conversations in the files of other programs, also in broken ones."""

import json
import os
import struct
import zipfile
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nacre.being.memory.transfer.foreign_records import SkippedPart
from nacre.cli.memory.transcript_files import (
    FORMATS,
    read_transcripts,
    reason_unrecognized,
    recognized_format,
    transcript_files,
    unlisted_folders,
)
from nacre.core.errors import InvalidInputError
from tests.end_to_end.attacks.rows import attack
from tests.scaffolding import transcripts

TEXTS: dict[str, tuple[str, str, Callable[[], bytes]]] = {
    "claude-code": ("claude-code", "5f1c.jsonl", transcripts.claude_code),
    "codex": ("codex", "rollout-2025-10-29T00-59-38-019a.jsonl", transcripts.codex),
    "codex-early": ("codex", "rollout-1.jsonl", transcripts.codex_early),
    "codex-items": ("codex", "rollout-2.jsonl", transcripts.codex_items),
    "chatgpt": ("chatgpt", "conversations.json", transcripts.chatgpt),
    "claude": ("claude", "conversations.json", transcripts.claude),
    "gemini": ("gemini", "session-2025-12-17T09-00-92f6.json", transcripts.gemini),
    "gemini-lines": ("gemini", "session-2026-09-10T18-13-s61.jsonl", transcripts.gemini_lines),
    "takeout": ("gemini", "MyActivity.json", transcripts.takeout),
}
SAID = {
    "claude-code": [
        "user I live in Bern and grow roses.",
        "assistant Roses like lime.",
        "user Thank you!",
        "assistant You are welcome.",
    ],
    "codex": ["user My ants eat only honey.", "assistant Add seeds."],
    "codex-early": ["user Hello", "assistant Hi"],
    "codex-items": ["user My ants eat only honey.", "assistant Add seeds."],
    "chatgpt": [
        "user Which tea is mild?",
        "assistant White tea.",
        "user Which green tea is mild?",
        "assistant Gyokuro.",
        "user And this?",
    ],
    "claude": ["user My bees swarm in May.", "assistant Give them room."],
    "gemini": ["user Hi, Jo", "assistant Hi, I am not Jo."],
    "gemini-lines": ["user Count to two", "assistant One, two.", "user And back"],
    "takeout": [
        "user Best islands in Greece?",
        "assistant Naxos & Crete\n\n- by ferry",
        "user Und im Winter?",
        "assistant Stay home.",
        "assistant Madeira.",
    ],
}


def written(folder: Path, name: str) -> tuple[str, Path]:
    """Write a sample; return its format and its path."""
    format_, file_name, content = TEXTS[name]
    path = folder / file_name
    path.write_bytes(content())
    return format_, path


def read(path: Path, format_: str) -> tuple[list[str], list[str]]:
    """Return the messages of a path, and the reasons for what was left out."""
    said, reasons = [], []
    for part in read_transcripts(transcript_files(path, format_), format_):
        if isinstance(part, SkippedPart):
            reasons.append(part.reason)
        else:
            said.append(f"{part.role} {part.text}")
    return said, reasons


@pytest.mark.parametrize("name", TEXTS)
def test_messages_are_read_and_the_format_is_recognized(name: str, tmp_path: Path) -> None:
    format_, path = written(tmp_path, name)

    assert read(path, format_) == (SAID[name], [])
    assert recognized_format(path) == format_


@pytest.mark.parametrize("name", TEXTS)
def test_every_message_has_its_time_and_its_session(name: str, tmp_path: Path) -> None:
    format_, path = written(tmp_path, name)
    sessions = {}

    for part in read_transcripts(transcript_files(path, format_), format_):
        assert not isinstance(part, SkippedPart)
        assert part.at.year in (2023, 2025, 2026)
        assert part.at < datetime(2026, 9, 11, tzinfo=UTC)
        sessions[part.session] = part.client

    client = "gemini-cli" if name in ("gemini", "gemini-lines") else format_
    assert set(sessions.values()) == {client}
    assert len(sessions) == (2 if name == "takeout" else 1)


@pytest.mark.parametrize("name", ["claude-code", "chatgpt", "claude", "takeout"])
def test_an_archive_says_the_same_as_its_files(name: str, tmp_path: Path) -> None:
    format_, file_name, content = TEXTS[name]
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("user.json", "{}")
        archive.writestr(f"some/folder/{file_name}", content())

    assert read(path, format_)[0] == SAID[name]
    assert recognized_format(path) == format_


def test_the_database_of_cursor_is_read_with_its_projects(tmp_path: Path) -> None:
    path = tmp_path / "globalStorage" / "state.vscdb"
    path.parent.mkdir()
    transcripts.write_cursor(path)
    workspace = tmp_path / "workspaceStorage" / "1a2b"
    workspace.mkdir(parents=True)
    (workspace / "workspace.json").write_text('{"folder": "file:///home/mia/a%20b"}')
    transcripts.write_cursor_folder(workspace / "state.vscdb", "c-new")

    messages = list(read_transcripts(transcript_files(path, "cursor"), "cursor"))

    assert [getattr(message, "text", message) for message in messages] == [
        "Sort by name",
        "Sorted.",
        "Why is it slow?",
        "A loop.",
        "Old question",
        "Old answer",
    ]
    projects = {message.session: message.project for message in messages}  # type: ignore[union-attr]
    assert projects == {"c-new": "/home/mia/a b", "c-old": None, "t1": None}
    assert recognized_format(path) == "cursor"
    assert recognized_format(tmp_path) == "cursor"


@pytest.mark.parametrize(
    ("encoded", "name"),
    [
        (lambda text: b"\xef\xbb\xbf" + text.encode(), "a UTF-8 mark"),
        (lambda text: text.encode("utf-16"), "UTF-16 with a mark"),
        (lambda text: text.encode("utf-16-le"), "UTF-16 without one"),
        (lambda text: text.replace("\n", "\r\n").encode(), "Windows lines"),
        (lambda text: b"\n \n" + text.encode(), "blank lines"),
    ],
)
@pytest.mark.parametrize("sample", ["claude-code", "chatgpt", "gemini"])
def test_encodings_that_editors_and_shells_make_are_read(
    sample: str, encoded: Callable[[str], bytes], name: str, tmp_path: Path
) -> None:
    format_, path = written(tmp_path, sample)
    path.write_bytes(encoded(path.read_text()))

    assert read(path, format_) == (SAID[sample], [])


def test_a_half_written_last_line_and_unknown_records_are_left_out_and_said(
    tmp_path: Path,
) -> None:
    format_, path = written(tmp_path, "claude-code")
    more = b'{"type":"hologram","x":1}\nnot json\n[1]\n{"type":"user","mess'
    path.write_bytes(path.read_bytes() + more)

    said, reasons = read(path, format_)

    assert said == SAID["claude-code"]
    assert reasons == [
        "a record of the unknown type 'hologram'",
        *["not a JSON object, like a line that was half written"] * 3,
    ]


def test_a_cut_export_gives_the_conversations_before_the_cut(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    many = [transcripts.claude_conversation(number) for number in range(50)]
    content = json.dumps(many, ensure_ascii=False).encode()
    path.write_bytes(content[: len(content) // 2])

    said, reasons = read(path, "claude")

    assert len(said) == 50  # of 25 whole conversations
    assert reasons == ["not a JSON object, like a line that was half written"]


@pytest.mark.parametrize("content", [b"", b"\n", b"[]", b"{}", b"[{}]", b"null", b"[[[[", b"\0\0"])
@pytest.mark.parametrize("format_", FORMATS)
def test_a_file_without_conversations_gives_none_or_is_refused(
    content: bytes, format_: str, tmp_path: Path
) -> None:
    path = tmp_path / "conversations.json"
    path.write_bytes(content)

    try:
        said, _ = read(path, format_)
    except InvalidInputError:
        said = []

    assert said == []


@pytest.mark.parametrize("named", ["codex", "claude", "cursor", "gemini"])
def test_a_wrong_format_is_refused_with_the_likely_one(named: str, tmp_path: Path) -> None:
    _, path = written(tmp_path, "chatgpt")

    with pytest.raises(InvalidInputError, match="looks like chatgpt"):
        read(path, named)


PACKED = {
    "takeout.tgz": (b"\x1f\x8b\x08", "it is packed with gzip; unpack it"),
    "takeout.tar": (b"x" * 257 + b"ustar\x0000", "it is a tar archive; unpack it"),
    "export.7z": (b"7z\xbc\xaf\x27\x1c", "it is a 7z archive; unpack it"),
    "export.rar": (b"Rar!\x1a\x07\x01\x00", "it is a RAR archive; unpack it"),
    "export.zip": (b"PK\3\4" + b"\0" * 400, "it is a zip that is cut or damaged"),
    "chat.html": (b"\xef\xbb\xbf\n<!DOCTYPE html><html>", "it is a web page; export again"),
}


@pytest.mark.parametrize("name", PACKED)
def test_a_file_that_is_packed_otherwise_is_refused_with_the_way_out(
    name: str, tmp_path: Path
) -> None:
    content, reason = PACKED[name]
    path = tmp_path / name
    path.write_bytes(content)

    for format_ in ("chatgpt", "gemini", "claude-code"):
        with pytest.raises(InvalidInputError, match=reason):
            read(path, format_)
    assert recognized_format(path) is None
    assert reason in (reason_unrecognized(path) or "")


def test_an_archive_in_an_archive_is_named(tmp_path: Path) -> None:
    path = tmp_path / "outer.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("in/inner.zip", b"PK\3\4")

    with pytest.raises(InvalidInputError, match=r"has the archive in/inner\.zip; unpack it"):
        read(path, "chatgpt")
    assert "in/inner.zip" in (reason_unrecognized(path) or "")
    with zipfile.ZipFile(path, "w"):
        pass
    assert "no file in it has conversations" in (reason_unrecognized(path) or "")


def test_one_damaged_file_of_several_is_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "User"
    for name in ("a", "b"):
        target = folder / "workspaceStorage" / name / "state.vscdb"
        target.parent.mkdir(parents=True)
        transcripts.write_cursor(target)
    whole, _ = read(folder, "cursor")
    (folder / "workspaceStorage/a/state.vscdb").write_bytes(b"SQLite format 3\0" + b"x" * 99)

    said, reasons = read(folder, "cursor")

    assert len(said) == len(whole) // 2 > 0
    assert reasons == ["cannot be read as a database (file is not a database)"]
    assert recognized_format(folder) == "cursor"


def test_one_damaged_file_of_an_archive_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations-000.json", transcripts.chatgpt())
        archive.writestr("conversations-001.json", transcripts.chatgpt())
    content = path.read_bytes()
    place = content.rindex(b"Gyokuro")
    path.write_bytes(content[:place] + b"G" + content[place + 1 :].replace(b"yokuro", b"YOKURO", 1))

    said, reasons = read(path, "chatgpt")

    assert said[: len(SAID["chatgpt"])] == SAID["chatgpt"]
    assert len(reasons) == 1
    assert "CRC" in reasons[0]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_files_and_folders_of_others_are_left_out_and_named(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.jsonl").write_bytes(transcripts.claude_code())
    (tmp_path / "a" / "a.jsonl").chmod(0)
    (tmp_path / "b").chmod(0)

    format_ = recognized_format(tmp_path)
    said, reasons = read(tmp_path, "claude-code")
    folders = list(unlisted_folders(tmp_path))
    (tmp_path / "b").chmod(0o700)

    assert format_ == "claude-code"
    assert said == SAID["claude-code"]
    assert reasons == ["cannot be read (Permission denied)"]
    assert folders == [SkippedPart(str(tmp_path / "b"), "cannot be read (Permission denied)")]


def test_an_activity_as_html_is_refused_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "takeout.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("Takeout/My Activity/Gemini Apps/MyActivity.html", "<html></html>")

    with pytest.raises(InvalidInputError, match="choose JSON in Google Takeout"):
        read(path, "gemini")


def test_text_that_no_encoding_has_is_read(tmp_path: Path) -> None:
    record = transcripts.claude_code_record("user", "half a face \ud83d and \x00 zero", 1)
    path = tmp_path / "a.jsonl"
    path.write_bytes(transcripts.lines(record) + b'\xff\xfe{"type": "user"}\n')

    said, _ = read(path, "claude-code")

    assert said == ["user half a face \ud83d and \x00 zero"]


def test_a_tree_with_loops_and_missing_parents_is_read_once(tmp_path: Path) -> None:
    conversation = transcripts.chatgpt_conversation()
    nodes = conversation["mapping"]
    nodes["root"]["parent"] = "q3"  # a loop
    nodes["lost"] = transcripts.chatgpt_node("lost", "nowhere", "user", "Lost", 1700000200)
    nodes["self"] = transcripts.chatgpt_node("self", "self", "user", "Self", "no time")  # type: ignore[arg-type]
    nodes["none"] = None
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([conversation]))

    said, _ = read(path, "chatgpt")

    assert sorted(said) == sorted([*SAID["chatgpt"], "user Lost", "user Self"])


@attack("N25")
def test_an_archive_that_unpacks_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("conversations.json", "w", force_zip64=True) as file,
    ):
        file.write(b"[")
        for _ in range(40):
            file.write(b" " * 1024 * 1024)

    with pytest.raises(InvalidInputError, match="unpacks to more than"):
        read(path, "chatgpt")


@attack("N25")
@pytest.mark.parametrize("name", [b"", b"a/", b"\xff\xfe.json", b"conversations.json"])
@pytest.mark.parametrize("compression", [0, 8, 12, 14, 93, 99])
@pytest.mark.parametrize("flags", [0, 1, 0x800])
def test_a_strange_archive_is_read_or_refused_in_words(
    tmp_path: Path, name: bytes, compression: int, flags: int
) -> None:
    path = tmp_path / "strange.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", transcripts.chatgpt())
    content = bytearray(path.read_bytes())
    entry = content.index(b"PK\1\2")
    content[entry + 8 : entry + 12] = struct.pack("<HH", flags, compression)
    padded = name.ljust(len("conversations.json"), b"\0")
    content[entry + 46 : entry + 46 + len(padded)] = padded
    path.write_bytes(content)

    with suppress(InvalidInputError):
        read(path, "chatgpt")


@attack("N25")
def test_names_in_an_archive_write_nothing_anywhere(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    path = inside / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../../conversations.json", transcripts.chatgpt())
        archive.writestr("/tmp/conversations-1.json", transcripts.chatgpt())

    said, _ = read(path, "chatgpt")

    assert said == SAID["chatgpt"] * 2
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == [path]


@attack("N25")
def test_a_link_in_a_folder_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside.jsonl"
    outside.write_bytes(transcripts.claude_code())
    folder = tmp_path / "projects"
    folder.mkdir()
    (folder / "a.jsonl").symlink_to(outside)

    with pytest.raises(InvalidInputError, match="has no file"):
        read(folder, "claude-code")


@attack("N25")
def test_deep_nesting_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    deep = b'{"type":"user","sessionId":"s","parentUuid":' + b"[" * 100_000
    path.write_bytes(deep + b"\n" + transcripts.claude_code())

    assert read(path, "claude-code")[0] == SAID["claude-code"]
