"""What a call was given and gave back: small things in items, large ones in blobs."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from nacre.core.errors import NotFoundError
from nacre.core.limits import TASK_INLINE_BYTES
from nacre.ports.blobs import Blobs
from nacre.ports.items.table import Item

_NAME = "blob"


@dataclass(frozen=True, slots=True)
class Contents:
    """Keeps the contents of tasks; `blobs` is called for the first large one."""

    blobs: Callable[[], Blobs]

    def keep(self, name: str, data: bytes, *, until: int) -> Item:
        """Return the attributes that hold the data, or the name of the blob that does."""
        if len(data) <= TASK_INLINE_BYTES:
            return {"data": data}
        self.blobs().put(name, data, until=datetime.fromtimestamp(until, UTC))
        return {_NAME: name}

    def read(self, item: Item) -> bytes:
        """Return the data; raises NotFoundError when its blob is gone."""
        data = item.get("data")
        if isinstance(data, bytes):
            return data
        found = self.blobs().get(str(item[_NAME]))
        if found is None:
            raise NotFoundError("what this task was about is not kept any more; call again")
        return found

    def drop(self, kept: Item) -> None:
        """Remove the blob that these attributes name, if they do."""
        name = kept.get(_NAME)
        if isinstance(name, str):
            self.blobs().delete(name)
