"""What comes back to us: nothing but what we gave out opens, and a chain shows every change."""

import base64
import hashlib
import json
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from nacre.adapters.files.vault import FileVault
from nacre.adapters.items.item_query import decode_cursor, encode_cursor, make_query
from nacre.adapters.sqlite.item_json import decode_item, encode_item
from nacre.being.provenance.audited_calls import AuditedCall, AuditedCalls
from nacre.cli.policy.audit import _summary
from nacre.core.errors import BrokenSealError, InvalidInputError, InvalidParamsError
from nacre.firewall.analysis.replay import read_records
from nacre.firewall.audit.log import (
    AuditTrail,
    moment_of,
    number_of,
    verify_chain,
    verify_lines,
)
from nacre.ports.audit import GENESIS, Chain, Head
from nacre.protocol.dispatch.request_state import RequestStates, SigningKeys
from nacre.protocol.messages import Request
from tests.firewall.chains import entry

NOW = datetime(2026, 11, 18, tzinfo=UTC)
STATES = RequestStates(lambda: SigningKeys(b"k" * 32, b"j" * 32), lambda: NOW)
REQUEST = Request(1, "tools/call", {"name": "a", "arguments": {"b": [1, None]}})
STATE = STATES.seal({"q": {"action": "accept"}}, ["q"], REQUEST, None)
_FOLDER = tempfile.TemporaryDirectory()
VAULT = FileVault(Path(_FOLDER.name) / "key")
CONTEXT = {"being": "b"}
SEALED = VAULT.seal(b"secret", context=CONTEXT)
QUERY = make_query("B#1", index=None, keys=None, descending=False, limit=3)
CURSOR = encode_cursor(QUERY, ["sk"])


class Kept:
    """An audit's log that keeps its lines."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.last = Head("w", 0, GENESIS)

    def open(self) -> Head:
        return self.last

    def append(self, line: bytes, *, before: Head, after: Head, at: str) -> None:
        del before, at
        self.lines.append(line)
        self.last = after

    def close(self) -> None:
        return


class _NoRecords:
    """An audit without a record."""

    def chains(self) -> Iterator[Chain]:
        return iter(())

    def newest(self, before: str = "") -> Iterator[bytes]:
        return iter(())

    def record(self, writer: str, sequence: int) -> bytes | None:
        return None


KEPT = Kept()
TRAIL = AuditTrail(KEPT, lambda: NOW)
for number in range(3):
    TRAIL.record(entry(number))
LINES = tuple(KEPT.lines)
LENGTH = 1500
SEEDS = (
    b"",
    b"\0" + STATE.encode(),
    b"\1" + SEALED,
    b"\2" + b"\n".join(LINES),
    b"\2" + b"\n".join(LINES[1:]),
    b"\3" + CURSOR.encode(),
    b'\4{"a":{"$bytes":"AAAA"},"b":{"$map":{"$bytes":1}},"c":[1.5,null,true]}',
)


def one(data: bytes) -> None:
    """Take the input for what its first byte says."""
    kind, raw = (data[:1] or b"\0")[0] % 5, data[1:]
    match kind:
        case 0:
            _state(raw.decode("utf-8", "surrogateescape"))
        case 1:
            _vault(raw)
        case 2:
            _chain(raw.split(b"\n"))
        case 3:
            _cursor(raw.decode("utf-8", "replace"))
        case _:
            _item(raw)


def _state(text: str) -> None:
    try:
        opened = STATES.open(text, REQUEST, None)
    except InvalidParamsError:
        assert text != STATE
        return
    assert text == STATE
    assert opened["asked"] == ["q"]


def _vault(raw: bytes) -> None:
    try:
        plain = VAULT.open(raw, context=CONTEXT)
    except BrokenSealError:
        assert raw != SEALED
        return
    assert (raw, plain) == (SEALED, b"secret")


def _chain(lines: list[bytes]) -> None:
    found = verify_chain(Chain("w", lines, (KEPT.last,)))
    assert (found.problem is None) == (tuple(lines) == LINES)
    # Whatever hashes somebody has made for lines of their own, nothing breaks.
    own = []
    for line in lines:
        body = line[: line.rfind(b',"hash"')] if b',"hash"' in line else line
        own.append(body + b',"hash":"' + hashlib.sha256(body).hexdigest().encode() + b'"}')
    assert verify_chain(Chain("w", own, (KEPT.last,))).problem is None or tuple(own) != LINES
    for each in verify_lines([*lines, *own]):
        (each.writer + str(each.problem)).encode("utf-8", "surrogatepass")
    for line in lines:
        moment_of(line)
        number_of(line)
        _summary(line)
        call = AuditedCall.parse(line)
        if call is not None:
            AuditedCalls(_NoRecords(), "b").received_before(call)
            f"{call.name} {call.called} {call.was_made}".encode()
    try:
        read_records(lines, source="file")
    except InvalidInputError as error:
        assert len(str(error)) < 300


def _cursor(text: str) -> None:
    try:
        position = decode_cursor(QUERY, text)
    except InvalidInputError:
        assert text != CURSOR
        return
    assert all(isinstance(part, str) for part in position)
    assert len(position) == 1
    encode_cursor(QUERY, position).encode("utf-8", "surrogatepass")


def _item(raw: bytes) -> None:
    try:
        item = json.loads(raw)
    except (ValueError, RecursionError):
        return
    if not isinstance(item, dict) or "NaN" in repr(item) or "nan" in repr(item):
        return
    item["bytes"] = raw
    item["inner"] = {"$bytes": base64.b64encode(raw).decode(), "$map": raw}
    try:
        text = encode_item(item)
    except RecursionError:
        return
    assert decode_item(text) == item
