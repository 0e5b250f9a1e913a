"""A Being's points as one file: rows as the laptop's index stores them, column by column.

The file begins with its kind and the length of a JSON header, which names the columns and their
lengths. Columns follow each other without gaps. A reader ignores columns that it does not know,
so further columns need no new version.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, chain, pairwise

import numpy as np
import numpy.typing as npt

from nacre.adapters.vectors.point_rows import TERM, Row
from nacre.adapters.vectors.point_rules import day_number, iso_day
from nacre.core.errors import InvalidInputError
from nacre.core.lazy_dataclasses import dataclass
from nacre.ports.vectors.vector_index import Kind

_MAGIC = b"nacre-points-1\n\0"
_KINDS: tuple[Kind, ...] = ("node", "scene")
_NO_CLUSTER = -1


@dataclass(frozen=True, slots=True)
class StoredPoint:
    """A row, the digest that changes whenever the point does, and its summary, if it has one."""

    row: Row
    text_sha: str
    summary: str | None


class DamagedFileError(InvalidInputError):
    """A file of points is cut off, or is of another kind."""

    def __init__(self) -> None:
        super().__init__("this is no file of points, or only a part of one")


def encoded(points: Sequence[StoredPoint], emb_id: str) -> bytes:
    """Return the file of points with distinct ids."""
    rows = [point.row for point in points]
    states = _codes(row.state for row in rows)
    clusters = _codes(row.cluster_id for row in rows if row.cluster_id is not None)
    vectors = [row.vector for row in rows]
    sizes = [0 if vector is None else len(vector) for vector in vectors]
    columns: dict[str, bytes] = {
        **_texts("ids", [row.id for row in rows]),
        **_texts("digests", [point.text_sha for point in points]),
        **_texts("summaries", [point.summary or "" for point in points]),
        "kinds": bytes(_KINDS.index(row.kind) for row in rows),
        "states": _numbers([states[row.state] for row in rows], "<u2"),
        "clusters": _numbers(
            [_NO_CLUSTER if row.cluster_id is None else clusters[row.cluster_id] for row in rows],
            "<i4",
        ),
        "day_counts": _numbers([len(row.days) for row in rows], "<u4"),
        "days": _numbers([day_number(day) for row in rows for day in row.days], "<u4"),
        "vector_sizes": _numbers(sizes, "<u4"),
        "vectors": b"".join(vector for vector in vectors if vector is not None),
        "term_counts": _numbers([len(row.packed_terms) // TERM.itemsize for row in rows], "<u4"),
        "terms": b"".join(row.packed_terms for row in rows),
    }
    header = json.dumps(
        {
            "emb_id": emb_id,
            "count": len(rows),
            "states": list(states),
            "clusters": list(clusters),
            "columns": {name: len(column) for name, column in columns.items()},
        }
    ).encode()
    return b"".join((_MAGIC, len(header).to_bytes(4, "little"), header, *columns.values()))


def decoded(file: bytes) -> list[StoredPoint]:
    """Return the points of a file; raises DamagedFileError for anything else."""
    try:
        return _decoded(file)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedFileError from error


def _decoded(file: bytes) -> list[StoredPoint]:
    start = len(_MAGIC) + 4
    if file[: len(_MAGIC)] != _MAGIC:
        raise ValueError
    first = start + int.from_bytes(file[len(_MAGIC) : start], "little")
    header = json.loads(file[start:first])
    columns = _columns(file, first, header["columns"])
    days = [iso_day(number) for number in _array(columns["days"], "<u4").tolist()]
    states, clusters = header["states"], header["clusters"]
    rows = [
        StoredPoint(
            Row(
                id=id_,
                kind=_KINDS[kind],
                state=states[state],
                cluster_id=None if cluster == _NO_CLUSTER else clusters[cluster],
                days=tuple(days[day_low:day_high]),
                vector=None if low == high else columns["vectors"][low:high],
                packed_terms=columns["terms"][term_low:term_high],
            ),
            digest,
            summary or None,
        )
        for id_, digest, summary, kind, state, cluster, (day_low, day_high), (low, high), (
            term_low,
            term_high,
        ) in zip(
            _read_texts("ids", columns),
            _read_texts("digests", columns),
            _read_texts("summaries", columns),
            columns["kinds"],
            _array(columns["states"], "<u2").tolist(),
            _array(columns["clusters"], "<i4").tolist(),
            _bounds(columns["day_counts"]),
            _bounds(columns["vector_sizes"]),
            _bounds(columns["term_counts"], TERM.itemsize),
            strict=True,
        )
    ]
    if len(rows) != header["count"]:
        raise ValueError
    return rows


def _columns(file: bytes, first: int, lengths: Mapping[str, int]) -> dict[str, bytes]:
    columns = {}
    for name, length in lengths.items():
        columns[name] = file[first : first + length]
        first += length
    if first != len(file):
        raise ValueError
    return columns


def _codes(names: Iterable[str]) -> dict[str, int]:
    return {name: code for code, name in enumerate(dict.fromkeys(names))}


def _texts(name: str, texts: Sequence[str]) -> dict[str, bytes]:
    encoded_texts = [text.encode() for text in texts]
    return {
        f"{name}_sizes": _numbers([len(text) for text in encoded_texts], "<u4"),
        name: b"".join(encoded_texts),
    }


def _read_texts(name: str, columns: Mapping[str, bytes]) -> list[str]:
    return [columns[name][low:high].decode() for low, high in _bounds(columns[f"{name}_sizes"])]


def _bounds(sizes: bytes, scale: int = 1) -> Iterable[tuple[int, int]]:
    return pairwise(
        accumulate(chain((0,), (scale * size for size in _array(sizes, "<u4").tolist())))
    )


def _numbers(numbers: Sequence[int], kind: str) -> bytes:
    return np.array(numbers, dtype=kind).tobytes()


def _array(column: bytes, kind: str) -> npt.NDArray[np.signedinteger]:
    return np.frombuffer(column, dtype=kind)
