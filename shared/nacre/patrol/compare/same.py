"""Whether two notes say the same, so that one memory may stand for both."""

import unicodedata
from collections.abc import Sequence
from typing import Protocol

from nacre.patrol.compare import words as en
from nacre.patrol.compare.articles import agree
from nacre.patrol.compare.reading import Reading, Sentence, has_other_capitals, plain_text, read
from nacre.patrol.compare.turning import turned
from nacre.patrol.compare.voice import same_by_voice


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
    """Whether two notes tell the same: the text, the people, and the place if both name one.

    The same on another day happened again, which is further evidence of one memory, unless
    the text means its day, as "yesterday" does.
    """
    return (
        _folded(one.actors) == _folded(other.actors)
        and same_circumstances(one, other)
        and same_text(one.action, other.action)
    )


def same_circumstances(one: Told, other: Told) -> bool:
    """Whether nothing but the text and the people keeps two notes apart."""
    if one.setting and other.setting and plain_text(one.setting) != plain_text(other.setting):
        return False
    is_other_day = bool(one.when and other.when) and not {*one.when} & {*other.when}
    return not (is_other_day and _names_a_day(one.action, other.action))


def same_text(one: str, other: str) -> bool:
    """Whether two texts are equal after normalisation, or shown to say the same."""
    first, second = read(one), read(other)
    if first.plain == second.plain:
        return not has_other_capitals(one, other)
    if "english" not in (first.language, second.language):
        return False
    return (
        "other" not in (first.language, second.language)
        and first.is_question is second.is_question
        and len(first.sentences) == len(second.sentences) > 0
        and all(
            _same_sentence(left, right, may_move=not first.is_question)
            for left, right in zip(first.sentences, second.sentences, strict=True)
        )
    )


def _same_sentence(one: Sentence, other: Sentence, *, may_move: bool) -> bool:
    if agree(one, other):
        return True
    if not may_move:
        return False
    first, second = turned(one), turned(other)
    return agree(first, second) or any(
        same_by_voice(left, right)
        for active, passive in (((one, first), (other, second)), ((other, second), (one, first)))
        for left in active
        for right in passive
    )


def _names_a_day(*texts: str) -> bool:
    readings: list[Reading] = [read(text) for text in texts]
    return any(
        word.text in en.DEICTIC or word.text in en.WEEKDAYS
        for reading in readings
        for sentence in reading.sentences
        for word in sentence
    )


def _folded(actors: Sequence[str]) -> set[str]:
    return {unicodedata.normalize("NFKC", actor).casefold() for actor in actors}
