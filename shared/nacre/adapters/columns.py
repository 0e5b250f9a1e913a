"""Values of one kind side by side in memory."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


class Column:
    """Values of one kind that grow in number."""

    def __init__(self, kind: type[np.generic]) -> None:
        self._room: npt.NDArray[Any] = np.empty(64, dtype=kind)
        self._length = 0

    @property
    def values(self) -> npt.NDArray[Any]:
        """Return the values that there are, to be read or changed in place."""
        return self._room[: self._length]

    def extend(self, values: Sequence[Any]) -> None:
        """Add values behind the others."""
        end = self._length + len(values)
        if end > len(self._room):
            room = np.empty(max(end, 2 * len(self._room)), dtype=self._room.dtype)
            room[: self._length] = self.values
            self._room = room
        self._room[self._length : end] = values
        self._length = end
