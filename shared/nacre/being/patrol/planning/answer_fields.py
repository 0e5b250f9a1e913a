"""The fields of a model's answer: one JSON object, with every field checked.

Many endpoints ignore the schema that they are given, and a model may have obeyed the texts that it
was asked about. So nothing is used that is not checked here.
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
_REASONING, _REASONING_END = "<think>", "</think>"


class UnusableError(Exception):
    """An answer cannot be used; the message does not quote it."""


def answer_in(text: str) -> Answer:
    """Return the JSON object in an answer, even with chat around it."""
    if text.lstrip().startswith(_REASONING):  # some servers leave it in the answer
        text = text.partition(_REASONING_END)[2]
    start = text.find("{")
    if start < 0:
        raise UnusableError("it is not JSON")
    try:
        answer, _ = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        raise UnusableError("it is not JSON") from None
    assert isinstance(answer, dict)  # because it begins with a brace
    return answer


def _no_constant(_: str) -> float:
    raise ValueError("JSON has no such number")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def list_in(answer: Answer, field: str, *, most: int) -> list[Any]:
    """Return a list with a limited number of entries."""
    value = answer.get(field)
    if not isinstance(value, list) or len(value) > most:
        raise UnusableError(f"'{field}' is not a list of at most {most}")
    return value


def places_in(answer: Answer, field: str, *, count: int) -> list[int]:
    """Return the places of the numbered things that are named, sorted; each at most once."""
    places = [place_of(number, count) for number in list_in(answer, field, most=count)]
    if len(set(places)) < len(places):
        raise UnusableError(f"'{field}' names one of them twice")
    return sorted(places)


def place_of(number: Any, count: int) -> int:
    """Return the place of a numbered thing, counted from 0."""
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= count:
        raise UnusableError("it names something that was not asked about")
    return number - 1


def share_in(answer: Answer, field: str) -> float:
    """Return a number from 0 to 1."""
    value = answer.get(field)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnusableError(f"'{field}' is not a number")
    if not 0 <= value <= 1:
        raise UnusableError(f"'{field}' is not from 0 to 1")
    return float(value)


def names_in(answer: Answer, field: str, *, most: int) -> tuple[str, ...]:
    """Return names without repetitions."""
    names = [fitting_text(name, PLANNED_TEXT_BYTES) for name in list_in(answer, field, most=most)]
    return _checked(lambda: checked_names(names, field, limit=most))


def label_in(answer: Answer, field: str) -> str:
    """Return a few words on one line."""
    return one_line(text_in(answer, field, limit=PLANNED_LABEL_BYTES))


def text_in(answer: Answer, field: str, *, limit: int = PLANNED_TEXT_BYTES) -> str:
    """Return a text that must be present."""
    return fitting_text(answer.get(field), limit)


def optional_text(answer: Answer, field: str) -> str | None:
    """Return a text, or None if there is none."""
    value = answer.get(field)
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    return fitting_text(value, PLANNED_TEXT_BYTES)


def fitting_text(value: Any, limit: int) -> str:
    """Return a text within its limit, without characters that no store keeps."""
    if not isinstance(value, str):
        raise UnusableError("a text is missing")
    text = _checked(lambda: cleaned_text(value, "text", limit=limit))
    if not text:
        raise UnusableError("a text is empty")
    return text


def _checked(check: Callable[[], T]) -> T:
    """Return the result of a check; raises UnusableError if it fails."""
    try:
        return check()
    except InvalidInputError:
        raise UnusableError("a field is not what was asked for") from None
