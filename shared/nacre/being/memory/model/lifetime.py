"""The strength of a memory in words: why it is so strong, and when it will be forgotten."""

from collections.abc import Iterator

from nacre.being.memory.model.forgetting_curve import (
    DEAD_BELOW,
    DYING_BELOW,
    clock_below,
    refreshed,
    retention,
)
from nacre.being.memory.model.types import AUTHORS, UNDONE, Node
from nacre.core.limits import REVIVED_FROM

_ACTIVE_DAY = "an active day is one on which a patrol had something to take in"


def activity(node: Node) -> str:
    """Return how often a memory was recalled or noted again.

    The time of the last recall is stored to the hour, to save writes. A recall or a note of a
    forgotten memory counts as two, because two bring it back.
    """
    if not node.reactivation_count:
        return "not recalled and not noted again so far"
    last = f", the last within an hour of {node.last_activated}" if node.last_activated else ""
    return (
        f"recalls and repeated notes: {node.reactivation_count}{last}"
        " (one of a forgotten memory counts as 2; reads with a read-only token do not count)"
    )


def lifetime(node: Node, clock: int) -> Iterator[str]:
    """Yield sentences about the strength of a node at this clock of active days."""
    yield from _exceptions(node)
    if node.status in ("merged", "hidden") or node.reason == UNDONE:
        return
    if node.status == "dead":
        yield _revival(node)
        return
    yield _strength(node, clock)
    pending_recalls = node.reactivation_count - node.reactivation_done
    if pending_recalls:
        elapsed = max(0, clock - node.clock0)
        after = refreshed(node.stability, elapsed=elapsed, times=pending_recalls)
        yield (
            f"recalls and repeated notes since it was last strengthened: {pending_recalls}; the"
            f" next patrol raises its stability to about {after:.1f} active days and counts from"
            " then"
        )
    yield "it is pinned, so it is never forgotten" if node.pinned else _end(node, clock)


def _exceptions(node: Node) -> Iterator[str]:
    if node.pinned:
        yield "pinned: it is never forgotten"
    if node.merged_into:
        yield f"merged into: {node.merged_into}, which stands for it now"
    if node.status == "hidden":
        by = AUTHORS[node.hidden_by or "agent"]
        yield f"hidden on {(node.hidden_at or '')[:10]} by {by}: no search finds it"
    if node.superseded_by:
        yield (
            f"superseded by: {node.superseded_by}; it held"
            + (f" from {node.valid_from}" if node.valid_from else "")
            + (f" until {node.valid_until}" if node.valid_until else "")
            + ", is kept, and is left out of recall because something newer is true"
        )
    if node.reason == UNDONE:
        yield "its merge was taken back: it stays dead, and its parents stand for themselves"


def _strength(node: Node, clock: int) -> str:
    elapsed = max(0, clock - node.clock0)
    now = retention(elapsed, node.stability)
    since = "today" if elapsed == 0 else f"{_days(elapsed)} ago"
    return (
        f"strength {now:.2f}: its stability is {node.stability:.1f} active days, and it was last"
        f" strengthened {since} (active day {node.clock0}, now {clock})"
    )


def _end(node: Node, clock: int) -> str:
    fades = clock_below(node.clock0, node.stability, DYING_BELOW)
    dies = clock_below(node.clock0, node.stability, DEAD_BELOW)
    fading = (
        f"it fades (below {DYING_BELOW}) since active day {fades}"
        if clock >= fades
        else f"it fades (below {DYING_BELOW}) on active day {fades}, in {_days(fades - clock)}"
    )
    dying = (
        "is forgotten at the next patrol"
        if clock >= dies
        else f"is forgotten (below {DEAD_BELOW}) on active day {dies}, in {_days(dies - clock)}"
    )
    return (
        f"{fading}, and {dying}, unless it is recalled or noted again: that puts it off, and the"
        f" more the longer it was not; {_ACTIVE_DAY}"
    )


def _revival(node: Node) -> str:
    if node.is_revivable:
        return "forgotten; it was asked for again, and the next patrol brings it back"
    missing = REVIVED_FROM - (node.reactivation_count - (node.count_at_death or 0))
    return (
        f"forgotten; recalled {_times(missing)} more, or noted again, it comes back with the next"
        " patrol (reading it here counts twice)"
    )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _days(count: int) -> str:
    return "1 active day" if count == 1 else f"{count} active days"
