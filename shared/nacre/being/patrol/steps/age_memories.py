"""The clock: a day on which the Being was used makes all memories a day older."""

from contextlib import suppress

from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import count_in, counters
from nacre.being.memory.store.merges import CLOCK
from nacre.being.patrol.run.claim import ACTIVE_DAY
from nacre.being.patrol.run.round import Round
from nacre.core.errors import ConditionFailedError
from nacre.ports.items.table import Absent, Change, Compare, Either, Update


def tick(work: Round) -> None:
    """Set the Being's clock to that of the run, which counts today if it is an active day."""
    if count_in(counters(work.table, work.being_id), CLOCK) >= work.run.clock:
        return
    earlier = Either((Absent(CLOCK), Compare(CLOCK, "<", work.run.clock)))
    today = Change(set={CLOCK: work.run.clock, ACTIVE_DAY: work.run.today})
    with suppress(ConditionFailedError):  # an import has set it further
        work.ledger.commit([Update(keys.meta(work.being_id), today, earlier)])
