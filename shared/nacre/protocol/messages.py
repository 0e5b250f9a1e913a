"""JSON-RPC messages: the three shapes that a client may send, and the answers to them."""

from typing import Any, TypeGuard, cast

from nacre.core.errors import (
    InvalidParamsError,
    MalformedJsonError,
    MalformedMessageError,
    TooLargeError,
)
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.core.limits import MAX_BODY_BYTES
from nacre.protocol import strict_json
from nacre.protocol.large_calls import LargeArguments, LargeCall

RequestId = str | int


@dataclass(slots=True)  # not frozen: see HttpRequest
class Request:
    """A message that expects an answer; `meta` is the `_meta` object of the parameters.

    `via` is the tool through which a client called the one in `params`, if there was one.
    """

    id: RequestId
    method: str
    params: dict[str, Any] = field(default_factory=dict)
    via: str | None = None
    meta: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        meta = self.params.get("_meta")
        self.meta = meta if isinstance(meta, dict) else {}

    def text(self, name: str) -> str:
        """Return a required string parameter."""
        value = self.params.get(name)
        if not isinstance(value, str):
            raise InvalidParamsError(f"{self.method}: '{name}' must be a string")
        return value

    def mapping(self, name: str) -> dict[str, Any]:
        """Return an optional object parameter, empty when absent."""
        value = self.params.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict | LargeArguments):
            raise InvalidParamsError(f"{self.method}: '{name}' must be an object")
        return cast("dict[str, Any]", value)


@dataclass(frozen=True, slots=True)
class Notification:
    """A message that expects no answer."""

    method: str
    params: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Response:
    """A client's answer to a request of the server's."""

    id: RequestId
    result: dict[str, Any] | None
    error: dict[str, Any] | None


Message = Request | Notification | Response


def parse_message(raw: bytes | bytearray) -> Message:
    """Return the one message that the bytes hold; a bytearray is emptied as it is read.

    Only a tool call may be larger than MAX_BODY_BYTES.
    """
    if isinstance(raw, LargeCall):
        size, value = len(raw.whole), raw.value(strict_json.parse)
    else:
        size, value = len(raw), _parsed(raw)
    message = read_message(value)
    if size > MAX_BODY_BYTES and not (
        isinstance(message, Request) and message.method == "tools/call"
    ):
        request_id = message.id if isinstance(message, Request) else None
        raise TooLargeError("the message", limit=MAX_BODY_BYTES, request_id=request_id)
    return message


def _parsed(raw: bytes | bytearray) -> Any:
    size = len(raw)
    try:
        return strict_json.parse(raw)
    except (MalformedJsonError, MalformedMessageError) as error:
        if size <= MAX_BODY_BYTES:  # parsing empties a longer one
            error.request_id = strict_json.readable_id(raw)
        raise


def read_message(value: Any) -> Message:
    """Return the one message that a parsed JSON value holds."""
    if isinstance(value, list):
        raise MalformedMessageError("batches are not taken; send one message at a time")
    if not isinstance(value, dict):
        raise MalformedMessageError("a message must be a JSON object")
    raw_id = value.get("id")
    known_id = raw_id if is_request_id(raw_id) else None
    if value.get("jsonrpc") != "2.0":
        raise MalformedMessageError("'jsonrpc' must be \"2.0\"", request_id=known_id)
    if "id" in value and known_id is None:
        raise MalformedMessageError("'id' must be a string or an integer")
    if "method" not in value:
        return _response(value, known_id)
    method, params = value["method"], value.get("params", {})
    if not isinstance(method, str):
        raise MalformedMessageError("'method' must be a string", request_id=known_id)
    if not isinstance(params, dict):
        raise MalformedMessageError("'params' must be an object", request_id=known_id)
    if known_id is None:
        return Notification(method, params)
    return Request(known_id, method, params)


def _response(value: dict[str, Any], request_id: RequestId | None) -> Response:
    result, error = value.get("result"), value.get("error")
    if request_id is None or (result is None) == (error is None):
        raise MalformedMessageError(
            "a message needs a 'method', or an 'id' with a 'result' or an 'error'",
            request_id=request_id,
        )
    for name, part in (("result", result), ("error", error)):
        if part is not None and not isinstance(part, dict):
            raise MalformedMessageError(f"'{name}' must be an object", request_id=request_id)
    return Response(request_id, result, error)


def is_request_id(value: object) -> TypeGuard[RequestId]:
    """Tell whether a JSON value can be the id of a request."""
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def notification(method: str, params: dict[str, Any]) -> bytes:
    """Return the encoded notification."""
    return strict_json.encode({"jsonrpc": "2.0", "method": method, "params": params})


def question(request_id: RequestId, method: str, params: dict[str, Any]) -> bytes:
    """Return the encoded request, from server to client."""
    return strict_json.encode(
        {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
    )


@dataclass(frozen=True, slots=True)
class Failure:
    """A JSON-RPC error and the HTTP status that goes with it."""

    code: int
    message: str
    data: Any = None
    status: int = 400


@dataclass(slots=True)  # not frozen: see HttpRequest
class Answer:
    """An encoded JSON-RPC response, with its error if there is one."""

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
