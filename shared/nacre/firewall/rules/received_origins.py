"""The origins of what a caller has received before its call, as rules test them.

An origin is a text: `external:<server>` for a result of another server, `import:<source>` for an
imported memory. `nacre.core.origins` has the same texts as values.
"""

from collections.abc import Collection

from nacre.firewall.rules.globs.matching import matches
from nacre.firewall.rules.rule import Rule

EXTERNAL = "external"
KINDS = (EXTERNAL, "import")
"""The kinds of origins that a call can have received, and that rules can name."""
_SHOWN = 5  # origins in a reason


def is_tainted(received: Collection[str]) -> bool:
    """Tell whether results of an external server are among what was received."""
    return any(origin.partition(":")[0] == EXTERNAL for origin in received)


def fits(rule: Rule, received: Collection[str] | None) -> bool:
    """Tell whether a rule with `tainted` or `origin` is about a caller that has received this.

    If it is not known what the caller has received (None), an allow does not match and any
    other rule does.
    """
    if received is None:
        return rule.action != "allow"
    if rule.tainted is not None and rule.tainted is not is_tainted(received):
        return False
    return not rule.received or any(
        names(pattern, origin) for pattern in rule.received for origin in received
    )


def names(pattern: str, origin: str) -> bool:
    """Tell whether an origin of a rule names this one; a kind alone names all of that kind."""
    kind, colon, _ = pattern.partition(":")
    return matches(pattern, origin) if colon else origin.partition(":")[0] == kind


def described(received: Collection[str], servers: Collection[str] | None = None) -> str:
    """Return the received origins in words, for the person who is asked about a call.

    Servers that are not among `servers` are not named, and not counted.
    """
    origins = sorted({_nameable(origin, servers) for origin in received})
    more = f" and {len(origins) - _SHOWN} more" if len(origins) > _SHOWN else ""
    return f"received before: {', '.join(origins[:_SHOWN])}{more}"


def _nameable(origin: str, servers: Collection[str] | None) -> str:
    kind, _, source = origin.partition(":")
    return origin if servers is None or kind != EXTERNAL or source in servers else EXTERNAL
