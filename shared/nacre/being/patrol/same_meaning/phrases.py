"""The phrases of an English sentence: nouns with the words that belong to them.

A function returns the end of the phrase that begins at a place; 0 if there is none. A word that
could be a verb is part of a noun phrase only where no verb can stand.
"""

from collections.abc import Sequence

from nacre.being.patrol.same_meaning import english_words as en
from nacre.being.patrol.same_meaning import event_words as ev

_MAX_NOUNS = 4


def noun_phrase(words: Sequence[str], place: int) -> int:
    """Return the end of a noun phrase, with "of" and what follows it, and with "and"."""
    end = _one(words, place)
    while end and words[end : end + 1] == ("of",):
        after = _one(words, end + 1)
        if not after:
            return 0
        end = after
    if end and words[end : end + 1] == ("and",) and is_name(*words[end - 1 : end]):
        after = end + 1
        if is_name(*words[after : after + 1]):
            end = after + 1
    return end


def _one(words: Sequence[str], place: int) -> int:
    first = words[place] if place < len(words) else ""
    if first in ev.PRONOUNS:
        return place + 1
    start = place
    while place < len(words) and (words[place] in ev.DETERMINERS or is_amount(words[place])):
        place += 1
    if words[start:place] == (*words[start : start + 1],) and words[place : place + 1] == ("of",):
        return place if is_amount(first) else 0
    return _nouns(words, place, start)


def _nouns(words: Sequence[str], place: int, start: int) -> int:
    begin, count = place, 0
    after_name = False
    while place < len(words) and count <= _MAX_NOUNS:
        word = words[place]
        is_first = place == begin and begin > start
        if word.endswith(("'s", "s'")) and word[0].isalpha():
            begin, start, count = place + 1, place, 0
            after_name = False
            place += 1
            continue
        if is_name(word):
            if count and not after_name and words[place - 1] not in ev.RELATIVES:
                break
            after_name = True
        elif after_name and word[:1].isdigit():
            pass
        elif (after_name and count > 1) or not _is_noun(words, place, is_first=is_first):
            break
        else:
            after_name = False
        count += 1
        place += 1
    if count > _MAX_NOUNS:
        return 0
    if not count and place > start and place == begin:
        return place if is_amount(words[place - 1]) else 0
    return place if count else 0


def _is_noun(words: Sequence[str], place: int, *, is_first: bool) -> bool:
    word = words[place]
    if not is_open(word):
        return is_first and word == "back"
    if is_first:
        return word not in ev.FINITE_ONLY
    if word in ev.GERUNDS:
        return True
    if word in ev.VERB_FORMS or word.endswith(("ed", "ing")):
        before = words[place - 1] if place else ""
        is_base = word in en.BASES and word not in ev.PASTS
        if before in ev.PREPOSITIONS or before == "of":
            return is_base
        return is_base and is_open(before) and not before.endswith("s")
    return True


def is_open(word: str) -> bool:
    """Return whether a word is neither a name nor a function word, a time or an adverb."""
    return (
        word[:1].islower()
        and word.replace("-", "").isalpha()
        and word not in en.FUNCTION
        and word not in ev.ADVERBS
        and word not in ev.PARTICLES
        and word not in ev.PREPOSITIONS
        and word not in en.TIME_NOUNS
        and (not word.endswith("ly") or word in ev.NOUNS_IN_LY)
    )


def is_name(word: str = "") -> bool:
    """Return whether a word is a name: it has a capital and is not a time."""
    return (
        word[:1].isupper()
        and word.replace(".", "").replace("-", "").isalnum()
        and word not in en.DATED
        and word not in ev.FEASTS
        and word != "I"
    )


def is_amount(word: str = "") -> bool:
    """Return whether a word is a number, with or without a sign of money or a unit."""
    return word in en.NUMBERS or word.lstrip("$€£")[:1].isdigit()


def prepositional(words: Sequence[str], place: int) -> int:
    """Return the end of a preposition with its noun phrase."""
    if words[place : place + 1] == ("as",) and words[place + 1 : place + 2] in (("a",), ("an",)):
        return noun_phrase(words, place + 1)
    if place >= len(words) or words[place] not in ev.PREPOSITIONS:
        return 0
    if words[place : place + 2] in ev.FIXED_PLACES:
        return place + 2
    return noun_phrase(words, place + 1)
