"""The options that name a remote server: its URL, and the headers to send with every request."""

import re
from collections.abc import Callable, Sequence

from nacre.core.errors import ConfigurationError, InvalidInputError
from nacre.http_client.address import Address, parse_address

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
# The proxy sets these itself: they describe the message or the connection.
_RESERVED = frozenset(
    (
        *("host", "content-length", "content-type", "transfer-encoding", "connection", "upgrade"),
        *("accept-encoding", "keep-alive", "te", "trailer", "expect"),
    )
)


def parse_url(url: str) -> Address:
    """Return the address that --url names; raises InvalidInputError."""
    try:
        return parse_address(url)
    except InvalidInputError as error:
        raise InvalidInputError(f"--url: {error}") from None


def parse_headers(
    options: Sequence[str], variable: Callable[[str], str | None]
) -> tuple[tuple[str, str], ...]:
    """Return names and values; `${NAME}` in a value stands for an environment variable."""
    return tuple(_header(option, variable) for option in options)


def _header(option: str, variable: Callable[[str], str | None]) -> tuple[str, str]:
    match = re.match(r"\s*([^=:\s]+)\s*[=:](.*)", option, re.DOTALL)
    if match is None or not _NAME.fullmatch(match[1]):
        # The error does not quote the option, which may hold a secret.
        raise InvalidInputError(
            "--header: give NAME=VALUE, such as 'Authorization=Bearer ${TOKEN}'"
        )
    name = match[1].lower()
    if name in _RESERVED or (name.startswith("mcp-") and not name.startswith("mcp-x-")):
        raise InvalidInputError(f"--header: {match[1]} follows from each message; leave it out")

    def value_of(reference: re.Match[str]) -> str:
        value = variable(reference[1])
        if value is None:
            raise ConfigurationError(
                f"--header {match[1]}: the environment variable {reference[1]} is not set"
            )
        return value.strip()

    value = _VARIABLE.sub(value_of, match[2].strip())
    if not value or any(character in value for character in "\r\n\0"):
        raise ConfigurationError(f"--header {match[1]}: the value is empty or holds a line break")
    try:
        value.encode("latin-1")
    except UnicodeError:
        raise ConfigurationError(
            f"--header {match[1]}: the value holds characters that a header cannot carry"
        ) from None
    return name, value
