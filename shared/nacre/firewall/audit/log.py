"""The audit: one line for each decision, chained so that a changed line is detected.

A line ends with the SHA-256 of its own text, which begins with the hash of the line before it.
The end of a chain is noted elsewhere, so that lines missing at its end are detected. A record
has the digest and the shape of the arguments, never their values.
"""

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

from nacre.core.clock import Clock
from nacre.core.errors import UnavailableError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import AUDIT_ANCHOR_RECORDS, AUDIT_ANCHOR_SECONDS
from nacre.firewall.audit.entry import Record
from nacre.ports.audit import GENESIS, AuditLog, Chain, Head

_PREV = b'{"prev":"'
_HASH = b',"hash":"'
_TAIL = len(_HASH) + 64 + 2
_DIGITS = 20  # of a record's number in a head


class AuditTrail:
    """Writes the records of one process, or one execution environment; threads may share it.

    `anchor` stores a head away from the lines; it is called at the first record, then from time
    to time, and at the end. `log_line` takes every record, for structured logs.
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
        self._seconds = self._zone = ""

    def record(self, entry: Record) -> str:
        """Write one record and return its id; raises UnavailableError if that fails."""
        members = entry.spelled()
        with self._lock:
            before = self._head or self._log.open()
            self._head = None  # unknown until the record is written
            now = self._clock()
            moment = now.timestamp()
            at = self._spelled(now, int(moment))
            after, line = _chained(before, at, members)
            self._log.append(line, before=before, after=after, at=at)
            self._head = after
            if self._anchor is not None:
                self._note(after, moment)
        name = f"{after.writer}/{after.sequence}"
        if self._log_line is not None:
            self._log_line({"audit": name, **entry.facts()})
        return name

    def close(self) -> None:
        """Store the head one last time and end the chain."""
        with self._lock:
            head, self._head = self._head, None
            try:
                if head is not None and self._anchor is not None:
                    self._anchor(head)
            finally:
                self._log.close()

    def _spelled(self, now: datetime, second: int) -> str:
        """Return a moment as `isoformat` does; the text of its seconds is reused."""
        if second != self._second:
            self._second, spelled = second, now.isoformat(timespec="seconds")
            self._seconds, self._zone = spelled[:19], spelled[19:]
        return f"{self._seconds}.{now.microsecond:06}{self._zone}"

    def _note(self, head: Head, now: float) -> None:
        if self._anchor is None:
            return
        if self._anchored is not None:
            sequence, moment = self._anchored
            is_new = 0 <= head.sequence - sequence < AUDIT_ANCHOR_RECORDS
            if is_new and now - moment < AUDIT_ANCHOR_SECONDS:
                return
        self._anchored = (head.sequence, now)
        # The record is written. If it cannot be anchored now, a later one will be.
        with suppress(UnavailableError):
            self._anchor(head)


def _chained(before: Head, at: str, members: str) -> tuple[Head, bytes]:
    sequence = before.sequence + 1
    name = before.writer  # Nacre chose it and the moment: neither has to be escaped
    link = f'{{"prev":"{before.hash}","seq":{sequence},"writer":"{name}","at":"{at}",'
    body = f"{link}{members}".encode()
    hash_ = hashlib.sha256(body).hexdigest()
    return Head(before.writer, sequence, hash_), body + _HASH + hash_.encode() + b'"}'


_AT = b'"at":"'
_MOMENT = len("2026-01-01T00:00:00.000000+00:00")


def moment_of(line: bytes) -> str:
    """Return when a line was written, "" if the line does not say it."""
    place = line.find(_AT)
    return "" if place < 0 else line[place + len(_AT) :][:_MOMENT].decode("ascii", "replace")


_SEQUENCE = b'"seq":'


def number_of(line: bytes) -> int | None:
    """Return a line's number in its chain, None if the line does not say it."""
    place = line.find(_SEQUENCE, 0, len(_PREV) + 64 + 20)  # Nacre writes it second
    if place < 0:
        return None
    digits = line[place + len(_SEQUENCE) :].split(b",", 1)[0][: _DIGITS + 1]
    return int(digits) if digits.isdigit() and len(digits) <= _DIGITS else None


# Verification.


@dataclass(frozen=True, slots=True)
class Verified:
    """The result of checking one chain; `problem` tells the position at which it is broken."""

    writer: str
    records: int
    problem: str | None


def verify_chain(chain: Chain) -> Verified:
    """Check a whole chain."""
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
        prev, number, hash_ = link
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
        if number in expected and expected.pop(number) != hash_:
            return Verified(chain.writer, count, f"record {number} is not the one that was noted")
        sequence, previous = number, hash_
        count += 1
    missing = max(expected, default=0) - sequence
    if missing > 0:
        return Verified(chain.writer, count, f"the last {missing} of the records are missing")
    return Verified(chain.writer, count, None)


def verify_lines(lines: Iterable[bytes]) -> list[Verified]:
    """Check an export with lines of several writers, whose last records are not known."""
    by_writer: dict[str, list[bytes]] = {}
    broken = 0
    for line in lines:
        writer = _writer(line)
        if writer is None:
            broken += 1
        else:
            by_writer.setdefault(writer, []).append(line)
    results = [
        verify_chain(Chain(writer, of_writer, (), may_begin_late=True))
        for writer, of_writer in by_writer.items()
    ]
    if broken:
        results.append(
            Verified(
                "?", 0, f"{broken} line{' is not a record' if broken == 1 else 's are not records'}"
            )
        )
    return results


def _link(line: bytes) -> tuple[str, int, str] | None:
    """Return the previous hash, the number and the hash of a whole record; else None."""
    body, tail = line[:-_TAIL], line[-_TAIL:]
    if not (body.startswith(_PREV) and tail.startswith(_HASH) and tail.endswith(b'"}')):
        return None
    hash_ = tail[len(_HASH) : -2]
    if hashlib.sha256(body).hexdigest().encode() != hash_:
        return None
    place = len(_PREV) + 64
    comma = body.find(b",", place + 2)
    number = body[place + 8 : comma]
    if body[place : place + 8] != b'","seq":' or not number.isdigit() or len(number) > _DIGITS:
        return None
    prev = body[len(_PREV) : place]
    return (prev.decode(), int(number), hash_.decode()) if prev.isascii() else None


def _writer(line: bytes) -> str | None:
    try:
        writer = json.loads(line)["writer"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return writer if isinstance(writer, str) else None
