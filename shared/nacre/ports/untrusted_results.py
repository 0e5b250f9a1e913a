"""The results of other servers that a client has received, for what it writes afterwards."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from nacre.core.lazy_dataclasses import dataclass
from nacre.core.origins import Origin, Origins


@dataclass(frozen=True, slots=True)
class Holder:
    """Whoever has received a result: a token of a Being, and a conversation if the wire tells."""

    being_id: str
    token_id: str  # never the token
    conversation: str | None = None


class UntrustedResults(Protocol):
    """Notes which untrusted results a holder has received, within a stated window."""

    def note(self, holder: Holder, origin: Origin, at: datetime) -> None:
        """Note that a holder receives content of an origin.

        Returns only when every later `origins` sees it; raises UnavailableError if that fails, and
        the result must not be passed on then.
        """
        ...

    def origins(self, holder: Holder, at: datetime) -> Origins:
        """Return the origins of what a holder has received in the window before a time.

        A holder without a conversation has received what every conversation of its token has. One
        with a conversation has received what was noted for it, and for its token without any.
        Raises UnavailableError; the caller then writes nothing.
        """
        ...

    def times(self, being_id: str, at: datetime) -> Mapping[Origin, int]:
        """Return when clients of a Being last received content of each origin, in seconds.

        The times are rounded down, by less than an hour. Raises UnavailableError.
        """
        ...


class NoUntrustedResults:
    """For where no other server can be reached: nothing is noted."""

    def note(self, holder: Holder, origin: Origin, at: datetime) -> None:
        """Note nothing."""

    def origins(self, holder: Holder, at: datetime) -> Origins:
        """Return no origins."""
        return frozenset()

    def times(self, being_id: str, at: datetime) -> Mapping[Origin, int]:
        """Return no times."""
        return {}
