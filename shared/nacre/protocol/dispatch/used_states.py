"""The used states of multi-round-trip calls, so that no state runs its call twice."""

from collections.abc import Callable

from nacre.core.clock import Clock
from nacre.core.errors import ConditionFailedError
from nacre.core.limits import CLOCK_TOLERANCE_SECONDS, REQUEST_STATE_SECONDS
from nacre.ports.items.table import EXPIRES_AT, SCHEMA, Absent, Item, Table

_SCHEMA_VERSION = 1


class UsedStates:
    """Remembers used states in the item store, where every process finds them."""

    def __init__(self, table: Callable[[], Table], clock: Clock) -> None:
        self._table = table
        self._clock = clock

    def use(self, state_id: str) -> bool:
        """Use up a state; return False if it was used before. Of simultaneous callers one wins."""
        seconds = REQUEST_STATE_SECONDS + 2 * CLOCK_TOLERANCE_SECONDS  # longer than it is valid
        item: Item = {
            "pk": f"RS#{state_id}",
            "sk": "used",
            SCHEMA: _SCHEMA_VERSION,
            EXPIRES_AT: int(self._clock().timestamp()) + seconds,
        }
        try:
            self._table().put(item, when=Absent())
        except ConditionFailedError:
            return False
        return True
