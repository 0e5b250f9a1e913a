"""Texts, names and dates: what is taken, and what an error says."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.being.memory.model.fields import (
    checked_date,
    checked_dates,
    checked_name,
    checked_names,
    checked_text,
    cleaned_text,
    name_key,
)
from nacre.being.memory.target_actions import ROOM, fitting, head
from nacre.core.errors import InvalidInputError

# Tabs, ends of lines, and the second half of the control characters.
_BLANKS = "\t\n\r" + "".join(map(chr, range(0x80, 0xA0)))


@given(st.text(max_size=300), st.integers(1, 100))
def test_a_text_is_taken_in_nfc_or_an_error_names_it(text: str, limit: int) -> None:
    normal = unicodedata.normalize("NFC", text).strip()
    is_plain = not any(unicodedata.category(each) == "Cc" for each in text if each not in _BLANKS)
    if is_plain and 0 < len(normal.encode()) <= limit:
        assert checked_text(text, "field", limit=limit) == normal
    else:
        with pytest.raises(InvalidInputError, match=r"^'field' "):
            checked_text(text, "field", limit=limit)


@given(st.text(max_size=300))
def test_a_name_is_one_line_and_stays_as_it_is_when_checked_again(text: str) -> None:
    try:
        name = checked_name(text, "field")
    except InvalidInputError:
        return
    assert name == checked_name(name, "field")
    assert len(name.split()) - 1 == name.count(" ")
    assert len(name.splitlines()) == 1
    assert name_key(name_key(name)) == name_key(name)


@given(st.text(st.characters(exclude_categories=[]), max_size=200))
def test_what_others_wrote_is_taken_without_what_no_store_keeps(text: str) -> None:
    cleaned = cleaned_text(text, "field", limit=10_000)

    assert cleaned == cleaned_text(cleaned, "field", limit=10_000)
    cleaned.encode()
    assert not any(ord(letter) < 32 and letter not in "\t\n\r" for letter in cleaned)


def test_names_come_once_in_their_order() -> None:
    assert checked_names(["b", " a", "b ", "A"], "f", limit=3) == ("b", "a", "A")


@given(st.dates())
def test_every_day_of_the_calendar_is_a_date(day: object) -> None:
    assert checked_date(f"{day}", "f") == f"{day}"


@pytest.mark.parametrize(
    "text",
    ["", "2026-02-29", "2026-00-01", "2026-1-01", "20260101", "2026-01-01T00", " 2026-01-01"],
)
def test_anything_else_is_not(text: str) -> None:
    with pytest.raises(InvalidInputError, match=r"'f\.0' must be a date of the calendar"):
        checked_dates([text], "f")


@given(st.text(max_size=400), st.integers(2, 200))
def test_the_head_of_a_text_is_json_of_so_many_bytes(text: str, room: int) -> None:
    shown = head(text, room)
    assert text.startswith(shown)
    assert len(json.dumps(shown, ensure_ascii=False).encode()) <= room
    if shown != text:
        assert len(json.dumps(text, ensure_ascii=False).encode()) > room


def test_as_many_entries_are_taken_as_fit() -> None:
    entries = [{"key": "x" * 1000}] * 100

    some, are_all = fitting(entries)
    assert not are_all
    assert len(some) == ROOM // 1015
    assert fitting(entries[:5]) == (entries[:5], True)
