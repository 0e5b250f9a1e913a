"""Time zones by their IANA names."""

from contextlib import suppress
from zoneinfo import ZoneInfo

from nacre.core.errors import InvalidInputError

# Names beside the IANA zones: the system's own zone, and copies that count leap seconds.
_NOT_ZONES = frozenset({"localtime", "posix", "posixrules", "right"})


def time_zone(name: str) -> ZoneInfo:
    """Return the zone of a name such as Asia/Tokyo; raise InvalidInputError for another name."""
    if name.partition("/")[0] not in _NOT_ZONES:
        with suppress(KeyError, ValueError, OSError):
            return ZoneInfo(name)
    raise InvalidInputError(
        f"unknown time zone '{name[:80]}'; use an IANA name such as Asia/Tokyo or UTC"
    )
