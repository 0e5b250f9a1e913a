"""A bound on how often people are asked, so that nobody says yes only to have peace."""

from nacre.core.errors import ConditionFailedError
from nacre.core.limits import CLOCK_TOLERANCE_SECONDS
from nacre.ports.items.table import EXPIRES_AT, SCHEMA, Absent, Compare, Item, Key, Table

_ATTEMPTS = 8  # calls of one server that ask at the very same moment
_SCHEMA = 1


class Floods:
    """Counts the questions about each server, over every process that asks."""

    def __init__(self, table: Table, scope: str, *, most: int, seconds: int) -> None:
        self._table = table
        self._partition = f"AP#{scope}"
        self._most = most
        self._seconds = seconds

    def admits(self, server: str, now: int) -> bool:
        """Count one more question about the server; False when that is one too many.

        `now` is in milliseconds.
        """
        key = Key(self._partition, f"F#{server}")
        for _ in range(_ATTEMPTS):
            item = self._table.get(key)
            # One from the future was asked before the clock was set back.
            latest = now + CLOCK_TOLERANCE_SECONDS * 1000
            recent = [
                asked for asked in _times(item) if now - self._seconds * 1000 < asked <= latest
            ]
            if len(recent) >= self._most:
                return False
            if self._counted(key, item, [*recent, now]):
                return True
        return False

    def _counted(self, key: Key, item: Item | None, times: list[int]) -> bool:
        turn = item["turn"] if item else 0
        assert isinstance(turn, int)
        changed: Item = {
            "pk": key.pk,
            "sk": key.sk,
            SCHEMA: _SCHEMA,
            EXPIRES_AT: times[-1] // 1000 + self._seconds + 1,
            "turn": turn + 1,
            "times": list(times),
        }
        try:
            self._table.put(changed, when=Compare("turn", "=", turn) if item else Absent())
        except ConditionFailedError:
            return False
        return True


def _times(item: Item | None) -> list[int]:
    known = item["times"] if item else []
    assert isinstance(known, list)
    return [each for each in known if isinstance(each, int)]
