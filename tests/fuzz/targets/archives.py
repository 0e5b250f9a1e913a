"""Files that somebody brings along: refused in words, or read, and then to be written again."""

import io
import json
import tarfile
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from nacre.adapters.files.backup_file import BackupFile
from nacre.being.memory.transfer.basic_memory import Page, read_basic_memory
from nacre.being.memory.transfer.export_file import ExportFile
from nacre.being.memory.transfer.foreign_records import ParsedPart, SkippedPart
from nacre.being.memory.transfer.mem0 import read_mem0
from nacre.being.memory.transfer.portable_records import StateHash, decode, encode
from nacre.being.memory.transfer.server_memory import read_server_memory
from nacre.core.errors import InvalidInputError, NewerSchemaError
from nacre.protocol import strict_json

TODAY = datetime(2026, 11, 18, tzinfo=UTC)
BEING = "0191f6a0-0000-7000-8000-000000000001"
HEADER = {
    "type": "nacre-export",
    "format": 1,
    "nacre": "0.1",
    "being": {"being_id": BEING, "name": "Ann", "created": "2026-01-01T00:00:00.000Z"},
    "exported_at": "2026-01-01T00:00:00.000Z",
    "counts": {},
    "vectors": [],
}
RELATION = {
    "entity": "Ann",
    "type": "person",
    "content": "likes the sea",
    "updated_at": "2026-01-01T00:00:00.000Z",
}
PARTS = {"a/b": b"hello", "backup.json": b'{"type":"nacre-backup","format":1,"parts":{}}'}


def _compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _tar(kind: int) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=kind) as archive:
        for name, part in PARTS.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(part)
            archive.addfile(entry, io.BytesIO(part))
    return content.getvalue().rstrip(b"\0")


LENGTH = 2500
SEEDS = (
    b"",
    b"\0" + _compact(HEADER) + b'\n{"type":"end","state":"","sha256":""}\n',
    b"\1" + _compact({"type": "relation", "key": "ann", "value": RELATION}),
    b'\1{"type":"being","key":"","value":{"clock":3,"x":{"$bytes":"AAAA"}},'
    b'"vectors":{"text_sha":"a","of":{"m":"AAAA"}}}',
    b'\2[{"memory":"a","id":"1","created_at":"2026-01-01T00:00:00Z","categories":["x"]}]',
    b'\2{"results":[{"content":"b"}],"relations":[{"source":"a","relation":"b","target":"c"}]}',
    b'\3{"type":"entity","name":"a","entityType":"t","observations":["x"]}\n'
    b'{"type":"relation","from":"a","to":"b","relationType":"r"}',
    b"\4---\ntitle: A\ntags: [a, b]\ncreated: 2026-01-01\n---\n- [idea] what #t (c)\n"
    b"- relates_to [[B]]\n```\n- [x] y\n```\n",
    b"\5" + _tar(tarfile.PAX_FORMAT),
    b"\5" + _tar(tarfile.GNU_FORMAT),
)


def one(data: bytes) -> None:
    """Take the input for a file of the form that its first byte says."""
    kind, raw = (data[:1] or b"\0")[0] % 6, data[1:]
    match kind:
        case 0:
            _export(raw)
        case 1:
            _record(raw)
        case 2:
            _foreign(lambda: list(read_mem0(raw, today=TODAY)))
        case 3:
            _foreign(lambda: list(read_server_memory(raw.split(b"\n"), today=TODAY)))
        case 4:
            page = Page("a/b.md", raw, TODAY)
            _foreign(lambda: list(read_basic_memory([page], today=TODAY)))
        case _:
            _backup(raw)


def _export(raw: bytes) -> None:
    file = ExportFile(io.BytesIO(raw))
    try:
        summary = file.check()
    except InvalidInputError as error:
        assert len(str(error)) < 500
        return
    assert sum(1 for _ in file.records()) == summary.total


def _record(raw: bytes) -> None:
    try:
        line = strict_json.parse(raw)
    except InvalidInputError:
        return
    if not isinstance(line, dict):
        return
    try:
        record = decode(line, "line 1")
    except InvalidInputError as error:
        str(error).encode()
        return
    again = decode(json.loads(encode(record)), "line 1")
    assert encode(again) == encode(record)
    assert again == record
    StateHash(BEING).add(record)


def _foreign(read: Callable[[], list[ParsedPart]]) -> None:
    try:
        found = read()
    except InvalidInputError:
        return
    for each in found:
        if not isinstance(each, SkippedPart):
            line = json.loads(encode(each))
            assert decode(line, "line 1") == each


def _backup(raw: bytes) -> None:
    file = BackupFile(io.BytesIO(raw))
    try:
        manifest = file.check()
    except (InvalidInputError, NewerSchemaError) as error:
        str(error).encode()
        return
    with tempfile.TemporaryDirectory() as folder:
        inner = Path(folder) / "inner"
        inner.mkdir()
        file.unpack(inner)
        assert [path.name for path in Path(folder).iterdir()] == ["inner"]
        size = sum(path.stat().st_size for path in inner.rglob("*") if path.is_file())
        assert size == manifest.size
