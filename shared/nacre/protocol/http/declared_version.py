"""The protocol version that an HTTP request is made under."""

from collections.abc import Mapping

from nacre.core.errors import HeaderMismatchError, InvalidParamsError, UnsupportedVersionError
from nacre.protocol.http.headers import VERSION_HEADER
from nacre.protocol.messages import Request
from nacre.protocol.versions import (
    LEGACY_VERSIONS,
    META_VERSION,
    SUPPORTED_VERSIONS,
    UNDECLARED,
    is_modern,
)


def declared_version(message: Request, headers: Mapping[str, str]) -> str:
    """Return the version; raises when header and body disagree or it is not served."""
    sent = headers.get(VERSION_HEADER)
    declared = message.meta.get(META_VERSION)
    if declared is None and (sent is None or not is_modern(sent)):
        return _legacy(message, sent)
    if sent == declared and sent in LEGACY_VERSIONS:
        return str(sent)
    if sent is None:
        raise HeaderMismatchError("Header mismatch: MCP-Protocol-Version is missing")
    if declared is None:
        raise InvalidParamsError(f"params._meta needs '{META_VERSION}'")
    if declared != sent:
        raise HeaderMismatchError("Header mismatch: MCP-Protocol-Version does not match the body")
    if not is_modern(sent):
        raise UnsupportedVersionError(sent[:40], supported=SUPPORTED_VERSIONS)
    return sent


def _legacy(message: Request, sent: str | None) -> str:
    if sent is None or message.method == "initialize":
        return UNDECLARED
    if sent not in SUPPORTED_VERSIONS:
        raise UnsupportedVersionError(sent[:40], supported=SUPPORTED_VERSIONS)
    return sent
