"""A refused message is answered under its id, where every reader agrees on it."""

import json

import pytest

from nacre.core.errors import InvalidInputError
from nacre.protocol.messages import parse_message

READABLE = {
    "a duplicate key": b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":1,"a":2}}',
    "a duplicate member": b'{"jsonrpc":"2.0","id":7,"method":"ping","method":"ping"}',
    "NaN": b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":NaN}}',
    "a number without end": b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":1e999}}',
    "a torn text": b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"\\ud800"}}',
    "deep nesting": b'{"jsonrpc":"2.0","id":7,"method":"x","params":%b}' % (b"[" * 99 + b"]" * 99),
    "very deep nesting": b'{"jsonrpc":"2.0","id":7,"method":"x","params":%b}'
    % (b"[" * 3000 + b'"]}"' + b"]" * 3000),
    "deep nesting before the id": b'{"params":%b,"method":"x","id":7}'
    % (b'{"a":[' * 3000 + b"]}" * 3000),
    "a byte order mark": b'\xef\xbb\xbf{"jsonrpc":"2.0","id":7,"method":"ping"}',
    "no UTF-8": b'{"jsonrpc":"2.0","id":7,"method":"\xff"}',
    "a control character": b'{"jsonrpc":"2.0","id":7,"method":"p\x01ing"}',
    "another version": b'{"jsonrpc":"1.0","id":7,"method":"ping"}',
}
UNREADABLE = {
    "a duplicate id": b'{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}',
    "the same id twice": b'{"jsonrpc":"2.0","id":7,"id":7,"method":"ping"}',
    "a fraction": b'{"jsonrpc":"2.0","id":7.5,"method":"ping"}',
    "a truth": b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
    "a torn id": b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}',
    "an endless id": b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}',
    "no JSON": b'{"jsonrpc":"2.0","id":7,',
    "no UTF-8 in the id": b'{"jsonrpc":"2.0","id":"\xff","method":"ping"}',
    "a control character in the id": b'{"jsonrpc":"2.0","id":"a\x01","method":"ping"}',
    "deep nesting without end": b'{"jsonrpc":"2.0","id":7,"method":"x","params":' + b"[" * 3000,
    "deep nesting as the id": b'{"id":' + b"[" * 3000 + b"]" * 3000 + b',"method":"x"}',
    "a response": b'{"jsonrpc":"2.0","id":7,"result":{"a":NaN}}',
    "a batch": b'[{"jsonrpc":"2.0","id":7,"method":"ping"}]',
}


def refused_id(raw: bytes) -> object:
    with pytest.raises(InvalidInputError) as refused:
        parse_message(raw)
    return getattr(refused.value, "request_id", None)


@pytest.mark.parametrize("name", READABLE)
def test_an_id_that_is_plain_is_answered(name: str) -> None:
    assert refused_id(READABLE[name]) == 7


@pytest.mark.parametrize("name", UNREADABLE)
def test_an_id_on_which_readers_may_disagree_is_not(name: str) -> None:
    assert refused_id(UNREADABLE[name]) is None


def test_the_id_of_a_text_is_answered_too() -> None:
    message = json.dumps({"jsonrpc": "2.0", "id": "seven", "method": 7}).encode()

    assert refused_id(message) == "seven"
