"""Logins to other servers: their store, and the way to authorization servers."""

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nacre.gateway.calls.owner_logins import OwnerLogins
    from nacre.gateway.login.logins import Logins
    from nacre.wiring.compose import Home
    from nacre.wiring.ports import Ports
    from nacre.wiring.settings import Settings


def build_logins(ports: "Ports", settings: "Settings") -> "Logins":
    """Return the logins of a deployment.

    On a laptop a server that its owner has configured may be on a private network, and so may its
    authorization server at the same address. On a stack only `private_networks` are.
    """
    from nacre.adapters.login_requests import HttpLoginRequests
    from nacre.core.limits import LOGIN_LEASE_SECONDS
    from nacre.gateway.login.logins import Logins
    from nacre.gateway.login.store import LoginStore
    from nacre.http_client.public_addresses import networks
    from nacre.jobs.lease import Leases
    from nacre.wiring.outgoing import outgoing_of

    allowed = networks(settings.private_networks)
    return Logins(
        LoginStore(lambda: ports.data, lambda: ports.vault, clock=ports.clock),
        lambda url: HttpLoginRequests(
            url,
            allowed=allowed,
            trusts_server=not ports.is_stack,
            outgoing=outgoing_of(settings),
        ),
        Leases(
            ports.data,
            now=ports.clock,
            duration=timedelta(seconds=LOGIN_LEASE_SECONDS),
            holders=ports.holders,
        ),
        clock=ports.clock,
        rng=ports.rng,
    )


def owner_logins(home: "Home") -> "OwnerLogins":
    """Return the logins as the gateway needs them."""
    from nacre.gateway.calls.owner_logins import OwnerLogins
    from nacre.wiring.features.servers import references_of

    def owner_of(being_id: str) -> str | None:
        being = home.beings.get(being_id)
        return None if being is None else being.owner

    def one_owner() -> bool:
        # The function that answers calls on a stack may not list its owners.
        return not home.ports.is_stack and len(home.owners.all()) == 1

    return OwnerLogins(
        lambda: home.logins,
        references_of(home.ports),
        owner_of=owner_of,
        page=portal_url(home.ports, home.settings),
        one_owner=one_owner,
    )


def portal_url(ports: "Ports", settings: "Settings") -> Callable[[], str | None]:
    """Return the function that gives the address of the console, None if none is served now."""

    def url() -> str | None:
        if ports.mcp_url is not None:
            return ports.mcp_url.removesuffix("/mcp")
        if settings.public_url or ports.is_stack:
            return settings.public_url or None
        from pathlib import Path

        from nacre.wiring.server_registry import running_urls

        running = next(iter(running_urls(Path(ports.where))), None)
        return None if running is None else running.removesuffix("/mcp")

    return url
