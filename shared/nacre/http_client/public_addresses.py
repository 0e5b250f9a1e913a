"""Addresses that a server may connect to on behalf of somebody else.

A name is resolved once, every address is checked, and the connection goes to one of them. So it
does not matter if the name resolves differently a moment later.

A proxy looks names up itself, perhaps with another result. Before one, only numeric addresses
and names that this machine resolves to a private address are refused.
"""

import ipaddress
import socket
from collections.abc import Callable, Collection

from nacre.core.errors import PrivateAddressError, UnavailableError

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolve = Callable[[str, int], list[str]]
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def is_public(address: str) -> bool:
    """Tell whether an address, and one embedded in it, is reachable on the public internet."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return _is_public(parsed)


def networks(texts: Collection[str]) -> tuple[Network, ...]:
    """Parse networks such as 10.0.0.0/8; raises ValueError."""
    return tuple(ipaddress.ip_network(text.strip(), strict=False) for text in texts)


def resolved(host: str, port: int) -> list[str]:
    """Return the addresses of a host, in the order in which to try them; raises OSError."""
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


def checked_addresses(
    host: str, port: int, *, allowed: Collection[Network] = (), resolve: Resolve = resolved
) -> list[str]:
    """Return the addresses to connect to.

    Raises PrivateAddressError if one of them is private and in none of the `allowed` networks,
    UnavailableError if the host has no address.
    """
    try:
        addresses = resolve(host.strip("[]"), port)
    except (OSError, UnicodeError) as error:
        raise UnavailableError(f"'{host[:253]}' has no address") from error
    if not addresses:
        raise UnavailableError(f"'{host[:253]}' has no address")
    for address in addresses:
        if not is_public(address) and not _is_within(address, allowed):
            raise PrivateAddressError(host)
    return addresses


def refuse_private(resolve: Resolve, host: str, port: int) -> None:
    """Raise PrivateAddressError if a host that a proxy will look up is known here as private.

    `resolve` refuses private addresses. A name without an address here is left to the proxy.
    """
    try:
        resolve(host, port)
    except PrivateAddressError:
        raise
    except (OSError, UnicodeError, UnavailableError):
        return


def _is_public(address: _Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return _is_public(inner)
        if address.is_site_local:  # of private networks before there was fc00::/7
            return False
    return address.is_global and not (
        address.is_multicast or address.is_reserved or address.is_unspecified
    )


def _is_within(address: str, allowed: Collection[Network]) -> bool:
    try:
        parsed: _Address = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    return any(parsed in network for network in allowed)
