"""The origins of what a caller has received before its call, as rules test them.

An origin is a text: `external:<server>` for a result of another server, `import:<source>` for an
imported memory. `nacre.core.origins` has the same texts as values. What counts for rules with a
`window` is followed by its age, as in `external:web, within 26 hours`: any client of the Being
has received it since then.
"""

import re
from collections.abc import Collection, Iterable
from functools import lru_cache

from nacre.firewall.rules.globs.matching import matches
from nacre.firewall.rules.rule import Rule

EXTERNAL = "external"
KINDS = (EXTERNAL, "import")
"""The kinds of origins that a call can have received, and that rules can name."""
HOUR = 3600
_SHOWN = 5  # origins in a reason
_AGED = re.compile(r"(.+), within ([0-9]{1,6}) hours?")


def aged(origin: str, seconds: float) -> str:
    """Return the text of an origin of which a client of the Being had something so long ago."""
    hours = 1 + max(0, int(seconds)) // HOUR
    return f"{origin}, within {spoken_window(hours, days=False)}"


def spoken_window(hours: int, *, days: bool = True) -> str:
    """Return a window in words, as a policy file has it."""
    number, unit = (hours // 24, "day") if days and hours % 24 == 0 else (hours, "hour")
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"


@lru_cache(maxsize=1024)
def read_aged(text: str) -> tuple[str, int | None]:
    """Return an origin and the hours in its text; None if it counts for every rule."""
    parts = _AGED.fullmatch(text)
    return (text, None) if parts is None else (parts[1], int(parts[2]))


def counting(rule: Rule, received: Iterable[str]) -> list[str]:
    """Return the texts of received origins that are recent enough for a rule."""
    return [text for text in received if _is_in_window(rule.window, read_aged(text)[1])]


def _is_in_window(window: int | None, hours: int | None) -> bool:
    # A note is renewed once in an hour, so the age of the last result is known to one hour.
    return hours is None or (window is not None and hours <= window + 1)


def is_tainted(received: Iterable[str]) -> bool:
    """Tell whether results of an external server are among what was received."""
    return any(origin.partition(":")[0] == EXTERNAL for origin in received)


def recent_origins(received: Iterable[str]) -> set[str]:
    """Return the origins of what was received in the last hour or two, without their ages."""
    aged_origins = map(read_aged, received)
    return {origin for origin, hours in aged_origins if _is_in_window(1, hours)}


def recent_kinds(received: Iterable[str]) -> list[str]:
    """Return the kinds of what was received in the last hour or two, in order."""
    return sorted({origin.partition(":")[0] for origin in recent_origins(received)})


def fits(rule: Rule, received: Collection[str] | None) -> bool:
    """Tell whether a rule with `tainted` or `origin` is about a caller that has received this.

    If it is not known what the caller has received (None), an allow does not match and any
    other rule does.
    """
    if received is None:
        return rule.action != "allow"
    counts = counting(rule, received)
    if rule.tainted is not None and rule.tainted is not is_tainted(counts):
        return False
    return not rule.received or any(
        names(pattern, origin) for pattern in rule.received for origin in counts
    )


def names(pattern: str, received: str) -> bool:
    """Tell whether an origin of a rule names this one; a kind alone names all of that kind."""
    kind, colon, _ = pattern.partition(":")
    origin = read_aged(received)[0]
    return matches(pattern, origin) if colon else origin.partition(":")[0] == kind


def described(received: Collection[str], servers: Collection[str] | None = None) -> str:
    """Return the received origins in words, for the person who is asked about a call.

    Servers that are not among `servers` are not named, and not counted.
    """
    origins = sorted({_nameable(origin, servers) for origin in received})
    more = f" and {len(origins) - _SHOWN} more" if len(origins) > _SHOWN else ""
    return f"received before: {', '.join(origins[:_SHOWN])}{more}"


def _nameable(text: str, servers: Collection[str] | None) -> str:
    kind, _, source = read_aged(text)[0].partition(":")
    return text if servers is None or kind != EXTERNAL or source in servers else EXTERNAL
