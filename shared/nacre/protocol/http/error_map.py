"""The form of each error for clients: a JSON-RPC code, an HTTP status, a text for a model."""

from typing import Any

from nacre.core.errors import (
    BlockedError,
    ClientCapabilityError,
    ForbiddenError,
    HeaderMismatchError,
    InvalidInputError,
    MalformedJsonError,
    MalformedMessageError,
    NacreError,
    NotFoundError,
    RateLimitedError,
    RelayedError,
    TooLargeError,
    UnauthorizedError,
    UnavailableError,
    UnknownBeingError,
    UnknownMethodError,
    UnknownProfileError,
    UnknownResourceError,
    UnsupportedVersionError,
)
from nacre.protocol.http.challenge import challenge_fields
from nacre.protocol.messages import Failure

# Kind of error, JSON-RPC code, HTTP status for modern and for legacy clients: the first
# that fits counts. Our own codes stand outside the range that JSON-RPC and MCP keep.
_TABLE: tuple[tuple[type[Exception], int, int, int], ...] = (
    (MalformedJsonError, -32700, 400, 400),
    (MalformedMessageError, -32600, 400, 400),
    (TooLargeError, -32600, 413, 413),
    (HeaderMismatchError, -32020, 400, 400),
    (UnsupportedVersionError, -32022, 400, 400),
    (ClientCapabilityError, -32021, 400, 200),
    (InvalidInputError, -32602, 400, 200),
    (BlockedError, -31001, 200, 200),
    (UnknownBeingError, 404, 404, 404),
    (UnknownProfileError, 404, 404, 404),
    (UnknownMethodError, -32601, 404, 200),
    (NotFoundError, -32602, 400, 200),
    (UnauthorizedError, 401, 401, 401),
    (ForbiddenError, 403, 403, 403),
    (RateLimitedError, 429, 429, 429),
    (UnavailableError, 503, 503, 200),
)
_LEGACY_RESOURCE_NOT_FOUND = -32002


def explain(error: Exception, *, modern: bool) -> Failure:
    """Return the JSON-RPC error for an exception; only our own errors show their text."""
    if isinstance(error, RelayedError):
        return Failure(error.code, str(error), error.data, status=200)
    for kind, code, modern_status, legacy_status in _TABLE:
        if isinstance(error, kind):
            if isinstance(error, UnknownResourceError) and not modern:
                code = _LEGACY_RESOURCE_NOT_FOUND
            status = modern_status if modern else legacy_status
            return Failure(code, _told(error), _data(error), status)
    return Failure(-32603, _told(error), status=500 if modern else 200)


def _told(error: Exception) -> str:
    if not isinstance(error, NacreError):
        return "Internal error"
    return error.public or str(error)


def _data(error: Exception) -> dict[str, Any] | None:
    match error:
        case UnsupportedVersionError():
            return {"supported": list(error.supported), "requested": error.requested}
        case ClientCapabilityError():
            return {"requiredCapabilities": error.required}
        case UnknownResourceError():
            return {"uri": error.uri}
        case UnauthorizedError() | ForbiddenError():
            # As in the header, which API Gateway renames on its way out.
            return dict(challenge_fields(error))
        case BlockedError():
            facts = {"decision": "deny", "rule": error.rule, "audit": error.audit or None}
            return {name: value for name, value in facts.items() if value is not None}
        case _:
            return None


def tool_error(tool: str, error: Exception) -> str:
    """Return the text a model sees when a tool fails."""
    if isinstance(error, NacreError):
        return f"Error: {_told(error)}"
    return f"Error: the tool '{tool}' failed; the server's log says why"


def is_expected(error: Exception) -> bool:
    """Tell whether the error was raised on purpose, so it is not a fault of this server."""
    return isinstance(error, NacreError)
