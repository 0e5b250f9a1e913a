"""Decide which expired items may be removed for good, even if the clock may be wrong.

An expired item is hidden at once, and visible again if a wrong clock is set right. A removed item
is lost, so the store watches the clock. It stores a time, and treats that time as past only after
the server has run for PURGE_MARGIN_SECONDS without the clock being set back. Jumps forward do not
count, however often the server starts, because only short steps are added up.

Items with a lifetime of at most a day, such as a queued run's key, are removed when they end.
"""

import sqlite3

from nacre.core.limits import (
    BRIEF_SECONDS,
    CLOCK_TOLERANCE_SECONDS,
    PURGE_MARGIN_SECONDS,
    PURGE_STEP_SECONDS,
)


def is_brief(expires_at: int, now: int) -> bool:
    """Tell whether an item that is written now has a short lifetime."""
    return expires_at - now <= BRIEF_SECONDS


def safe_moment(connection: sqlite3.Connection, now: int) -> int:
    """Record the clock's time, inside a transaction; return the time that is certainly past."""
    row = connection.execute("SELECT seen, since, watched, safe FROM purging").fetchone()
    seen, since, watched, safe = row or (now, now, 0, 0)
    step = now - seen
    if -CLOCK_TOLERANCE_SECONDS <= step < 0:
        return int(safe)
    if step < 0:
        # The clock was ahead before, or is behind now: start watching again.
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
