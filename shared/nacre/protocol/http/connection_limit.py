"""The number of connections that a server holds, and which of them it closes first.

A server that is full closes the connection that has waited longest for its client, so that
thousands of half-open requests keep nobody out. Only when every connection is at work is a new
one told to come again later.
"""

import ipaddress
from collections import Counter
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Protocol

from nacre.core.limits import HTTP_CONNECTIONS, SPARE_DESCRIPTORS, TURNED_AWAY
from nacre.core.logs import RareLog


class Guest(Protocol):
    """One connection, as the crowd sees it."""

    @property
    def address(self) -> str:
        """The network address of the client; empty if it is unknown."""
        ...

    @property
    def waits_since(self) -> float | None:
        """Since when it waits for a client that nobody knows; None while it is at work."""
        ...

    def drop(self) -> None:
        """Close at once."""
        ...

    def turn_away(self, status: int) -> None:
        """Answer with the status, tell when to come again, and close soon."""
        ...

    def end_if_late(self, now: float) -> str | None:
        """Close when the client takes too long; return the phase in which it was too slow."""
        ...


class Crowd:
    """The connections of one server."""

    def __init__(
        self,
        log: RareLog,
        *,
        most: int,
        of_one_address: int,
        proxies: Sequence[str] = (),
        time: Callable[[], float] = monotonic,
    ) -> None:
        self._log = log
        self._most = most
        self._of_one_address = of_one_address
        self._proxies = [ipaddress.ip_network(proxy) for proxy in proxies]
        self._guests: dict[Guest, str] = {}
        self._by_address: Counter[str] = Counter()
        self._turned_away: set[Guest] = set()
        self.time = time

    def enter(self, guest: Guest) -> None:
        """Take a new connection in, or turn it away."""
        address = self._counted(guest.address)
        if address and self._by_address[address] >= self._of_one_address:
            if not self._make_room(address):
                self._refuse(guest, 429, "too many connections of one address")
                return
        elif len(self._guests) >= self._most and not self._make_room():
            self._refuse(guest, 503, "too many connections")
            return
        self._guests[guest] = address
        self._by_address[address] += 1

    def leave(self, guest: Guest) -> None:
        """Forget a connection that was closed."""
        self._turned_away.discard(guest)
        address = self._guests.pop(guest, None)
        if address is not None:
            self._by_address[address] -= 1
            if not self._by_address[address]:
                del self._by_address[address]

    def sweep(self) -> None:
        """Close the connections of clients that take too long; call it every second."""
        now = self.time()
        for guest in list(self._guests):
            reason = guest.end_if_late(now)
            if reason is not None:
                self._log.write("warning", "connections", said=f"a client was too slow: {reason}")
        self._log.flush()

    def _make_room(self, address: str | None = None) -> bool:
        """Close the connection that waits longest; return False if there is none."""
        waiting = [
            (guest.waits_since, id(guest), guest)
            for guest, of in self._guests.items()
            if guest.waits_since is not None and address in (None, of)
        ]
        if not waiting:
            return False
        _, _, longest = min(waiting, key=lambda entry: (entry[0] or 0.0, entry[1]))
        self.leave(longest)
        longest.drop()
        self._log.write("warning", "connections", said="a waiting connection made room")
        return True

    def _refuse(self, guest: Guest, status: int, why: str) -> None:
        self._log.write("warning", "connections", said=why)
        if len(self._turned_away) >= TURNED_AWAY:
            guest.drop()
            return
        self._turned_away.add(guest)
        guest.turn_away(status)

    def _counted(self, address: str) -> str:
        """Return by what connections are counted: empty where many clients share an address."""
        try:
            parsed = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            return ""
        if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
            parsed = parsed.ipv4_mapped
        if parsed.is_loopback or any(parsed in network for network in self._proxies):
            return ""
        if parsed.version == 6:  # a subscriber has a whole /64
            return str(ipaddress.ip_network((parsed, 64), strict=False))
        return str(parsed)


def connections_within_descriptors(connections: int = HTTP_CONNECTIONS) -> int:
    """Return how many connections fit the descriptors of this process, after asking for more.

    The rest is for files, other servers and their pipes: a process without a free descriptor
    can neither accept a connection nor open its store.
    """
    try:
        import resource  # noqa: PLC0415 - not on Windows, which has no such limit
    except ImportError:
        return connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections + SPARE_DESCRIPTORS
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return connections
    more = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (more, hard))
        soft = more
    except (OSError, ValueError):
        pass
    return max(min(connections, soft - SPARE_DESCRIPTORS), min(connections, soft // 2), 1)
