"""The grammar of the clauses that the rules may rewrite: small, with closed lists of words.

A clause is a subject, a verb of the list, and at most an object and two places. A word without a
place in the grammar makes the whole clause unknown, so no rule changes it.
"""

from collections.abc import Sequence
from typing import NamedTuple

from nacre.being.patrol.same_meaning import english_words as en


class Clause(NamedTuple):
    """The parts of a clause."""

    verb: str  # its base form; "be" before an adjective
    has_object: bool
    ends_in_noun: bool  # a phrase behind it could belong to that noun


def clause(words: Sequence[str], *, is_aside: bool = False) -> Clause | None:
    """Return the parts of a clause; None if any word has no place in the grammar.

    A clause after a conjunction (`is_aside`) may also describe a state, and end in a time.
    """
    place = noun_phrase(words, 0, subject=True)
    if not place or place >= len(words):
        return None
    if words[place] in ("is", "are", "am", "was", "were"):
        return _be_clause(words[place + 1 :], is_aside=is_aside)
    base = ""
    if words[place] == "will" and place + 1 < len(words):
        place += 1
        base = words[place] if words[place] in en.CLAUSE_VERBS else ""
    else:
        base = en.CLAUSE_FORMS.get(words[place], "")
    if not base:
        return None
    place += 1
    verb_end = place
    after_object = noun_phrase(words, place)
    if after_object:
        place = after_object
    has_object = place > verb_end
    place_end = places(words, place)
    if is_aside and place_end < len(words) and words[place_end:] in _TIMES:
        place_end = len(words)
    if place_end != len(words):
        return None
    ends_in_noun = (has_object or place_end > place) and words[-1] not in en.MANNERS
    return Clause(base, has_object, ends_in_noun)


def _be_clause(words: Sequence[str], *, is_aside: bool) -> Clause | None:
    if len(words) == 1:
        is_free = is_aside and words[0].islower() and words[0] not in en.FUNCTION
        if not (is_free or words[0] in en.STATES):
            return None
    elif not (is_aside and words and places(words, 0) == len(words)):
        return None
    return Clause("be", has_object=False, ends_in_noun=True)


_TIMES = [("today",), ("yesterday",), ("tomorrow",)]


def places(words: Sequence[str], place: int) -> int:
    """Return the end of up to two phrases such as "to Rome" or "at home"."""
    for _ in range(2):
        is_hour = (
            words[place : place + 1] == ("at",)
            and words[place + 1 :]
            and (words[place + 1] in en.NUMBERS)
        )
        if is_hour or words[place : place + 2] in _FIXED:
            place += 2
        elif place < len(words) and words[place] in en.MANNERS:
            place += 1
        elif place < len(words) and words[place] in ("in", "at", "on", "to", "with", "from"):
            end = noun_phrase(words, place + 1)
            if not end or words[place + 1] == "I":
                return place
            place = end
    return place


_FIXED = {
    ("at", "home"),
    ("at", "school"),
    ("at", "work"),
    ("to", "work"),
    ("to", "bed"),
    ("in", "bed"),
    ("at", "noon"),
    ("at", "midnight"),
}


def noun_phrase(words: Sequence[str], place: int, *, subject: bool = False) -> int:
    """Return the end of the noun phrase at a place; 0 if there is none.

    It is a name, a pronoun of the two speakers, or an article or possessive with a noun. Times,
    numbers and quantities are excluded, and so are "he" and "her", who may be somebody else.
    """
    first = words[place] if place < len(words) else ""
    if first in (("I", "we", "you") if subject else ("me", "us", "you")):
        return place + 1
    if not subject and first in en.BARE:
        return place + 1
    if subject and first == "it" and words[place + 1 : place + 2] in _WEATHER:
        return place + 1
    if is_name(first):
        if words[place + 1 : place + 2] == ("and",) and is_name(*words[place + 2 : place + 3]):
            return place + 3
        return place + 1
    if first in ("the", "a", "an", "my", "our", "your") or is_name(first.removesuffix("'s")):
        place += 1
        while place < len(words) and words[place] in en.ADJECTIVES:
            place += 1
        return place + 1 if is_noun(*words[place : place + 1]) else 0
    return 0


_WEATHER = [("rains",), ("rained",), ("snows",), ("snowed",)]


def is_name(word: str = "") -> bool:
    """Return whether a word is written like a name."""
    return (
        word.isalpha()
        and word.istitle()
        and len(word) > 1
        and word.lower() not in en.FUNCTION
        and word not in en.DATED
    )


def is_noun(word: str = "") -> bool:
    """Return whether a word may be a thing or a person: no function word, time or adverb."""
    return (
        word.isalpha()
        and word.islower()
        and len(word) > 1
        and word not in en.FUNCTION
        and word not in en.TIME_NOUNS
        and not word.endswith("ly")
    )
