"""The clock step: each day on which the Being is used makes all memories a day older."""

from contextlib import suppress

from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import CLOCK, count_in, counters
from nacre.being.patrol.run.claim import ACTIVE_DAY
from nacre.being.patrol.run.context import RunContext
from nacre.core.errors import ConditionFailedError
from nacre.ports.items.table import Absent, Change, Compare, Either, Update


def tick(context: RunContext) -> None:
    """Set the Being's clock to that of the run, which counts today if it is an active day."""
    if count_in(counters(context.table, context.being_id), CLOCK) >= context.run.clock:
        return
    is_earlier = Either((Absent(CLOCK), Compare(CLOCK, "<", context.run.clock)))
    today = Change(set={CLOCK: context.run.clock, ACTIVE_DAY: context.run.today})
    with suppress(ConditionFailedError):  # an import has set a later clock
        context.ledger.commit([Update(keys.meta(context.being_id), today, is_earlier)])
