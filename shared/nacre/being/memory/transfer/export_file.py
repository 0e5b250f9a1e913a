"""The file of an export: JSON lines with a header first and checksums last.

The header counts the records of every kind. The last line has the state hash, which does not
depend on the store, and the SHA-256 of all bytes before that line.
"""

import gzip
import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, BinaryIO

from nacre import __version__
from nacre.access.beings import Being
from nacre.being.memory.model.types import moment
from nacre.being.memory.transfer.portable_records import (
    FORMAT,
    KINDS,
    Record,
    StateHash,
    decode,
    encode,
)
from nacre.core.errors import InvalidInputError
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.protocol import strict_json

HEADER = "nacre-export"
END = "end"

_BEGINNING = f'{{"type":"{HEADER}",'.encode()
_LONGEST_LINE = 4 * 1024 * 1024  # an item of 400 kB, escaped, with vectors
_CHUNK = 1024 * 1024
_CUT_OFF = "the file is cut off: its last line is missing; export again, or fetch it again"
NOT_AN_EXPORT = "this is not an export of Nacre"
"""How the error about a file that is something else begins."""

_ALTERED = "the file was altered or damaged; export again, or fetch it again"

Progress = Callable[[int], None]
"""Called from time to time with the number of records done."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The contents of an export."""

    being_id: str
    name: str
    created: str
    nacre: str
    exported_at: str
    counts: Mapping[str, int]
    state: str
    clock: int = 0  # the Being's active days
    emb_ids: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """Return the number of records."""
        return sum(self.counts.values())


@dataclass(slots=True)
class _Tally:
    being_id: str
    counts: Counter[str] = field(default_factory=Counter)
    emb_ids: set[str] = field(default_factory=set)
    clock: int = 0
    state: StateHash = field(init=False)

    def __post_init__(self) -> None:
        self.state = StateHash(self.being_id)

    def add(self, record: Record) -> None:
        self.state.add(record)
        self.counts[record.kind] += 1
        if record.vectors is not None:
            self.emb_ids.update(record.vectors.of)
        if record.kind == "being":
            clock = record.value.get("clock", 0)
            self.clock = clock if isinstance(clock, int) else 0

    def in_order(self) -> dict[str, int]:
        return {kind: self.counts[kind] for kind in KINDS if self.counts[kind]}


def save(
    records: Iterable[Record],
    being: Being,
    file: BinaryIO,
    spool: BinaryIO,
    *,
    now: datetime,
    progress: Progress = lambda _: None,
) -> Summary:
    """Write an export to `file`, by way of `spool`, because the header has the counts."""
    tally = _Tally(being.being_id)
    for number, record in enumerate(records, start=1):
        spool.write(encode(record))
        tally.add(record)
        progress(number)
    spool.seek(0)
    header = {
        "type": HEADER,
        "format": FORMAT,
        "nacre": __version__,
        "being": {
            "being_id": being.being_id,
            "name": being.name,
            "created": moment(being.created),
        },
        "exported_at": moment(now),
        "counts": tally.in_order(),
        "vectors": sorted(tally.emb_ids),
    }
    sha = hashlib.sha256()
    for chunk in _chunks(_line(header), spool):
        sha.update(chunk)
        file.write(chunk)
    state = tally.state.hexdigest()
    file.write(_line({"type": END, "state": state, "sha256": sha.hexdigest()}))
    return _summary(header, state, tally)


class ExportFile:
    """An export in a file that is read twice: to check it, and to import it."""

    def __init__(self, file: BinaryIO) -> None:
        """Open a file, which may be compressed with gzip, at its beginning."""
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        self._file: BinaryIO = gzip.GzipFile(fileobj=file) if packed else file  # type: ignore[assignment]  # reads as one

    def check(self, progress: Progress = lambda _: None) -> Summary:
        """Read the whole file and return a summary.

        Raises InvalidInputError for another or a newer format, and for a file that was cut
        off, altered, or holds an invalid record.
        """
        lines = self._lines()
        first = next(lines, (b"", {}))
        header = _header(first[1])
        tally = _Tally(header["being"]["being_id"])
        sha = hashlib.sha256(first[0])
        number = 1
        for raw, line in lines:
            number += 1
            if line.get("type") == END:
                self._check_end(line, sha.hexdigest(), header, tally)
                if next(lines, None) is not None:
                    raise InvalidInputError(f"line {number + 1}: {_ALTERED}")
                return _summary(header, tally.state.hexdigest(), tally)
            sha.update(raw)
            tally.add(decode(line, f"line {number}"))
            progress(number - 1)
        raise InvalidInputError(f"after line {number}: {_CUT_OFF}")

    def records(self) -> Iterator[Record]:
        """Yield the records of a file that has been checked."""
        for number, (_, line) in enumerate(self._lines(), start=1):
            if line.get("type") not in (HEADER, END):
                yield decode(line, f"line {number}")

    def _check_end(
        self, end: Mapping[str, Any], sha: str, header: Mapping[str, Any], tally: _Tally
    ) -> None:
        declared = header["counts"]
        actual = tally.in_order()
        for kind in {**declared, **actual}:
            if declared.get(kind, 0) != actual.get(kind, 0):
                raise InvalidInputError(
                    f"the file says {declared.get(kind, 0)} of {kind} and has"
                    f" {actual.get(kind, 0)}: {_ALTERED}"
                )
        if end.get("sha256") != sha:
            raise InvalidInputError(f"the hash of the file is not the one it ends with: {_ALTERED}")
        if end.get("state") != tally.state.hexdigest():
            raise InvalidInputError(
                f"the state hash is not the one of the file's records: {_ALTERED}"
            )

    def _lines(self) -> Iterator[tuple[bytes, dict[str, Any]]]:
        self._file.seek(0)
        number = 0
        while True:
            number += 1
            try:
                raw = self._file.readline(_LONGEST_LINE)
            except EOFError:
                raise InvalidInputError(f"line {number}: {_CUT_OFF}") from None
            except (OSError, zlib.error) as error:
                raise InvalidInputError(f"line {number}: {_ALTERED}") from error
            if not raw:
                return
            if number == 1 and not raw.startswith(_BEGINNING[: len(raw)]):
                raise _unknown_format()
            if not raw.endswith(b"\n"):
                raise InvalidInputError(f"line {number}: {_ended(raw)}")
            yield raw, _parsed(raw, number)


def _ended(raw: bytes) -> str:
    if len(raw) == _LONGEST_LINE:
        return f"it has more than {_LONGEST_LINE} bytes: {_ALTERED}"
    return _CUT_OFF


def _parsed(raw: bytes, number: int) -> dict[str, Any]:
    try:
        # Strict parsing keeps endless nesting and invalid numbers out of the store.
        line = strict_json.parse(raw)
        reason = "it is not a JSON object"
    except InvalidInputError as error:
        line, reason = None, str(error).replace("the message", "it")
    if isinstance(line, dict):
        return line
    if number == 1:
        raise _unknown_format()
    raise InvalidInputError(f"line {number}: {reason}: {_ALTERED}")


def _header(line: Mapping[str, Any]) -> dict[str, Any]:
    if line.get("type") != HEADER:
        raise _unknown_format()
    version = line.get("format")
    if not isinstance(version, int) or version > FORMAT:
        raise InvalidInputError(
            f"the file was written by a newer Nacre ({str(line.get('nacre'))[:20]}): it has format"
            f" {str(version)[:20]}, and this version knows formats up to {FORMAT}; upgrade nacre"
        )
    being, counts, emb_ids = line.get("being"), line.get("counts"), line.get("vectors")
    is_header = (
        isinstance(being, dict)
        and all(isinstance(being.get(field), str) for field in ("being_id", "name", "created"))
        and _is_uuid(being["being_id"])
        and isinstance(counts, dict)
        and isinstance(emb_ids, list)
    )
    if not is_header:
        raise InvalidInputError(f"line 1: {_ALTERED}")
    return dict(line)


def _is_uuid(text: str) -> bool:
    digits = text.replace("-", "")
    return len(text) == 36 and len(digits) == 32 and not set(digits) - set("0123456789abcdef")


def _unknown_format() -> InvalidInputError:
    return InvalidInputError(f"{NOT_AN_EXPORT}; for one of another program give --format")


def _summary(header: Mapping[str, Any], state: str, tally: _Tally) -> Summary:
    being = header["being"]
    return Summary(
        being_id=being["being_id"],
        name=being["name"],
        created=being["created"],
        nacre=str(header.get("nacre")),
        exported_at=str(header.get("exported_at")),
        counts=tally.in_order(),
        state=state,
        clock=tally.clock,
        emb_ids=tuple(sorted(tally.emb_ids)),
    )


def _line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _chunks(first: bytes, file: BinaryIO) -> Iterator[bytes]:
    yield first
    while chunk := file.read(_CHUNK):
        yield chunk
