"""The address of a server: scheme, host, port, and the path with its query."""

import re
from urllib.parse import urljoin, urlsplit

from nacre.core.errors import InvalidInputError
from nacre.core.lazy_dataclasses import dataclass

# A name, or the text between the brackets of an IPv6 address.
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*|[0-9A-Fa-f.]*:[0-9A-Fa-f:.]+(?:%[A-Za-z0-9._-]+)?")


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a server; `target` is the path of a request, with the query."""

    is_tls: bool
    host: str
    port: int
    target: str

    @property
    def path(self) -> str:
        """The target without its query, which may hold a secret."""
        return self.target.partition("?")[0]

    @property
    def authority(self) -> str:
        """The host and port, as the Host header names them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.is_tls else 80) else f"{host}:{self.port}"

    @property
    def origin(self) -> tuple[bool, str, int]:
        """The address without its target; connections to equal origins are interchangeable."""
        return self.is_tls, self.host, self.port

    def resolve(self, reference: str) -> "Address":
        """Resolve a relative or absolute URL; raises InvalidInputError for another origin.

        A server must not send its clients, and their credentials, to another server.
        """
        base = f"{'https' if self.is_tls else 'http'}://{self.authority}{self.target}"
        try:
            url = urljoin(base, reference)
        except ValueError:  # such as an unclosed bracket
            raise InvalidInputError(f"{self.authority} points to an invalid URL") from None
        address = parse_address(url)
        if address.origin != self.origin:
            raise InvalidInputError(f"{self.authority} points to another server")
        return address


def parse_address(url: str) -> Address:
    """Return the address of an http or https URL; raises InvalidInputError."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise InvalidInputError("this is not a URL; give one like https://host/mcp") from None
    if parts.scheme not in ("http", "https") or not host:
        raise InvalidInputError("give an http or https URL, such as https://host/mcp")
    if parts.username is not None or parts.password is not None:
        raise InvalidInputError(
            "a name and password in a URL are visible to every program of this machine; send"
            " them in a header, as with --header 'Authorization=Basic ${VARIABLE}'"
        )
    is_tls = parts.scheme == "https"
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not (target.isascii() and target.isprintable() and " " not in target):
        raise InvalidInputError("the path holds characters that must be percent-encoded")
    try:
        name = host.encode("ascii" if ":" in host else "idna").decode()
    except UnicodeError:
        raise InvalidInputError("the host name is not valid") from None
    if not _HOST.fullmatch(name):
        raise InvalidInputError("the host name is not valid")
    return Address(is_tls, name, port or (443 if is_tls else 80), target)
