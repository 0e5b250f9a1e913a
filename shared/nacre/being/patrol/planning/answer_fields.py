"""The fields of a model's answer: one JSON object, each field of its kind and within bounds.

Many endpoints take no notice of the schema they are given, and a model may have listened to
the very texts it was asked about; so nothing is believed that is not checked here.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from nacre.being.memory.model.fields import checked_names, cleaned_text
from nacre.being.memory.text.memory_text import one_line
from nacre.core.errors import InvalidInputError
from nacre.core.limits import PLANNED_LABEL_BYTES, PLANNED_TEXT_BYTES

T = TypeVar("T")
Answer = Mapping[str, Any]
_THOUGHTS, _THOUGHTS_END = "<think>", "</think>"


class UnusableError(Exception):
    """An answer that cannot be used; the message holds nothing of it."""


def answer_in(text: str) -> Answer:
    """Return the JSON object in an answer, also where chat surrounds it."""
    if text.lstrip().startswith(_THOUGHTS):  # which some servers leave in the answer
        text = text.partition(_THOUGHTS_END)[2]
    start = text.find("{")
    if start < 0:
        raise UnusableError("it is not JSON")
    try:
        found, _ = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        raise UnusableError("it is not JSON") from None
    assert isinstance(found, dict)  # what begins with a brace
    return found


def _no_constant(_: str) -> float:
    raise ValueError("JSON has no such number")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def list_in(answer: Answer, field: str, *, most: int) -> list[Any]:
    """Return a list of at most so many."""
    found = answer.get(field)
    if not isinstance(found, list) or len(found) > most:
        raise UnusableError(f"'{field}' is no list of at most {most}")
    return found


def places_in(answer: Answer, field: str, *, count: int) -> list[int]:
    """Return which of the numbered things are named, in order, each once."""
    found = [place_of(number, count) for number in list_in(answer, field, most=count)]
    if len(set(found)) < len(found):
        raise UnusableError(f"'{field}' names one of them twice")
    return sorted(found)


def place_of(number: Any, count: int) -> int:
    """Return which of the numbered things a number names, counted from 0."""
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= count:
        raise UnusableError("it names what was not asked about")
    return number - 1


def share_in(answer: Answer, field: str) -> float:
    """Return a number from 0 to 1."""
    found = answer.get(field)
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise UnusableError(f"'{field}' is no number")
    if not 0 <= found <= 1:
        raise UnusableError(f"'{field}' is not from 0 to 1")
    return float(found)


def names_in(answer: Answer, field: str, *, most: int) -> tuple[str, ...]:
    """Return names, each once."""
    found = [fitting_text(name, PLANNED_TEXT_BYTES) for name in list_in(answer, field, most=most)]
    return _checked(lambda: checked_names(found, field, limit=most))


def label_in(answer: Answer, field: str) -> str:
    """Return a few words in one line."""
    return one_line(text_in(answer, field, limit=PLANNED_LABEL_BYTES))


def text_in(answer: Answer, field: str, *, limit: int = PLANNED_TEXT_BYTES) -> str:
    """Return a text that has to be there."""
    return fitting_text(answer.get(field), limit)


def optional_text(answer: Answer, field: str) -> str | None:
    """Return a text, or None where there is none."""
    found = answer.get(field)
    if found is None or (isinstance(found, str) and not found.strip()):
        return None
    return fitting_text(found, PLANNED_TEXT_BYTES)


def fitting_text(found: Any, limit: int) -> str:
    """Return a text within its limit, without what no store keeps."""
    if not isinstance(found, str):
        raise UnusableError("a text is missing")
    text = _checked(lambda: cleaned_text(found, "text", limit=limit))
    if not text:
        raise UnusableError("a text is empty")
    return text


def _checked(check: Callable[[], T]) -> T:
    """Return what a check returns; a field that is not as our own fields are is unusable."""
    try:
        return check()
    except InvalidInputError:
        raise UnusableError("a field is not what was asked for") from None
