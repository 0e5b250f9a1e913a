"""Proxies of outgoing connections, as HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY name them."""

import ipaddress
from base64 import b64encode
from functools import lru_cache
from urllib.parse import unquote, urlsplit

from nacre.core.errors import ConfigurationError
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.http_client.address import Address

_SECURE = "HTTPS_PROXY or ALL_PROXY"
_PLAIN = "HTTP_PROXY or ALL_PROXY"


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy, and the credentials that it wants, which are never shown."""

    is_tls: bool
    host: str
    port: int
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @property
    def authority(self) -> str:
        """The host and port."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def headers(self) -> tuple[tuple[bytes, bytes], ...]:
        """The header with the credentials, if there are any."""
        if not self.user and not self.password:
            return ()
        credentials = b64encode(f"{self.user}:{self.password}".encode())
        return ((b"proxy-authorization", b"Basic " + credentials),)


@dataclass(frozen=True, slots=True)
class Proxies:
    """The URLs of the proxies for https and http, and the addresses that need none.

    They are checked when the first connection needs them, because many commands open none.
    """

    secure: str = field(default="", repr=False)
    plain: str = field(default="", repr=False)
    exceptions: str = ""

    def route(self, address: Address) -> Proxy | None:
        """Return the proxy to use, None to connect directly; raises ConfigurationError.

        This machine is always reached directly.
        """
        url, variable = (self.secure, _SECURE) if address.is_tls else (self.plain, _PLAIN)
        if not url or is_loopback(address.host):
            return None
        if is_excepted(address.host, address.port, self.exceptions):
            return None
        return _parse_proxy(url, variable)


NO_PROXIES = Proxies()


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine, by its name or address alone."""
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    address = _ip(name)
    return address is not None and (address.is_loopback or address.is_unspecified)


def is_excepted(host: str, port: int, exceptions: str) -> bool:
    """Tell whether NO_PROXY lists a host: itself, a domain, an address, a network, or all by `*`.

    An entry may end in a port, and then holds for that port alone. A domain with or without a
    leading dot also stands for the names below it. Of a URL, the host and port count.
    """
    name = host.lower().rstrip(".")
    address = _ip(name)
    for entry in exceptions.lower().replace(",", " ").split():
        if entry == "*":
            return True
        listed, listed_port = _split_port(entry)
        if listed_port is not None and listed_port != port:
            continue
        if address is not None:
            if _holds(listed, address):
                return True
            continue
        domain = _ascii(listed.removeprefix("*").strip("."))
        if domain and (name == domain or name.endswith(f".{domain}")):
            return True
    return False


def _holds(listed: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    try:
        network = ipaddress.ip_network(listed, strict=False)
    except ValueError:
        return False
    if isinstance(network, ipaddress.IPv6Network) and network.prefixlen >= 96:
        mapped = network.network_address.ipv4_mapped
        if mapped is not None:
            return address in ipaddress.ip_network((mapped, network.prefixlen - 96))
    return address in network


def _ip(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address that a name is; one that IPv6 maps to IPv4 counts as that of IPv4."""
    try:
        address = ipaddress.ip_address(name.strip("[]").partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _ascii(domain: str) -> str:
    """Return the name as addresses have it; empty if it cannot be one."""
    try:
        return domain if domain.isascii() else domain.encode("idna").decode()
    except UnicodeError:
        return ""


def _split_port(entry: str) -> tuple[str, int | None]:
    if "://" in entry:
        entry = entry.partition("://")[2].partition("/")[0]
    if entry.startswith("["):
        host, _, rest = entry[1:].partition("]")
        port = rest.removeprefix(":")
    else:
        host, colon, port = entry.rpartition(":")
        if not colon or ":" in host:  # a whole IPv6 address
            return entry, None
    return (host, int(port)) if port.isascii() and port.isdigit() else (host, None)


@lru_cache(maxsize=4)
def _parse_proxy(url: str, variable: str) -> Proxy:
    """Return the proxy that a URL names; the errors never quote it, for it may hold a password."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
        parts = urlsplit("")
    if parts.scheme.startswith("socks"):
        raise ConfigurationError(
            f"{variable} names a SOCKS proxy; Nacre uses HTTP proxies only, such as"
            " http://HOST:PORT. Name one, or list the servers in NO_PROXY"
        )
    # Behind an unescaped "/", "?" or "#" of a password, the text before it would be the host.
    has_more = parts.path not in ("", "/") or "?" in url or "#" in url
    if parts.scheme not in ("http", "https") or not host or not host.isascii() or has_more:
        raise ConfigurationError(
            f"{variable} is not of the form http://HOST:PORT; special characters of a password"
            " must be percent-encoded"
        )
    is_tls = parts.scheme == "https"
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    return Proxy(is_tls, host, port or (443 if is_tls else 80), user, password)
