"""Redirect addresses: which ones a client may register, and which ones match."""

import re
from urllib.parse import SplitResult, urlsplit

from nacre.core.errors import OAuthError
from nacre.core.limits import MAX_URI_LENGTH

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{1,63}")
_HOST = re.compile(r"[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]")
_FORBIDDEN_CHARACTERS = frozenset(' "#*<>\\^`{|}')
# A browser or a phone handles these itself instead of opening an application.
_REFUSED_SCHEMES = frozenset(
    {
        *("about", "blob", "chrome", "content", "data", "edge", "file", "filesystem", "ftp"),
        *("intent", "jar", "javascript", "mailto", "resource", "search-ms", "sms", "tel"),
        *("vbscript", "view-source", "ws", "wss"),
    }
)


def checked_redirect(uri: object) -> str:
    """Return the address if it may be registered, else raise OAuthError.

    It is https, http on loopback or a private scheme, and has no fragment, user name, wildcard or
    anything else that two parsers could read differently.
    """
    if not isinstance(uri, str) or not uri or len(uri) > MAX_URI_LENGTH:
        raise _refused(f"it must be a string of 1 to {MAX_URI_LENGTH} characters")
    if not uri.isascii() or not uri.isprintable() or set(uri) & _FORBIDDEN_CHARACTERS:
        raise _refused("it contains a fragment, a wildcard or a forbidden character")
    parts = _split(uri)
    scheme = parts.scheme
    if not uri.startswith(f"{scheme}:") or not _SCHEME.fullmatch(scheme):
        raise _refused("it must begin with a scheme such as https, in lower case")
    if "@" in parts.netloc:
        raise _refused("it contains a user name")
    if scheme in ("https", "http"):
        _check_host(parts)
    elif scheme in _REFUSED_SCHEMES or scheme.startswith(("ms-", "chrome-", "android-")):
        raise _refused("that scheme is not for applications")
    elif not (parts.netloc or parts.path.startswith("/")):
        raise _refused("nothing follows its scheme")
    return uri


def is_registered(address: str, registered: tuple[str, ...]) -> bool:
    """Tell whether a request may redirect to this address.

    It must equal a registered address exactly. Only the port of a loopback address may differ,
    because a program on the owner's machine listens on any free port.
    """
    if address in registered:
        return True
    loopback = _without_port(address)
    return loopback is not None and loopback in {_without_port(uri) for uri in registered}


def displayed_host(uri: str) -> str:
    """Return the host of an address, as the consent page shows it.

    A private scheme is shown too, because the text after it is not a host, whatever it looks like.
    """
    parts = _split(uri)
    if is_private_scheme(uri):
        return f"{parts.scheme}://{parts.netloc}" if parts.netloc else f"{parts.scheme}:"
    return parts.hostname or f"{parts.scheme}:"


def is_loopback(uri: str) -> bool:
    """Tell whether the address is a program on the owner's machine."""
    parts = _split(uri)
    return parts.scheme == "http" and parts.hostname in LOOPBACK


def is_private_scheme(uri: str) -> bool:
    """Tell whether the address opens the application that has claimed its scheme."""
    return _split(uri).scheme not in ("http", "https")


def _check_host(parts: SplitResult) -> None:
    host = parts.netloc.rpartition(":")[0] if _has_port(parts) else parts.netloc
    if not _HOST.fullmatch(host):
        raise _refused("it names no host")
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise _refused("http is only allowed for this machine: localhost or 127.0.0.1")


def _has_port(parts: SplitResult) -> bool:
    return bool(re.search(r":[0-9]*$", parts.netloc.rpartition("]")[2]))


def _without_port(uri: str) -> tuple[str, str, str] | None:
    parts = _split(uri)
    if parts.scheme != "http" or parts.hostname not in LOOPBACK or "@" in parts.netloc:
        return None
    return parts.hostname or "", parts.path or "/", parts.query


def _split(uri: str) -> SplitResult:
    try:
        parts = urlsplit(uri)
        _ = parts.port  # raises for an invalid port
    except ValueError:
        raise _refused("it cannot be read") from None
    return parts


def _refused(reason: str) -> OAuthError:
    return OAuthError("invalid_redirect_uri", f"a redirect_uri cannot be used: {reason}")
