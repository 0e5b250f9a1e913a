"""Turn errors of other servers into texts for their users and owners."""

import httpx2
import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from nacre.adapters.mcp.http_transport import TOO_LARGE
from nacre.adapters.mcp.stdio_transport import TOO_LONG, ProgramError
from nacre.core.errors import (
    ConfigurationError,
    NacreError,
    PrivateAddressError,
    RelayedError,
    UnavailableError,
    UpstreamError,
)

REJECTED = types.ErrorData(code=-1, message="User rejected sampling request")
NO_ROOTS = types.ErrorData(code=-1, message="The client lists no roots")

# Errors that the official client makes itself if no answer arrives.
_HTTP_REFUSAL = "Server returned an error response"
_CLOSED = "Connection closed"
_SESSION_GONE = "Session terminated"
LOST = "was lost while the call ran; it may have been carried out"
_NOT_MCP = "answered with something that is not an MCP message"


def is_session_gone(error: BaseException) -> bool:
    """Tell whether the server does not know the session, and so has not seen the request."""
    return (
        isinstance(error, MCPError)
        and error.code == types.INVALID_REQUEST
        and error.message == _SESSION_GONE
    )


def is_answer(error: BaseException, refused: int | None) -> bool:
    """Tell whether the server itself has sent this error."""
    is_gone = is_session_gone(error)
    return isinstance(error, MCPError) and not is_gone and _reason_of(error, refused) is None


def needs_listing(error: BaseException) -> bool:
    """Tell whether the server requires headers that only a fresh list of tools names."""
    return isinstance(error, MCPError) and error.code == types.HEADER_MISMATCH


def is_unknown_method(error: MCPError, refused: int | None) -> bool:
    """Tell whether the server itself says that it does not know the method."""
    return error.code == types.METHOD_NOT_FOUND and is_answer(error, refused)


def call_fault(server: str, error: Exception, refused: int | None) -> NacreError:
    """Return the error of a call: the server's own one, or the reason why the call failed."""
    if isinstance(error, MCPError):
        reason = _reason_of(error, refused)
        if reason is None:
            return RelayedError(error.code, error.message, error.data)
        return UpstreamError(server, reason)
    return UpstreamError(server, _reason(error) or "failed for an unknown reason")


def listing_fault(server: str, error: Exception, refused: int | None) -> NacreError:
    """Return the reason why a server's lists could not be fetched."""
    fault = call_fault(server, error, refused)
    if isinstance(fault, RelayedError):
        # It answers, so its calls are not refused.
        reason = f"cannot list what it offers ({str(fault)[:200]})"
        return UpstreamError(server, reason, is_fault=False)
    return fault


def opening_fault(server: str, error: BaseException, refused: int | None) -> UpstreamError:
    """Return the reason why a session could not be opened."""
    if isinstance(error, TimeoutError):
        return UpstreamError(server, "did not start in time")
    if isinstance(error, MCPError) and (reason := _reason_of(error, refused)) is None:
        return UpstreamError(server, f"refused to be opened ({error.code}: {error.message[:200]})")
    if isinstance(error, MCPError):
        return UpstreamError(server, _opening_reason(reason or ""))
    return UpstreamError(server, _opening_reason(_reason(error) or "cannot be opened"))


def _opening_reason(reason: str) -> str:
    return "ended while it was opened" if reason == LOST else reason


def _reason_of(error: MCPError, refused: int | None) -> str | None:
    """Return the reason for an error of the client itself; None for one that the server sent."""
    text = error.message
    match error.code:
        # Servers also use this number for their own errors.
        case types.CONNECTION_CLOSED if text == _CLOSED:
            return LOST
        case types.PARSE_ERROR if TOO_LARGE in text or "exceed" in text.lower():
            return TOO_LONG
        case types.PARSE_ERROR if text.startswith("Failed to parse"):
            return _NOT_MCP
        case types.INTERNAL_ERROR if text == _HTTP_REFUSAL:
            return _status(refused)
        case types.METHOD_NOT_FOUND if text == "Not Found" and refused == 404:
            return _status(refused)
        case types.INVALID_REQUEST if text.startswith(("Unexpected content type", "Redirect to")):
            return "answers, but not with MCP; check its 'url' and 'type'"
        case _:
            return None


def _reason(error: BaseException) -> str | None:
    match error:
        case ProgramError() | PrivateAddressError():
            return "leads to a private address" if isinstance(error, NacreError) else str(error)
        case ConfigurationError():
            return f"is not set up: {error}"
        case UnavailableError():
            return "has no address"
        case ValidationError():
            return "answered with something that MCP does not allow"
        case httpx2.HTTPStatusError():
            return _status(error.response.status_code)
        case httpx2.ConnectError() | httpx2.TimeoutException():
            return str(error) and f"does not work: {error}"
        case ConnectionError() | httpx2.HTTPError() | OSError():
            return LOST
        case RuntimeError() if "protocol version" in str(error):
            return "supports no protocol version that Nacre knows"
        case _:
            return None


def _status(status: int | None) -> str:
    match status:
        case 401:
            return (
                "refuses its token (HTTP 401). Send another one in the header Authorization, "
                "such as Bearer ${secret:NAME}, or leave the header out and log in"
            )
        case 403:
            return "refuses these credentials (HTTP 403)"
        case 404:
            return "is not at this URL (HTTP 404)"
        case None:
            return "refused the request"
        case _:
            return f"answers with HTTP {status}"
