"""What a Being's orders are called, looked up now and then."""

import time
from collections.abc import Callable

from nacre.core.errors import NacreError
from nacre.core.limits import ORDER_NAME_SECONDS
from nacre.protocol.principal import Principal

_MOST = 1024  # Beings whose names one process keeps; more are looked up anew


class OrderNames:
    """The names of orders, by caller; `lookup` gives a Being's own name, or None.

    Where nobody can be asked, the default is the name: a list of tools is never refused for it.
    """

    def __init__(
        self,
        lookup: Callable[[str], str | None],
        default: str,
        *,
        seconds: float = ORDER_NAME_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lookup = lookup
        self._default = default
        self._seconds = seconds
        self._monotonic = monotonic
        self._known: dict[str, tuple[float, str]] = {}

    def __call__(self, principal: Principal | None) -> str:
        """Return the name of the caller's orders."""
        if principal is None:
            return self._default
        now = self._monotonic()
        known = self._known.get(principal.being_id)
        if known is not None and now < known[0]:
            return known[1]
        try:
            name = self._lookup(principal.being_id) or self._default
        except NacreError:
            return self._default if known is None else known[1]
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[principal.being_id] = (now + self._seconds, name)
        return name
