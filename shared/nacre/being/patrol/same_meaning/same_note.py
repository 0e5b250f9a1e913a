"""Whether two notes say the same, so that one memory may stand for both."""

import unicodedata
from collections.abc import Sequence
from typing import Protocol

from nacre.being.patrol.same_meaning.clause_order import turned
from nacre.being.patrol.same_meaning.sentences import is_english, plain_text, read, without_articles
from nacre.being.patrol.same_meaning.timeless import holds_on_any_day
from nacre.being.patrol.same_meaning.voice import same_by_voice


class Told(Protocol):
    """What was noted of an event: a scene, or the memory that came of it."""

    @property
    def action(self) -> str:
        """Return what happened."""
        ...

    @property
    def actors(self) -> Sequence[str]:
        """Return who was involved."""
        ...

    @property
    def when(self) -> Sequence[str]:
        """Return the days, as YYYY-MM-DD."""
        ...

    @property
    def setting(self) -> str | None:
        """Return where or in what context."""
        ...


def same_event(one: Told, other: Told) -> bool:
    """Whether two notes tell the same: the text, the people, the day, and the place.

    The place counts if both notes have one. Another day is another event, unless nothing in
    the text can depend on the day.
    """
    people = _folded(one.actors)
    return (
        people == _folded(other.actors)
        and same_circumstances(one, other)
        and same_text(one.action, other.action, people)
    )


def same_circumstances(one: Told, other: Told) -> bool:
    """Whether nothing but the text and the people keeps two notes apart."""
    if one.setting and other.setting and plain_text(one.setting) != plain_text(other.setting):
        return False
    is_other_day = bool(one.when and other.when) and not {*one.when} & {*other.when}
    return not is_other_day or (holds_on_any_day(one.action) and holds_on_any_day(other.action))


def same_text(one: str, other: str, people: frozenset[str] = frozenset()) -> bool:
    """Whether two texts are equal after normalisation, or a rule shows that they say the same.

    `people` are names in lower case, beside the common first names, that may stand after "by".
    """
    if plain_text(one) == plain_text(other):
        return True
    first, second = read(one), read(other)
    if first is None or second is None or not (is_english(one) or is_english(other)):
        return False
    left, right = turned(first), turned(second)
    return any(
        short in (full, without_articles(full)) or same_by_voice(short, full, people)
        for short, full in ((left, right), (right, left))
    )


def _folded(actors: Sequence[str]) -> frozenset[str]:
    return frozenset(unicodedata.normalize("NFKC", actor).casefold() for actor in actors)
