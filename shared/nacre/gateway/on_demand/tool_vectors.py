"""Vectors of tools, stored so that each definition is embedded once for all processes.

The items are buckets of the digests of texts. A vector is derived data: what is lost is computed
again.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from math import inf

from nacre.core.bounded_cache import BoundedCache
from nacre.core.errors import NacreError
from nacre.core.limits import TOOL_VECTORS, TOOL_VECTORS_ITEM_BYTES, TOOL_VECTORS_PAUSE_SECONDS
from nacre.gateway.servers.store import change_item
from nacre.ports.items.table import Item, Key, Table
from nacre.ports.vectors.embedder import Embedder, Vector
from nacre.ports.vectors.packed_vectors import PackedVector, packed, unpacked

_BUCKETS = "0123456789abcdef"
_DIGEST = 16  # bytes
_BATCH = 16  # texts, between two looks at the clock


class ToolVectors:
    """The vectors that one embedder gives texts. Threads may share it."""

    def __init__(
        self,
        table: Callable[[], Table],
        embedder: Embedder,
        tick: Callable[[], float] = time.monotonic,
    ) -> None:
        self.embedder = embedder
        self._table = table
        self._tick = tick
        self._vectors: BoundedCache[bytes, PackedVector] = BoundedCache(TOOL_VECTORS)
        self._filling = threading.Lock()
        self._is_loaded = False
        self._closed = threading.Event()
        self._failed_at = -inf

    def of(self, texts: Sequence[str]) -> list[Vector] | None:
        """Return the vectors of these texts, None while some are missing."""
        vectors = [self._vectors.get(_digest(text)) for text in texts]
        dimension = self.embedder.dimension
        complete = [unpacked(vector, dimension) for vector in vectors if vector is not None]
        return complete if len(complete) == len(texts) else None

    def fill(self, texts: Sequence[str], seconds: float) -> None:
        """Load or compute missing vectors for at most this time, and store the new ones.

        When the embedder or the store fails, they stay missing.
        """
        end = self._tick() + seconds
        if not self._filling.acquire(timeout=-1 if seconds == inf else max(0.0, seconds)):
            return
        try:
            if not self._is_loaded:
                self._load()
                self._is_loaded = True
            if self._tick() - self._failed_at >= TOOL_VECTORS_PAUSE_SECONDS:
                self._compute(texts, end)
        except NacreError:
            self._failed_at = self._tick()
        finally:
            self._filling.release()

    def close(self) -> None:
        """End the work of other threads."""
        self._closed.set()
        with self._filling:
            pass

    def _load(self) -> None:
        keys = [self._key(bucket) for bucket in _BUCKETS]
        for item in self._table().get_many(keys).values():
            self._vectors.update(_entries(item, self.embedder.dimension))

    def _compute(self, texts: Iterable[str], end: float) -> None:
        missing = [text for text in dict.fromkeys(texts) if _digest(text) not in self._vectors]
        computed: dict[bytes, PackedVector] = {}
        try:
            for start in range(0, len(missing), _BATCH):
                if self._tick() >= end or self._closed.is_set():
                    break
                batch = missing[start : start + _BATCH]
                vectors = map(packed, self.embedder.documents(batch))
                computed.update(zip(map(_digest, batch), vectors, strict=True))
        finally:
            self._vectors.update(computed)
            self._store(computed)

    def _store(self, computed: Mapping[bytes, PackedVector]) -> None:
        for bucket in _BUCKETS:
            new = {key: vector for key, vector in computed.items() if key.hex()[0] == bucket}
            if new:
                self._add(bucket, new)

    def _add(self, bucket: str, new: Mapping[bytes, PackedVector]) -> None:
        dimension = self.embedder.dimension

        def added(item: Item | None) -> Item:
            entries = {**_entries(item or {}, dimension), **new}
            size = TOOL_VECTORS_ITEM_BYTES // (_DIGEST + dimension)
            newest = list(entries.items())[-size:]
            return {"entries": b"".join(key + vector for key, vector in newest)}

        problem = "the vectors of tools cannot be kept now"
        change_item(self._table(), self._key(bucket), added, problem=problem)

    def _key(self, bucket: str) -> Key:
        return Key("GATEWAY", f"TOOLVECTORS#{self.embedder.emb_id}#{bucket}")


def _entries(item: Mapping[str, object], dimension: int) -> dict[bytes, PackedVector]:
    data = item.get("entries")
    if not isinstance(data, bytes):
        return {}
    size = _DIGEST + dimension
    rows = (data[start : start + size] for start in range(0, len(data), size))
    return {row[:_DIGEST]: row[_DIGEST:] for row in rows if len(row) == size}


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()[:_DIGEST]
