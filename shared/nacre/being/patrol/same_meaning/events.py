"""The event that an English sentence describes, without the order of its parts.

An event is the words of the main clause, and a set of units that may stand before or behind it:
times, fixed places, and clauses such as "because it rained". A sentence is an event only if every
word of the main clause has a place, and no part of it can claim a unit: no second verb, no negation
or quantity that reaches it, no noun with a time of its own.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from nacre.being.patrol.same_meaning import english_words as en
from nacre.being.patrol.same_meaning import event_words as ev
from nacre.being.patrol.same_meaning.main_clause import MainClause, main_clause
from nacre.being.patrol.same_meaning.phrases import is_amount, is_name, noun_phrase
from nacre.being.patrol.same_meaning.rewordings import reworded
from nacre.being.patrol.same_meaning.sentences import Sentence
from nacre.being.patrol.same_meaning.times import time

_MAX_WORDS = 30


class Event(NamedTuple):
    """The words of a main clause, and the set of units that stand around it."""

    words: Sentence
    around: frozenset[Sentence]


@lru_cache(2048)
def events(words: Sentence, people: frozenset[str]) -> frozenset[Event]:
    """Return the events that a sentence may describe; at least the one of all its words."""
    words = _with_on(words)
    readings = {Event(words, frozenset())}
    if len(words) > _MAX_WORDS or ev.FOCUS & {*words}:
        return frozenset(readings)
    for around, body in _framings(words):
        for core in reworded(body, people):
            readings.add(Event(core, around))
    readings |= {Event((), halves) for halves in _halves(words)}
    return frozenset(readings)


def _with_on(words: Sentence) -> Sentence:
    """Return "the bus runs on Sundays" for "the bus runs Sundays"."""
    if len(words) < 4 or words[-1] not in ev.DAYS - en.WEEKDAYS or words[-2] in ev.DAY_NEEDS_ON:
        return words
    clause = main_clause(words[:-1])
    if clause is None or clause.has_object or clause.base == "be":
        return words
    return (*words[:-1], "on", words[-1])


def _halves(words: Sentence) -> Iterator[frozenset[Sentence]]:
    """Yield the clauses of "Ann likes tea and Bob likes coffee", whose order says nothing."""
    for place, word in enumerate(words):
        if word not in ("and", ";", ","):
            continue
        halves = (words[:place], words[place + 1 :])
        if all(_is_lasting(half) for half in halves) and halves[0] != halves[1]:
            yield frozenset(halves)


def _is_lasting(words: Sentence) -> bool:
    """Return whether these words are a clause in the present, about a state, without pronouns."""
    if (ev.THIRD_PERSON | ev.ADVERBS | ev.QUANTIFIED) & {*words}:
        return False
    clause = main_clause(words)
    if (
        clause is None
        or clause.times
        or clause.is_passive
        or "this" in words
        or not clause.has_subject
        or is_amount(words[-1])  # "Ann is 5 and Mia is 10 cm taller"
    ):
        return False
    is_present = "is" in words or "are" in words or bool({*words} & ev.STATIVE_THIRDS)
    return is_present and (clause.base == "be" or clause.base in ev.STATIVE)


def _framings(words: Sentence) -> Iterator[tuple[frozenset[Sentence], Sentence]]:
    """Yield each reading: the units that stand around a main clause, and its words."""
    for fronts, after in _fronts(words):
        for tails, body in _tails(after):
            outer = (*fronts, *tails)
            if "," in body or ";" in body:
                if not outer:
                    yield frozenset(), body
                continue
            clause = main_clause(body)
            if clause is None:
                if not outer:
                    yield frozenset(), body
                continue
            around = frozenset((*outer, *clause.times))
            if len(around) != len(outer) + len(clause.times):
                continue
            if all(_may_stand_beside(unit, clause) for unit in around):
                yield around, clause.words
            elif not outer:
                yield frozenset(), body


def _fronts(words: Sentence) -> Iterator[tuple[tuple[Sentence, ...], Sentence]]:
    yield (), words
    end = time(words, 0)
    if end:
        first = (words[:end],)
        after = _without_comma(words[end:])
        yield first, after
        second = time(after, 0)
        if second:
            yield (*first, after[:second]), _without_comma(after[second:])
    elif end := _circumstance(words):
        yield (words[:end],), _without_comma(words[end:])
    elif words[:2] in ev.FIXED_PLACES:
        yield (words[:2],), _without_comma(words[2:])
    elif _conjunction(words):
        place = words.index(",") if "," in words else _only_end(words)
        if place and _is_aside(words[:place]):
            yield (words[:place],), _without_comma(words[place:])
    elif words[0] == "to" and "," in words and words[1:2] and words[1] in en.BASES:
        comma = words.index(",")
        yield (words[:comma],), words[comma + 1 :]


def _only_end(words: Sentence) -> int:
    """Return the end of the clause at the beginning; 0 if the main clause may begin elsewhere.

    "When Ann left Bob Smith called" has two readings.
    """
    ends: list[int] = []
    phrase_end = 0  # of the phrase that a main clause may begin with
    for place in range(_conjunction(words) + 2, len(words) - 1):
        if place < phrase_end or not _is_aside(words[:place]):
            continue
        if any(main_clause(body) is not None for _, body in _tails(words[place:])):
            ends.append(place)
            has_article = words[place] in ev.DETERMINERS
            if has_article and len(ends) == 1:
                phrase_end = noun_phrase(words, place)
    if len(ends) != 1:
        return 0
    end = ends[0]
    if is_name(words[end]) and words[end - 1] in en.AGENTS | ev.RELATIVES | en.TITLES:
        return 0  # "If Eve pays the nurse Bob leaves"
    is_divisible = any(_begins_clause(words, place) for place in range(end + 1, phrase_end))
    return 0 if is_divisible else end


def _begins_clause(words: Sentence, place: int) -> bool:
    """Return whether a clause without an article may begin inside a phrase."""
    is_bare = is_name(words[place]) or noun_phrase(words, place) == place + 1
    return is_bare and any(main_clause(body) is not None for _, body in _tails(words[place:]))


def _without_comma(words: Sentence) -> Sentence:
    return words[1:] if words[:1] == (",",) else words


def _tails(words: Sentence) -> Iterator[tuple[tuple[Sentence, ...], Sentence]]:
    yield (), words
    for place in range(2, len(words) - 1):
        tail = words[place:]
        if (
            (_conjunction(tail) and _is_aside(tail))
            or _circumstance(tail) == len(tail)
            or (tail[0] == "to" and tail[1] in en.BASES and not {",", "to"} & {*tail[1:]})
        ):
            body = words[:place]
            yield (tail,), body[:-1] if body[-1] == "," else body


def _conjunction(words: Sentence) -> int:
    """Return the number of words at the beginning that are a conjunction."""
    if words[:3] == ("as", "soon", "as"):
        return 3
    return 1 if words[:1] and words[0] in ev.CONJUNCTIONS else 0


def _is_aside(words: Sentence) -> bool:
    """Return whether these words are one clause with its conjunction."""
    size = _conjunction(words)
    clause = words[size:]
    if (
        len(clause) < 2
        or ev.CONJUNCTIONS & {*clause}
        or {",", ";", "that", "and", "or"} & {*clause}
    ):
        return False
    verbs = [word for word in clause[1:] if word in ev.VERB_FORMS or word in ev.AUXILIARIES]
    return bool(verbs)


def _circumstance(words: Sentence) -> int:
    """Return the end of a circumstance such as "because of the noise" at the beginning."""
    for opening in ev.CIRCUMSTANCES:
        if words[: len(opening)] == opening:
            return noun_phrase(words, len(opening))
    return 0


def _may_stand_beside(unit: Sentence, clause: MainClause) -> bool:
    body = clause.words
    low = {*body}
    if clause.base in ev.FEELINGS:
        return False
    if unit[0] == "to" and unit not in ev.FIXED_PLACES:
        return _may_have_purpose(unit, clause) and not (low & (ev.NEGATIVE | ev.QUANTIFIED))
    if not _conjunction(unit) or _circumstance(unit):
        return _may_take_time(unit, clause, low)
    if unit[0] not in ev.FREE and low & (ev.NEGATIVE | ev.QUANTIFIED):
        return False
    if clause.has_object and unit[0] in ev.TIMED and clause.base in ev.DEPICTING:
        return False
    if unit[0] in ("if", "when", "whenever") and (
        (clause.base in ev.ASKING and not clause.is_passive) or ev.UNSURE_STATES & low
    ):
        return False  # "Ann checked if Bob came"
    if body[-1] in en.TIME_NOUNS | (ev.ADVERBS - ev.HERE) | en.EVENTS | ev.BEFORE_A_CLAUSE:
        return False
    return _refer_alike(unit, clause)


def _may_have_purpose(unit: Sentence, clause: MainClause) -> bool:
    """Return whether "to" and a verb can only be the purpose of the subject.

    After an object, it may be what the object does ("paid Bob to leave") or is for ("a book to
    read").
    """
    body = clause.words
    if clause.base in ev.NO_PURPOSE | {"be"} or clause.is_passive or unit[1] in ev.RESULTS:
        return False
    if any(first == "to" and then in en.BASES | ev.DEEDS for first, then in pairwise(body)):
        return False
    if clause.base == "use":
        return clause.has_object  # "used a knife", not "used to cook"
    return not clause.has_object or (
        len(unit) > 2 and "the" in body and bool(clause.nouns & ev.OPERATED_THINGS)
    )


def _may_take_time(unit: Sentence, clause: MainClause, low: set[str]) -> bool:
    """Return whether a time, or a fixed place, can only be about the whole clause."""
    if low & (ev.NEGATIVE | ev.QUANTIFIED) or clause.has_event:
        return False
    if clause.base in ev.DEPICTING and ev.SCENERY & clause.nouns:
        return False
    if clause.base in ev.TIMED_BY_VERB and (clause.has_object or clause.is_passive):
        return False
    if clause.base in ev.ABOUT_A_TIME and (clause.has_object or clause.is_passive):
        return False
    is_repeated = "every" in unit or any(word.endswith("days") for word in unit)
    is_any = clause.has_indefinite or clause.has_amount or bool(low & ev.INDEFINITE)
    return not (is_repeated and is_any)  # the same one each time, or another


def _refer_alike(aside: Sentence, clause: MainClause) -> bool:
    """Return whether pronouns, and nouns with an article, mean the same in either order."""
    body = clause.words
    third_in_body = ev.THIRD_PERSON & {*body}
    third_in_aside = ev.THIRD_PERSON & {*aside}
    names = any(is_name(word) for word in aside) or en.DETERMINERS & {*aside}
    if third_in_body and not third_in_aside:
        return not names and (len(third_in_body) == 1 or not third_in_body & ev.THIRD_SUBJECTS)
    if {"a", "an"} & {*aside} and {"the", "this", "that"} & {*body}:
        return False  # "when a guest came, the man left"
    if "it" in third_in_aside:
        is_weather = aside[1] == "it" and (aside[2] in ev.WEATHER or aside[2:] in ev.IT_IS)
        return is_weather and len(third_in_aside) == 1 and not third_in_body
    if not third_in_aside:
        return True
    others = [
        word
        for place, word in enumerate(body[1:], start=1)
        if is_name(word) and body[place - 1] not in ("in", "to", "from", "at")
    ]
    is_one = is_name(body[0]) and not others and not third_in_body & ev.THIRD_SUBJECTS
    is_thing = clause.base in ev.DONE_TO_THINGS or {*clause.nouns} <= ev.THINGS | en.EVENTS
    return is_one and (not clause.has_object or is_thing)
