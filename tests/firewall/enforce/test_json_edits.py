"""Parts of JSON texts that are read, added and replaced while all other bytes stay."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.firewall.enforce.json_edits import (
    elements_of,
    members_at,
    with_members,
    with_value,
    without_members,
)

names = st.text(max_size=5)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(names, values, max_size=4)


def encoded(value: Any) -> bytes:
    return json.dumps(value).encode()


@given(objects, objects)
def test_added_members_are_those_of_the_object_and_win(before: Any, more: Any) -> None:
    added = {name: encoded(value) for name, value in more.items()}

    assert json.loads(with_members(encoded(before), (), added)) == {**before, **more}


@given(st.dictionaries(names, objects, max_size=4), names, names, values)
def test_objects_on_the_way_are_made(before: Any, first: str, second: str, value: Any) -> None:
    raw = with_members(encoded(before), (first, "a new name"), {second: encoded(value)})

    inner = {**before.get(first, {}), "a new name": {second: value}}
    assert json.loads(raw) == {**before, first: inner}


@given(objects)
def test_members_and_elements_are_those_of_a_parser(value: Any) -> None:
    parts = members_at(encoded({"result": value}), ("result",))
    assert {name: json.loads(part) for name, part in parts.items()} == value
    listed = list(value.values())
    assert [json.loads(part) for part in elements_of(encoded(listed))] == listed


def test_other_bytes_stay() -> None:
    raw = b' {"id" : 7 , "params":{ "n": 1.0e2 }}'

    assert with_value(raw, ("id",), b'"x"') == b' {"id" : "x" , "params":{ "n": 1.0e2 }}'
    changed = with_members(raw, ("params", "_meta"), {"a": b"1"})
    assert changed == b' {"id" : 7 , "params":{"_meta":{"a":1}, "n": 1.0e2 }}'
    assert json.loads(without_members(changed, ("params",), ("_meta",))) == json.loads(raw)


@pytest.mark.parametrize("raw", [b"[1]", b'{"params":[1]}', b'{"params":{"_meta":"x"}}'])
def test_members_are_added_to_objects_only(raw: bytes) -> None:
    with pytest.raises(KeyError):
        with_members(raw, ("params", "_meta"), {"a": b"1"})
