"""The challenge with which a server refuses a request: why, and where its login begins."""

import re
from collections.abc import Iterator, Mapping

from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import LOGIN_SCOPE_LENGTH

_TOKEN = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"  # noqa: S105  a pattern
_PARAMETER = re.compile(rf'({_TOKEN})\s*=\s*(?:"((?:[^"\\]|\\.)*)"|({_TOKEN}))(?=\s*(?:,|$))')
_SCHEME = re.compile(rf"({_TOKEN})(?:\s+|(?=,)|$)")
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")

# API Gateway gives the header this name.
HEADERS = ("www-authenticate", "x-amzn-remapped-www-authenticate")


@dataclass(frozen=True, slots=True)
class Challenge:
    """The parameters of a Bearer challenge that a login needs."""

    metadata_url: str | None = None
    scopes: tuple[str, ...] = ()
    error: str | None = None


def challenge_in(headers: Mapping[str, str]) -> Challenge:
    """Return the Bearer challenge in the headers of a response; an empty one without any."""
    for name in HEADERS:
        for scheme, parameters in _challenges(headers.get(name, "")):
            if scheme == "bearer":
                return Challenge(
                    parameters.get("resource_metadata"),
                    scopes_in(parameters.get("scope", "")),
                    parameters.get("error"),
                )
    return Challenge()


def scopes_in(text: object) -> tuple[str, ...]:
    """Return the scopes in a text, without repetitions and without text that is no scope."""
    if not isinstance(text, str) or len(text) > LOGIN_SCOPE_LENGTH:
        return ()
    return tuple(dict.fromkeys(part for part in text.split(" ") if _SCOPE.fullmatch(part)))


def _challenges(header: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each challenge with its parameters; one header may hold several challenges."""
    position = 0
    scheme, parameters = "", dict[str, str]()
    while position < len(header):
        if header[position] in ", \t":
            position += 1
        elif (match := _PARAMETER.match(header, position)) is not None:
            quoted, plain = match[2], match[3]
            value = plain if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
            parameters.setdefault(match[1].lower(), value)
            position = match.end()
        elif (match := _SCHEME.match(header, position)) is not None:
            if scheme:
                yield scheme, parameters
            scheme, parameters = match[1].lower(), {}
            position = match.end()
        else:  # credentials of another scheme, or text that is no challenge
            position = _next_comma(header, position)
    if scheme:
        yield scheme, parameters


def _next_comma(header: str, position: int) -> int:
    comma = header.find(",", position)
    return len(header) if comma < 0 else comma + 1
