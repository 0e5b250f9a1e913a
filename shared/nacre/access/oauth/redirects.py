"""Where a client may have its answer sent: which addresses may be registered, and which match."""

import re
from urllib.parse import SplitResult, urlsplit

from nacre.core.errors import OAuthError
from nacre.core.limits import MAX_URI_LENGTH

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{1,63}")
_HOST = re.compile(r"[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]")
_NEVER = frozenset(' "#*<>\\^`{|}')
# A browser or a phone does something of its own with these instead of opening an application.
_REFUSED_SCHEMES = frozenset(
    {
        *("about", "blob", "chrome", "content", "data", "edge", "file", "filesystem", "ftp"),
        *("intent", "jar", "javascript", "mailto", "resource", "search-ms", "sms", "tel"),
        *("vbscript", "view-source", "ws", "wss"),
    }
)


def checked_redirect(uri: object) -> str:
    """Return the address, or raise OAuthError: https, http on loopback, or an own scheme.

    It stands alone: no fragment, no user, no wildcard, nothing that two readers could
    understand differently.
    """
    if not isinstance(uri, str) or not uri or len(uri) > MAX_URI_LENGTH:
        raise _refused(f"each is a text of 1 to {MAX_URI_LENGTH} characters")
    if not uri.isascii() or not uri.isprintable() or set(uri) & _NEVER:
        raise _refused("it holds a fragment, a wildcard or a character that no address has")
    parts = _split(uri)
    scheme = parts.scheme
    if not uri.startswith(f"{scheme}:") or not _SCHEME.fullmatch(scheme):
        raise _refused("it begins with a scheme such as https, in lower case")
    if "@" in parts.netloc:
        raise _refused("it names a user")
    if scheme in ("https", "http"):
        _check_host(parts)
    elif scheme in _REFUSED_SCHEMES or scheme.startswith(("ms-", "chrome-", "android-")):
        raise _refused("that scheme is not for applications")
    elif not (parts.netloc or parts.path.startswith("/")):
        raise _refused("after its scheme it has no address")
    return uri


def may_receive(asked: str, registered: tuple[str, ...]) -> bool:
    """Whether an answer may go to the address that a request names.

    It must be one of the registered ones to the letter, except for the port of a program on
    the owner's machine, which takes whichever is free.
    """
    if asked in registered:
        return True
    loopback = _without_port(asked)
    return loopback is not None and loopback in {_without_port(each) for each in registered}


def shown_host(uri: str) -> str:
    """Return where an answer goes, as an owner reads it.

    What follows an own scheme is no host, whatever it looks like, so the scheme is said first.
    """
    parts = _split(uri)
    if is_own_scheme(uri):
        return f"{parts.scheme}://{parts.netloc}" if parts.netloc else f"{parts.scheme}:"
    return parts.hostname or f"{parts.scheme}:"


def is_loopback(uri: str) -> bool:
    """Whether an answer goes to a program on the machine of whoever asks."""
    parts = _split(uri)
    return parts.scheme == "http" and parts.hostname in LOOPBACK


def is_own_scheme(uri: str) -> bool:
    """Whether an answer goes to whichever application has claimed a scheme."""
    return _split(uri).scheme not in ("http", "https")


def _check_host(parts: SplitResult) -> None:
    host = parts.netloc.rpartition(":")[0] if _has_port(parts) else parts.netloc
    if not _HOST.fullmatch(host):
        raise _refused("it names no host")
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise _refused("without TLS only this machine can be meant: localhost or 127.0.0.1")


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
        _ = parts.port  # raises for a port that is none
    except ValueError:
        raise _refused("it cannot be read") from None
    return parts


def _refused(reason: str) -> OAuthError:
    return OAuthError("invalid_redirect_uri", f"a redirect_uri cannot be used: {reason}")
