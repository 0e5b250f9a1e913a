"""JSON off the wire: what is taken means the same to every reader and can be written again."""

import json
from collections.abc import Callable
from typing import Any

from nacre.core.errors import MalformedJsonError, MalformedMessageError, TooLargeError
from nacre.firewall.enforce.message import parse as with_digits
from nacre.firewall.rules.arguments.arguments import number, spellings
from nacre.protocol import strict_json
from nacre.protocol.messages import Response, parse_message

REFUSED = (MalformedJsonError, MalformedMessageError)
LENGTH = 300
SEEDS = (
    b"",
    b' {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{}}} ',
    b'{"jsonrpc":"2.0","id":"a","result":{"content":[{"type":"text","text":"\\ud83d\\ude00"}]}}',
    '{"jsonrpc":"2.0","method":"n","params":{"é🌊":[1,-0,1.5e3,null,true,false]}}'.encode(),
    b'{"a":1,"a":2}',
    b'["\\ud800"]',
    b"[NaN,Infinity,-Infinity,1e999,12345678901234567890,0.1]",
    b"[" * 70 + b"]" * 70,
    b"\xef\xbb\xbf{}",
    b'"\\\xc3\xa9"',
)


def one(data: bytes) -> None:
    """Read the input in every way that there is, and as the standard library does."""
    try:
        value = strict_json.parse(data)
    except REFUSED as error:
        ways: tuple[Callable[[], Any], ...] = (
            lambda: strict_json.parse(bytearray(data)),
            lambda: with_digits(data),
        )
        for read in ways:
            try:
                read()
            except type(error):
                continue
            raise AssertionError("refused in one way and taken in another") from error
        return
    assert value == json.loads(data)
    assert strict_json.parse(bytearray(data)) == value
    again = strict_json.encode(value)
    assert strict_json.parse(again) == value
    assert len(again) <= len(data) * 6 + 20
    digits = with_digits(data)
    _check_digits(digits, value)
    _message(data)


def _check_digits(digits: Any, value: Any) -> None:
    """Check numbers with all their digits against numbers as Python has them."""
    if isinstance(value, dict):
        assert list(digits) == list(value)
        for key, each in value.items():
            _check_digits(digits[key], each)
    elif isinstance(value, list):
        assert len(digits) == len(value)
        for one_digits, each in zip(digits, value, strict=True):
            _check_digits(one_digits, each)
    elif isinstance(value, str) or value is None or isinstance(value, bool):
        assert digits == value
    else:
        assert number(digits) == value
        assert str(digits) in spellings(digits)


def _message(data: bytes) -> None:
    try:
        message = parse_message(data)
    except (MalformedMessageError, TooLargeError):
        return
    if isinstance(message, Response):
        assert (message.result is None) != (message.error is None)
    else:
        assert isinstance(message.params, dict)
