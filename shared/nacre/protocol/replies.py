"""What goes back to the client for one request."""

from dataclasses import dataclass
from typing import Any

from nacre.protocol import strict_json
from nacre.protocol.messages import RequestId


@dataclass(frozen=True, slots=True)
class Failure:
    """A JSON-RPC error and the HTTP status that goes with it."""

    code: int
    message: str
    data: Any = None
    status: int = 400


@dataclass(slots=True)  # not frozen: see HttpRequest
class Answer:
    """An encoded JSON-RPC response, with what went wrong where something did."""

    body: bytes
    failure: Failure | None = None
    cause: Exception | None = None


def answer(request_id: RequestId, result: bytes, cause: Exception | None = None) -> Answer:
    """Return the response that carries an encoded result."""
    if type(request_id) is int:
        return Answer(b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (request_id, result), None, cause)
    spelled = strict_json.encode(request_id)
    return Answer(b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (spelled, result), None, cause)


def refusal(
    request_id: RequestId | None, failure: Failure, cause: Exception | None = None
) -> Answer:
    """Return the response that carries an error."""
    error: dict[str, Any] = {"code": failure.code, "message": failure.message}
    if failure.data is not None:
        error["data"] = failure.data
    body = {"jsonrpc": "2.0", "id": request_id, "error": error}
    return Answer(strict_json.encode(body), failure, cause)
