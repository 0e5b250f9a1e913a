"""Strict JSON: one meaning, or a clear refusal."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nacre.core.errors import MalformedJsonError, MalformedMessageError
from nacre.core.limits import MAX_JSON_DEPTH
from nacre.protocol import strict_json

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"]), max_size=8), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(values)
def test_what_is_encoded_is_parsed_back(value: Any) -> None:
    assert strict_json.parse(strict_json.encode(value)) == value


@given(values)
def test_escaped_text_means_the_same_as_plain_text(value: Any) -> None:
    assert strict_json.parse(json.dumps(value).encode()) == value


@given(st.binary(max_size=200))
def test_any_bytes_are_parsed_or_refused(raw: bytes) -> None:
    with suppress(MalformedJsonError, MalformedMessageError):
        assert strict_json.parse(strict_json.encode(strict_json.parse(raw))) is not Ellipsis


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"{} {}", "more text after character 2"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b'{"a":"\xff"}', "not valid UTF-8 at byte 6"),
        (b'{"a":"\xed\xa0\x80"}', "not valid UTF-8"),
        (b'{"a":NaN}', "number that JSON cannot carry"),
        (b'{"a":-Infinity}', "number that JSON cannot carry"),
        (b'{"a":1e999}', "number that JSON cannot carry"),
        (b"[" + b"9" * 5000 + b"]", "number that JSON cannot carry"),
    ],
)
def test_bytes_that_are_not_json_are_refused(raw: bytes, reason: str) -> None:
    for sent in (raw, bytearray(raw)):
        with pytest.raises(MalformedJsonError, match=reason):
            strict_json.parse(sent)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b'{"a":1,"a":2}', "repeats the key 'a'"),
        (b'{"a":1,"\\u0061":2}', "repeats the key 'a'"),
        (b'{"x":{"a":1,"a":1}}', "repeats the key 'a'"),
        (b'{"\\ud800":1,"\\ud800":2}', "repeats the key"),
        (b'["\\ud800"]', "unpaired surrogate"),
        (b'{"\\uDFFF":1}', "unpaired surrogate"),
        (b"[" * 65 + b"]" * 65, "deeper than 64"),
        (b'{"a":' * 65 + b"1" + b"}" * 65, "deeper than 64"),
        (b"[" * 100_000, "deeper than 64"),
    ],
)
def test_json_that_parsers_read_differently_is_refused(raw: bytes, reason: str) -> None:
    with pytest.raises(MalformedMessageError, match=reason):
        strict_json.parse(raw)


def test_a_paired_surrogate_is_one_character() -> None:
    assert strict_json.parse(b'"\\ud83d\\ude00"') == "\N{GRINNING FACE}"


def test_the_deepest_nesting_allowed_is_parsed() -> None:
    raw = b"[" * MAX_JSON_DEPTH + b"]" * MAX_JSON_DEPTH

    assert json.dumps(strict_json.parse(raw)) == raw.decode()


def test_brackets_inside_text_do_not_count_as_nesting() -> None:
    text = "[{" * 500 + '\\"' * 10

    assert strict_json.parse(json.dumps([text]).encode()) == [text]


def test_hostile_quotes_are_refused_in_linear_time() -> None:
    raw = b"[" * 70 + b'"' + b'\\"' * 1_000_000  # quadratic matching would take hours

    with pytest.raises(MalformedMessageError, match="deeper than 64"):
        strict_json.parse(raw)


def test_big_integers_keep_every_digit() -> None:
    assert strict_json.parse(b"123456789012345678901234567890") == 123456789012345678901234567890


# Pieces that mean something at an edge: escapes, halves of characters, blanks, ends of text.
MARKS = b' " \n \xc2\xa0 { } [ ] : , 1 "k": \\ \\u00e9 \\ud83d\\ude00 \\ud800 \xc3 \xff'.split(b" ")
pieces = st.sampled_from([*MARKS, b" ", b'{"a":"b"}', "é世🐚".encode()])


@given(st.lists(pieces, max_size=12).map(b"".join) | st.binary(max_size=60))
@example('"é世🐚'.encode())
def test_what_is_taken_from_a_buffer_means_what_the_bytes_mean(raw: bytes) -> None:
    assert outcome(bytearray(raw)) == outcome(raw)


@given(values)
def test_values_are_the_same_from_a_buffer(value: Any) -> None:
    raw = b" \n" + strict_json.encode(value) + b"\r\n "
    assert strict_json.parse(bytearray(raw)) == value


def test_a_buffer_is_empty_once_it_is_read() -> None:
    raw = bytearray('{"a": "世🐚"}'.encode())

    assert strict_json.parse(raw) == {"a": "世🐚"}
    assert raw == b""


def test_a_character_may_lie_where_two_blocks_of_a_buffer_meet() -> None:
    text = "a" * (strict_json._BLOCK - 3) + "🐚" + " " * strict_json._BLOCK + "é"
    raw = b" " * (strict_json._BLOCK + 1) + strict_json.encode([text]) + b" " * strict_json._BLOCK

    assert strict_json.parse(bytearray(raw)) == [text]


def test_an_unpaired_surrogate_is_found_wherever_it_is() -> None:
    for raw in (
        rb'["\ud800"]',
        rb'{"\udc00": 1}',
        rb'{"a": [{"b": "\ud83d"}]}',
        rb'["\ude00\ud83d"]',
    ):
        with pytest.raises(MalformedMessageError, match="unpaired surrogate"):
            strict_json.parse(raw)


def outcome(raw: bytes | bytearray) -> object:
    try:
        return strict_json.parse(raw)
    except (MalformedJsonError, MalformedMessageError) as error:
        # Where a character is escaped for reading, a place in the text is another one, and a
        # text that breaks off behind it seems to break off within.
        said = str(error).partition("not valid JSON")[0]
        return type(error), "".join(mark for mark in said if not mark.isdigit())
