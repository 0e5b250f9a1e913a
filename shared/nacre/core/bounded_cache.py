"""A cache of a bounded size."""

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedCache(OrderedDict[K, V]):
    """A mapping that drops its oldest entry when it would hold more than `size`.

    Entries are added by `cache[key] = value`. An entry that is stored again or found by `use`
    becomes the newest; reading it in other ways leaves its place, and costs as much as in a
    dict. Threads may share a cache: at worst one computes what another has just stored.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size

    def __setitem__(self, key: K, value: V) -> None:
        """Store an entry as the newest one."""
        self.pop(key, None)
        super().__setitem__(key, value)
        while len(self) > self._size:
            self.popitem(last=False)

    def use(self, key: K) -> V | None:
        """Return the value of an entry, which becomes the newest, or None."""
        value = self.get(key)
        if value is not None:
            self[key] = value
        return value
