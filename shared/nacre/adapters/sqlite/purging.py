"""Which expired items may be removed for good, although the clock may be wrong.

An expired item is hidden at once, and comes back when the clock was wrong and is set right. What
is removed does not come back, so the store watches the clock: it remembers a moment, and only once
the server has run for PURGE_MARGIN_SECONDS since then, and the clock was never set back meanwhile,
is that moment taken to be over. A jump forward counts for nothing, however often the server
starts, because only short steps are added up.

Items that were meant to live for a day at most, such as a queued run's key, go at their own end.
"""

import sqlite3

from nacre.core.limits import (
    BRIEF_SECONDS,
    CLOCK_TOLERANCE_SECONDS,
    PURGE_MARGIN_SECONDS,
    PURGE_STEP_SECONDS,
)


def is_brief(expires_at: int, now: int) -> bool:
    """Tell whether an item that is written now is meant to live for a short while."""
    return expires_at - now <= BRIEF_SECONDS


def safe_moment(connection: sqlite3.Connection, now: int) -> int:
    """Look at the clock, inside a transaction; return the moment that is certainly over."""
    row = connection.execute("SELECT seen, since, watched, safe FROM purging").fetchone()
    seen, since, watched, safe = row or (now, now, 0, 0)
    step = now - seen
    if -CLOCK_TOLERANCE_SECONDS <= step < 0:
        return int(safe)
    if step < 0:
        # It was ahead before, or is behind now: nothing of what was seen counts.
        since, watched, safe = now, 0, min(safe, now)
    elif step <= PURGE_STEP_SECONDS:
        watched += step
    if watched >= PURGE_MARGIN_SECONDS:
        since, watched, safe = now, 0, since
    connection.execute(
        "INSERT INTO purging (id, seen, since, watched, safe) VALUES (1, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET seen = excluded.seen, since = excluded.since,"
        " watched = excluded.watched, safe = excluded.safe",
        (now, since, watched, safe),
    )
    return int(safe)
