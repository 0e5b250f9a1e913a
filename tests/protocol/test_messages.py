"""JSON-RPC envelopes."""

import pytest

from nacre.core.errors import InvalidParamsError, MalformedMessageError
from nacre.protocol.messages import Notification, Request, Response, parse_message


def test_a_request_has_an_id_and_a_method() -> None:
    raw = b'{"jsonrpc":"2.0","id":"a","method":"ping","params":{"x":1}}'

    assert parse_message(raw) == Request("a", "ping", {"x": 1})


def test_params_may_be_left_out() -> None:
    assert parse_message(b'{"jsonrpc":"2.0","id":0,"method":"ping"}') == Request(0, "ping", {})


def test_a_message_without_an_id_is_a_notification() -> None:
    assert parse_message(b'{"jsonrpc":"2.0","method":"x"}') == Notification("x", {})


def test_a_message_without_a_method_is_a_response() -> None:
    raw = b'{"jsonrpc":"2.0","id":1,"result":{}}'

    assert parse_message(raw) == Response(1, {}, None)


@pytest.mark.parametrize(
    ("raw", "reason", "request_id"),
    [
        (b"[]", "batches are not taken", None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', "batches are not taken", None),
        (b'"ping"', "must be a JSON object", None),
        (b'{"id":1,"method":"ping"}', "'jsonrpc' must be", 1),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', "'jsonrpc' must be", 1),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', "'id' must be", None),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', "'id' must be", None),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', "'id' must be", None),
        (b'{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}', "'id' must be", None),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', "'method' must be a string", 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":["a"]}', "'params' must be", 1),
        (b'{"jsonrpc":"2.0","id":1}', "needs a 'method'", 1),
        (b'{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', "needs a 'method'", 1),
        (b'{"jsonrpc":"2.0","id":1,"result":[]}', "'result' must be an object", 1),
    ],
)
def test_anything_else_is_refused(raw: bytes, reason: str, request_id: object) -> None:
    with pytest.raises(MalformedMessageError, match=reason) as caught:
        parse_message(raw)

    assert caught.value.request_id == request_id


def test_a_required_text_parameter_is_named_when_it_is_missing() -> None:
    with pytest.raises(InvalidParamsError, match="tools/call: 'name' must be a string"):
        Request(1, "tools/call", {"name": 3}).text("name")


def test_an_object_parameter_is_named_when_it_is_something_else() -> None:
    with pytest.raises(InvalidParamsError, match="tools/call: 'arguments' must be an object"):
        Request(1, "tools/call", {"arguments": []}).mapping("arguments")
