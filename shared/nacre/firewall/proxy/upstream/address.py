"""The address of a remote server, and the headers that its owner adds to every request."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from nacre.core.errors import ConfigurationError, InvalidInputError

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# A name, or what stands between the brackets of an IPv6 address.
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*|[0-9A-Fa-f.]*:[0-9A-Fa-f:.]+(?:%[A-Za-z0-9._-]+)?")
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
# What we say ourselves about the message or the connection.
_OURS = frozenset(
    (
        *("host", "content-length", "content-type", "transfer-encoding", "connection", "upgrade"),
        *("accept-encoding", "keep-alive", "te", "trailer", "expect"),
    )
)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server answers; `target` is what a request names, query included."""

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
        """The host as a request names it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.is_tls else 80) else f"{host}:{self.port}"

    def resolve(self, reference: str) -> "Address":
        """Return what a relative or absolute URL means here; InvalidInputError if elsewhere.

        A server must not send its clients, and what they carry, to another one.
        """
        base = f"{'https' if self.is_tls else 'http'}://{self.authority}{self.target}"
        try:
            url = urljoin(base, reference)
        except ValueError:  # such as a bracket that nothing closes
            raise InvalidInputError(f"{self.authority} points to what is no URL") from None
        found = parse_address(url)
        if (found.is_tls, found.host, found.port) != (self.is_tls, self.host, self.port):
            raise InvalidInputError(f"{self.authority} points to another server")
        return found


def parse_address(url: str) -> Address:
    """Return the address; raises InvalidInputError for what is no URL of a server."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise InvalidInputError(
            "--url: this is not a URL; give one like https://host/mcp"
        ) from None
    if parts.scheme not in ("http", "https") or not host:
        raise InvalidInputError("--url: give an http or https URL, such as https://host/mcp")
    if parts.username is not None or parts.password is not None:
        raise InvalidInputError(
            "--url: a name and password in a URL are seen by every program of this machine; give"
            " them with --header 'Authorization=Basic ${VARIABLE}'"
        )
    is_tls = parts.scheme == "https"
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not (target.isascii() and target.isprintable() and " " not in target):
        raise InvalidInputError("--url: the path holds characters that must be percent-encoded")
    try:
        name = host.encode("ascii" if ":" in host else "idna").decode()
    except UnicodeError:
        raise InvalidInputError("--url: the host's name is not one") from None
    if not _HOST.fullmatch(name):
        raise InvalidInputError("--url: the host's name is not one")
    return Address(is_tls, name, port or (443 if is_tls else 80), target)


def parse_headers(
    given: Sequence[str], variable: Callable[[str], str | None]
) -> tuple[tuple[str, str], ...]:
    """Return names and values; `${NAME}` in a value stands for an environment variable."""
    return tuple(_header(text, variable) for text in given)


def _header(text: str, variable: Callable[[str], str | None]) -> tuple[str, str]:
    found = re.match(r"\s*([^=:\s]+)\s*[=:](.*)", text, re.DOTALL)
    if found is None or not _TOKEN.fullmatch(found[1]):
        # Without the text, which may hold a secret.
        raise InvalidInputError(
            "--header: give NAME=VALUE, such as 'Authorization=Bearer ${TOKEN}'"
        )
    name = found[1].lower()
    if name in _OURS or (name.startswith("mcp-") and not name.startswith("mcp-x-")):
        raise InvalidInputError(f"--header: {found[1]} follows from each message; leave it out")

    def value_of(reference: re.Match[str]) -> str:
        value = variable(reference[1])
        if value is None:
            raise ConfigurationError(
                f"--header {found[1]}: the environment variable {reference[1]} is not set"
            )
        return value.strip()

    value = _REFERENCE.sub(value_of, found[2].strip())
    if not value or any(each in value for each in "\r\n\0"):
        raise ConfigurationError(f"--header {found[1]}: the value is empty or holds a line break")
    try:
        value.encode("latin-1")
    except UnicodeError:
        raise ConfigurationError(
            f"--header {found[1]}: the value holds characters that a header cannot carry"
        ) from None
    return name, value
