"""The audit: one line for each decision, chained so that no line can be changed unseen.

A line ends in the SHA-256 of all that stands before, which begins with the hash of the
line before it. Where a chain ends is noted apart, so that lines missing from its end are
missed. Values of arguments are never in it: their digest is, and their shape.
"""

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal

from nacre.clock import Clock
from nacre.errors import UnavailableError
from nacre.limits import AUDIT_ANCHOR_RECORDS, AUDIT_ANCHOR_SECONDS
from nacre.policy.json_text import writer
from nacre.ports.audit import GENESIS, AuditLog, Chain, Head

Direction = Literal["client", "server", "none"]
Outcome = Literal["allow", "deny", "prompt", "pass", "reject", "drop", "note"]

_PREV = b'{"prev":"'
_HASH = b',"hash":"'
_TAIL = len(_HASH) + 64 + 2
_DIGITS = 20  # of a record's number, as heads have them
_NAME = 200
_encode = writer(sort_keys=False, ensure_ascii=True)
_text = json.encoder.encode_basestring_ascii


@dataclass(slots=True, kw_only=True)  # frozen, each would take three times as long to make
class AuditEntry:
    """What happened to one message; `fields` are further facts, none of them a value."""

    outcome: Outcome
    server: str
    method: str
    sender: Direction = "client"
    tool: str | None = None
    rule: int | None = None
    policy: str = ""
    principal: str = ""
    being: str = ""
    request: str | None = None
    arguments_sha256: str | None = None
    shape: Mapping[str, str] | None = None
    enforced: bool = True
    note: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)

    def facts(self) -> dict[str, Any]:  # noqa: C901 - a line for each of them
        """Return what the record says, without what is empty."""
        known: dict[str, Any] = {"outcome": self.outcome}
        if self.server:
            known["server"] = self.server
        known["sender"] = self.sender
        known["method"] = self.method[:_NAME]
        if self.tool:
            known["tool"] = self.tool[:_NAME]
        if self.rule:
            known["rule"] = self.rule
        if self.policy:
            known["policy"] = self.policy[:16]
        if self.principal:
            known["principal"] = self.principal
        if self.being:
            known["being"] = self.being
        if self.request:
            known["request"] = self.request[:80]
        if self.arguments_sha256:
            known["arguments_sha256"] = self.arguments_sha256
        if self.shape:
            known["shape"] = self.shape
        if self.note:
            known["note"] = self.note[:500]
        if not self.enforced:
            known["enforced"] = False
        if self.fields:
            known.update(self.fields)
        return known

    def spelled(self) -> str:
        """Return what the record says as members of a JSON object."""
        tool = self.tool
        is_long = len(self.method) > _NAME or (tool is not None and len(tool) > _NAME)
        if is_long or self.fields or self.note or not self.enforced:
            return _encode(self.facts())[1:-1]
        said = _beginning(
            *(self.outcome, self.server, self.sender, self.method, tool),
            *(self.rule, self.policy, self.principal, self.being),
        )
        if self.request:
            said = f'{said},"request":{_text(self.request[:80])}'
        if self.arguments_sha256:
            said = f'{said},"arguments_sha256":{_text(self.arguments_sha256)}'
        return f'{said},"shape":{_encode(self.shape)}' if self.shape else said


@lru_cache(maxsize=1024)
def _beginning(
    outcome: Outcome,
    server: str,
    sender: Direction,
    method: str,
    tool: str | None,
    rule: int | None,
    policy: str,
    principal: str,
    being: str,
) -> str:
    """Spell what the records of one tool have in common, which is most of them."""
    entry = AuditEntry(
        outcome=outcome,
        server=server,
        method=method,
        sender=sender,
        tool=tool,
        rule=rule,
        policy=policy,
        principal=principal,
        being=being,
    )
    return _encode(entry.facts())[1:-1]


class AuditTrail:
    """Writes the records of one process, or one execution environment; threads may share it.

    `anchor` notes a head where the lines are not; it is called at the first record, then
    now and then, and at the end. `log_line` is told every line, for structured logs.
    """

    def __init__(
        self,
        log: AuditLog,
        clock: Clock,
        *,
        anchor: Callable[[Head], None] | None = None,
        log_line: Callable[[Mapping[str, Any]], None] | None = None,
    ) -> None:
        self._log = log
        self._clock = clock
        self._anchor = anchor
        self._log_line = log_line
        self._lock = threading.Lock()
        self._head: Head | None = None
        self._anchored: tuple[int, float] | None = None
        self._second = -1
        self._seconds = ""

    def record(self, entry: AuditEntry) -> str:
        """Keep one record and return its id; raises UnavailableError when it is not kept."""
        said = entry.spelled()
        with self._lock:
            before = self._head or self._log.open()
            self._head = None  # unknown, until the record is known to be kept
            now = self._clock()
            moment = now.timestamp()
            at = self._spelled(now, int(moment))
            after, line = _chained(before, at, said)
            self._log.append(line, before=before, after=after, at=at)
            self._head = after
            if self._anchor is not None:
                self._note(after, moment)
        name = f"{after.writer}/{after.sequence}"
        if self._log_line is not None:
            self._log_line({"audit": name, **entry.facts()})
        return name

    def close(self) -> None:
        """Note the head a last time and let the chain go."""
        with self._lock:
            head, self._head = self._head, None
            try:
                if head is not None and self._anchor is not None:
                    self._anchor(head)
            finally:
                self._log.close()

    def _spelled(self, now: datetime, second: int) -> str:
        """Return a moment as `isoformat` does; its seconds are spelled once for all records."""
        if second != self._second:
            self._second, self._seconds = second, now.isoformat(timespec="seconds")
        seconds = self._seconds
        return f"{seconds[:19]}.{now.microsecond:06}{seconds[19:]}"

    def _note(self, head: Head, now: float) -> None:
        if self._anchor is None:
            return
        if self._anchored is not None:
            sequence, moment = self._anchored
            is_new = 0 <= head.sequence - sequence < AUDIT_ANCHOR_RECORDS
            if is_new and now - moment < AUDIT_ANCHOR_SECONDS:
                return
        self._anchored = (head.sequence, now)
        # The record is kept; where it cannot be anchored now, the next minute's will be.
        with suppress(UnavailableError):
            self._anchor(head)


def _chained(before: Head, at: str, said: str) -> tuple[Head, bytes]:
    sequence = before.sequence + 1
    name = before.writer  # ours, as the moment is: nothing in them has to be escaped
    body = (
        f'{{"prev":"{before.hash}","seq":{sequence},"writer":"{name}","at":"{at}",{said}'.encode()
    )
    own = hashlib.sha256(body).hexdigest()
    return Head(before.writer, sequence, own), body + _HASH + own.encode() + b'"}'


_AT = b'"at":"'
_MOMENT = len("2026-01-01T00:00:00.000000+00:00")


def moment_of(line: bytes) -> str:
    """Return when a line was written, empty for one that does not say it."""
    place = line.find(_AT)
    return "" if place < 0 else line[place + len(_AT) :][:_MOMENT].decode("ascii", "replace")


# Verification.


@dataclass(frozen=True, slots=True)
class Verified:
    """What a check of one chain found; `problem` says what is wrong and where."""

    writer: str
    records: int
    problem: str | None


def verify_chain(chain: Chain) -> Verified:
    """Read a chain to its end and return whether it is whole."""
    count = 0
    expected: dict[int, str] = {}
    for head in chain.heads:
        if expected.setdefault(head.sequence, head.hash) != head.hash:
            return Verified(chain.writer, 0, f"two notes of record {head.sequence} disagree")
    sequence, previous = 0, GENESIS
    for line in chain.lines:
        link = _link(line)
        if link is None:
            return Verified(
                chain.writer, count, f"what follows record {sequence} is not a whole record"
            )
        prev, number, own = link
        if count == 0 and chain.may_begin_late:
            sequence, previous = number - 1, prev
        if number != sequence + 1:
            return Verified(
                chain.writer, count, f"record {number} stands where {sequence + 1} should be"
            )
        if prev != previous:
            return Verified(
                chain.writer, count, f"record {number} does not follow the one before it"
            )
        if number in expected and expected.pop(number) != own:
            return Verified(chain.writer, count, f"record {number} is not the one that was noted")
        sequence, previous = number, own
        count += 1
    missing = max(expected, default=0) - sequence
    if missing > 0:
        return Verified(chain.writer, count, f"the last {missing} of the records are missing")
    return Verified(chain.writer, count, None)


def verify_lines(lines: Iterable[bytes]) -> list[Verified]:
    """Check an export: lines of several writers, each chain in order; ends are not noted."""
    kept: dict[str, list[bytes]] = {}
    broken = 0
    for line in lines:
        writer = _writer(line)
        if writer is None:
            broken += 1
        else:
            kept.setdefault(writer, []).append(line)
    found = [
        verify_chain(Chain(writer, of_writer, (), may_begin_late=True))
        for writer, of_writer in kept.items()
    ]
    if broken:
        found.append(Verified("?", 0, f"{broken} lines are no records"))
    return found


def _link(line: bytes) -> tuple[str, int, str] | None:
    """Return the hash before, the number and the hash of a record that is in itself whole."""
    body, tail = line[:-_TAIL], line[-_TAIL:]
    if not (body.startswith(_PREV) and tail.startswith(_HASH) and tail.endswith(b'"}')):
        return None
    own = tail[len(_HASH) : -2]
    if hashlib.sha256(body).hexdigest().encode() != own:
        return None
    place = len(_PREV) + 64
    comma = body.find(b",", place + 2)
    number = body[place + 8 : comma]
    if body[place : place + 8] != b'","seq":' or not number.isdigit() or len(number) > _DIGITS:
        return None
    prev = body[len(_PREV) : place]
    return (prev.decode(), int(number), own.decode()) if prev.isascii() else None


def _writer(line: bytes) -> str | None:
    try:
        writer = json.loads(line)["writer"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return writer if isinstance(writer, str) else None
