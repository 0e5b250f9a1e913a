"""Calls in the audit: one by its name, and those of a Being around a time.

The audit is read hour by hour, each hour once and with a limit, so that a long log costs no more
than a short one.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import MAXYEAR, UTC, datetime, timedelta
from typing import Any, NamedTuple, Self

from nacre.core.errors import InvalidInputError, NotFoundError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import (
    PROVENANCE_HOURS,
    PROVENANCE_RECORDS,
    PROVENANCE_SECONDS,
    RECEIVED_SECONDS,
)
from nacre.core.own_server_name import OWN
from nacre.firewall.approvals.form import printable
from nacre.firewall.audit.log import moment_of
from nacre.ports.audit import AuditRecords

RECEIVED = timedelta(seconds=2 * RECEIVED_SECONDS)
"""The longest time for which a result counts as received, if the call names no conversation."""
_SOON = timedelta(seconds=PROVENANCE_SECONDS)
_HOUR = timedelta(hours=1)
_MILLISECOND = timedelta(milliseconds=1)  # what is written has a time without the rest of it
_LONGEST_NAME = 200
_CONTENT = ("tools/call", "resources/read", "prompts/get")


@dataclass(frozen=True, slots=True)
class AuditedCall:
    """One record of the audit; every character of its texts is visible."""

    name: str  # WRITER/NUMBER
    at: datetime
    record: Mapping[str, Any]

    @classmethod
    def parse(cls, line: bytes) -> Self | None:
        """Return the call in a line, None for a line that is no whole record."""
        try:
            record = json.loads(line)
            at = _time(str(record["at"]))
            name = printable(f"{record['writer']}/{record['seq']}")
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        return None if at is None else cls(name, at, record)

    def text(self, name: str) -> str:
        """Return a fact of the record, "" if it does not have it."""
        value = self.record.get(name)
        return "" if value is None else printable(str(value))

    @property
    def called(self) -> str:
        """Return the name of what was called: a tool, or a method."""
        return self.text("tool") or self.text("method")

    @property
    def is_own(self) -> bool:
        """Tell whether it is a call of the Being's own tools."""
        return self.text("server") == OWN

    @property
    def was_made(self) -> bool:
        """Tell whether a client's call was made, and not refused."""
        is_call = self.text("sender") == "client" and self.text("method") in _CONTENT
        outcomes = ("allow",) if self.is_enforced else ("allow", "deny", "prompt")
        return is_call and self.text("outcome") in outcomes

    @property
    def is_enforced(self) -> bool:
        """Tell whether the decision counted, and was not only noted."""
        return self.record.get("enforced", True) is not False


def audited_call(records: AuditRecords, name: str) -> AuditedCall:
    """Return the call of a name, as `nacre audit tail` prints it at the end of its lines.

    Raises InvalidInputError for text that is no such name, and NotFoundError for an unknown one.
    """
    writer, _, number = name.rpartition("/")
    is_number = number.isascii() and number.isdigit()
    if not (writer and is_number) or len(name) > _LONGEST_NAME or not name.isprintable():
        raise InvalidInputError(
            "a call is named as at the end of a line of 'nacre audit tail', such as laptop-1/7"
        )
    line = records.record(writer, int(number))
    call = None if line is None else AuditedCall.parse(line)
    if call is None:
        raise NotFoundError(
            f"the audit has no record {name[:80]}; 'nacre audit tail' prints the names of records"
        )
    return call


class Around(NamedTuple):
    """Calls around a time, the newest first; `is_whole` unless some hours were not fully read."""

    calls: tuple[AuditedCall, ...]
    is_whole: bool


class AuditedCalls:
    """The calls of one Being, read once for all that is asked about in one answer."""

    def __init__(self, records: AuditRecords, being_id: str) -> None:
        self._records = records
        self._being = being_id
        self._hours: dict[datetime, Around] = {}

    def writers(self, moment: str, tools: Collection[str], order: str = "") -> Around:
        """Return the calls of own tools that may have written something at a stored moment.

        Nothing stored names the call. So these are all calls of these tools, or of tools with this
        prefix, that were recorded up to a few seconds before.
        """
        at = _time(moment)
        if at is None:
            return Around((), is_whole=True)
        calls, is_whole = self._between(at - _SOON, at + _MILLISECOND)
        named = (
            call
            for call in calls
            if call.is_own
            and call.was_made
            and (call.called in tools or (order and call.called.startswith(order)))
        )
        return Around(tuple(named), is_whole)

    def received_before(self, call: AuditedCall) -> Around:
        """Return the calls of the same caller whose results count as received at a call."""
        calls, is_whole = self._between(call.at - RECEIVED, call.at)
        mine = (
            other
            for other in calls
            if other.text("principal") == call.text("principal")
            and other.was_made
            and other.name != call.name
        )
        return Around(tuple(mine), is_whole)

    def _between(self, low: datetime, high: datetime) -> Around:
        hours = [low.replace(minute=0, second=0, microsecond=0)]
        while hours[-1] + _HOUR <= high:
            hours.append(hours[-1] + _HOUR)
        missing = [hour for hour in hours if hour not in self._hours]
        room = PROVENANCE_HOURS - len(self._hours)
        if missing and room > 0:
            self._hours |= self._read(missing[-room:])
        parts = [self._hours.get(hour, Around((), is_whole=False)) for hour in reversed(hours)]
        calls = (call for part in parts for call in part.calls if low <= call.at <= high)
        return Around(tuple(calls), all(part.is_whole for part in parts))

    def _read(self, hours: Sequence[datetime]) -> dict[datetime, Around]:
        """Return the calls of these hours, in one pass from the last to the first."""
        calls: dict[datetime, list[AuditedCall]] = {hour: [] for hour in hours}
        unread = ""  # the time of the newest line that was not read
        for count, line in enumerate(self._lines(hours[0], hours[-1] + _HOUR)):
            if count == PROVENANCE_RECORDS * len(hours):
                unread = moment_of(line)
                break
            call = AuditedCall.parse(line)
            if call is not None and call.text("being") == self._being:
                of_hour = calls.get(call.at.replace(minute=0, second=0, microsecond=0))
                if of_hour is not None:
                    of_hour.append(call)
        return {
            hour: Around(tuple(calls[hour]), is_whole=not unread or unread < _written(hour))
            for hour in hours
        }

    def _lines(self, low: datetime, high: datetime) -> Iterator[bytes]:
        """Yield the lines between two times that name the Being, the newest first."""
        being = self._being.encode()
        for line in self._records.newest(_written(high)):
            at = moment_of(line)
            if at and at < _written(low):  # a damaged line has no time
                return
            if at and being in line:
                yield line


def _time(moment: str) -> datetime | None:
    """Return a stored moment as a time, None for text that is none, as an import can hold."""
    try:
        at = datetime.fromisoformat(moment).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return at if 1970 <= at.year < MAXYEAR else None


def _written(at: datetime) -> str:
    """Return a time as the audit writes it."""
    return at.isoformat(timespec="microseconds")
