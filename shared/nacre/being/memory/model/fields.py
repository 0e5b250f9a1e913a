"""Checks of the texts, names, numbers and dates of a memory; errors name field and limit."""

import math
import re
import unicodedata
from collections.abc import Sequence
from datetime import date
from typing import TypeVar

from nacre.being.memory.model.types import SceneText
from nacre.core.errors import InvalidInputError
from nacre.core.lazy_dataclasses import replace
from nacre.core.limits import (
    MAX_ACTION_BYTES,
    MAX_ACTORS,
    MAX_DATES,
    MAX_FEELING_BYTES,
    MAX_SETTING_BYTES,
    MAX_TAG_LENGTH,
    MAX_THEMES,
)

S = TypeVar("S", bound=SceneText)

_MOST_BYTES = 12  # of UTF-8: NFC makes up to three characters of one

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def checked_text(text: str, field: str, *, limit: int) -> str:
    """Return the text in NFC, stripped; `limit` is in bytes of UTF-8."""
    text = unicodedata.normalize("NFC", _valid(text, field)).strip()
    if not text:
        raise InvalidInputError(f"'{field}' is empty; say something or leave it out")
    size = len(text.encode())
    if size > limit:
        raise InvalidInputError(f"'{field}' has {size} bytes and its limit is {limit}; shorten it")
    return text


def optional_text(text: str | None, field: str, *, limit: int) -> str | None:
    """Return the text as `checked_text` does; None for one that is absent or blank."""
    if text is None or not text.strip():
        return None
    return checked_text(text, field, limit=limit)


def cleaned_text(text: str, field: str, *, limit: int | None = None) -> str:
    """Return a text from outside without control characters; "" if nothing else is in it.

    Terminal output has such characters, and a history that refused them would have gaps. Without
    a limit in bytes, the caller knows that the text is not too long.
    """
    if limit is None:
        limit = len(text) * _MOST_BYTES
    plain = _CONTROL.sub("", text.encode(errors="replace").decode())
    return checked_text(plain, field, limit=limit) if plain.strip() else ""


def checked_name(text: str, field: str, *, limit: int = MAX_TAG_LENGTH) -> str:
    """Return a name or a key as one line in NFC; `limit` is in characters."""
    name = " ".join(unicodedata.normalize("NFC", _valid(text, field)).split())
    if not name:
        raise InvalidInputError(f"'{field}' is empty")
    if len(name) > limit:
        raise InvalidInputError(
            f"'{field}' has {len(name)} characters and its limit is {limit}; shorten it"
        )
    return name


def name_key(name: str) -> str:
    """Return the form that all spellings of a checked name share."""
    return unicodedata.normalize("NFC", name.casefold())


def checked_days(date_from: str | None, date_to: str | None) -> tuple[str | None, str | None]:
    """Return the first and the last day of a range; None is an open end."""
    low = checked_date(date_from, "date_from") if date_from else None
    high = checked_date(date_to, "date_to") if date_to else None
    if low and high and low > high:
        raise InvalidInputError(f"'date_from' ({low}) is after 'date_to' ({high})")
    return low, high


def checked_names(names: Sequence[str], field: str, *, limit: int) -> tuple[str, ...]:
    """Return the names in their order without repetitions; at most `limit`."""
    checked = dict.fromkeys(
        checked_name(name, f"{field}.{place}") for place, name in enumerate(names)
    )
    if len(checked) > limit:
        raise InvalidInputError(f"'{field}' has {len(checked)} entries and its limit is {limit}")
    return tuple(checked)


def checked_date(text: str, field: str) -> str:
    """Return the text if it is a calendar date, written YYYY-MM-DD."""
    if _DATE.fullmatch(text) is not None:
        try:
            date.fromisoformat(text)
        except ValueError:
            pass
        else:
            return text
    raise InvalidInputError(f"'{field}' must be a date of the calendar, written YYYY-MM-DD")


def checked_dates(dates: Sequence[str], field: str) -> tuple[str, ...]:
    """Return the dates sorted and without repetitions; at least one is needed."""
    checked = {checked_date(day, f"{field}.{place}") for place, day in enumerate(dates)}
    if not checked:
        raise InvalidInputError(f"'{field}' needs at least one date, written YYYY-MM-DD")
    if len(checked) > MAX_DATES:
        raise InvalidInputError(f"'{field}' has {len(checked)} dates and its limit is {MAX_DATES}")
    return tuple(sorted(checked))


def checked_share(number: float, field: str) -> float:
    """Return the number if it is from 0 to 1."""
    if not math.isfinite(number) or not 0 <= number <= 1:
        raise InvalidInputError(f"'{field}' must be a number from 0 to 1")
    return float(number)


def checked_scene_text(text: S, prefix: str = "") -> S:
    """Return the text with every field checked; `prefix` is the path of its fields in errors."""
    return replace(
        text,
        action=checked_text(text.action, f"{prefix}action", limit=MAX_ACTION_BYTES),
        actors=checked_names(text.actors, f"{prefix}actors", limit=MAX_ACTORS),
        when=checked_dates(text.when, f"{prefix}when"),
        setting=optional_text(text.setting, f"{prefix}setting", limit=MAX_SETTING_BYTES),
        feeling=optional_text(text.feeling, f"{prefix}feeling", limit=MAX_FEELING_BYTES),
        themes=checked_names(text.themes, f"{prefix}themes", limit=MAX_THEMES),
        importance=checked_share(text.importance, f"{prefix}importance"),
    )


def _valid(text: str, field: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInputError(f"'{field}' holds a lone surrogate, which is not text") from None
    if _CONTROL.search(text):
        raise InvalidInputError(f"'{field}' holds control characters; leave them out")
    return text
