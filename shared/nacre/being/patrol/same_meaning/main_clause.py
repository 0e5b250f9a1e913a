"""The main clause of an English sentence: a subject, a verb of the list, and what follows it."""

from collections.abc import Sequence
from typing import NamedTuple

from nacre.being.patrol.same_meaning import english_words as en
from nacre.being.patrol.same_meaning import event_words as ev
from nacre.being.patrol.same_meaning.phrases import (
    is_amount,
    is_open,
    noun_phrase,
    prepositional,
)
from nacre.being.patrol.same_meaning.sentences import Sentence
from nacre.being.patrol.same_meaning.times import duration, time


class MainClause(NamedTuple):
    """The parts of a main clause."""

    words: Sentence  # without its times
    times: tuple[Sentence, ...]
    base: str  # of its verb; "be" before an adjective or a place
    is_passive: bool
    has_subject: bool
    has_object: bool
    nouns: frozenset[str]  # the heads of the phrases after the verb
    has_event: bool  # among its nouns after the verb, so that a time may belong to it
    has_indefinite: bool  # "a" or "an" after the verb, or in the subject
    has_amount: bool


class _Verb(NamedTuple):
    end: int
    base: str
    is_passive: bool


def main_clause(words: Sentence) -> MainClause | None:
    """Return the parts of a clause; None if a word has no place in it."""
    start = _subject(words)
    if start is None:
        return None
    verb = _verb(words, start)
    if verb is None:
        return None
    rest = _rest(words, verb)
    if rest is None:
        return None
    timeless = tuple(word for place, word in enumerate(words) if place not in rest.places)
    return MainClause(
        words=timeless,
        times=rest.times,
        base=verb.base,
        is_passive=verb.is_passive,
        has_subject=start > 0,
        has_object=rest.has_object,
        nouns=frozenset(rest.nouns),
        has_event=not ev.LATER.isdisjoint(rest.nouns),
        has_indefinite=rest.has_object and bool({"a", "an"} & {*timeless}),
        has_amount=any(is_amount(word) for word in timeless),
    )


def _subject(words: Sentence) -> int | None:
    """Return the end of the subject: 0 for an order or a note without one."""
    first = words[0] if words else ""
    if first == "there":
        return None
    if first in en.BASES and first in ev.DEEDS and first not in ev.PASTS and _is_order(words):
        return 0
    if first in ev.PAST_DEEDS and words[1:2] and words[1] in ev.DETERMINERS:
        return 0
    end = noun_phrase(words, 0)
    while end:
        after = prepositional(words, end)
        if not after:
            break
        end = after
    return end or None


def _is_order(words: Sentence) -> bool:
    after = words[1] if len(words) > 1 else ""
    return (
        after in ev.DETERMINERS
        or after in ev.PREPOSITIONS
        or after in ev.PARTICLES
        or after[:1].isupper()
        or after[:1].isdigit()
        or after in ("me", "us", "it", "him", "them")
    )


def _verb(words: Sentence, start: int) -> _Verb | None:
    """Return the verb: helpers, and one verb of doing; or a form of "be"."""
    place = start
    helpers: list[str] = []
    while place < len(words) and (
        words[place] in ev.AUXILIARIES or words[place] in ("not", "never", "be", "been", "being")
    ):
        if words[place] in ("have", "has", "had") and not _is_perfect(words, place + 1):
            break
        helpers.append(words[place])
        place += 1
    main = words[place] if place < len(words) else ""
    last = [word for word in helpers if word not in ("not", "never")][-1:]
    if last and last[0] in ev.BE:
        if main in ev.PASSIVES:
            return _Verb(place + 1, ev.PASSIVES[main], is_passive=True)
        if main in ev.ING_DEEDS:
            return _Verb(place + 1, ev.ING_DEEDS[main], is_passive=False)
        return (
            None
            if main in ev.VERB_FORMS and main != "open"
            else _Verb(place, "be", is_passive=False)
        )
    if last and last[0] in ("has", "have", "had"):
        base = ev.PARTICIPLES.get(main, "")
    elif last or not start:
        base = (
            main
            if main in ev.DEEDS | ev.FEELINGS
            else ev.PAST_DEEDS.get(main, "")
            if not last
            else ""
        )
    elif words[0] in ("I", "we", "you", "they") or words[start - 1].endswith("s"):
        base = ev.PAST_DEEDS.get(main, main if main in ev.DEEDS | ev.FEELINGS else "")
        base = base or ev.THIRD_DEEDS.get(main, "")
    else:
        base = ev.PAST_DEEDS.get(main, "") or ev.THIRD_DEEDS.get(main, "")
        if "and" in words[:start]:
            base = base or (main if main in ev.DEEDS | ev.FEELINGS else "")
    return _Verb(place + 1, base, is_passive=False) if base else None


def _is_perfect(words: Sequence[str], place: int) -> bool:
    while place < len(words) and words[place] in ("not", "never"):
        place += 1
    return place < len(words) and (words[place] in ev.PARTICIPLES or words[place] == "been")


class _Rest(NamedTuple):
    """The words behind a verb."""

    times: tuple[Sentence, ...]
    places: frozenset[int]  # of the words of the times
    nouns: tuple[str, ...]  # the last words of phrases
    has_object: bool


def _rest(words: Sentence, verb: _Verb) -> _Rest | None:
    """Return the parts behind the verb; None if a word belongs to none."""
    place = verb.end
    times: list[Sentence] = []
    places: set[int] = set()
    nouns: list[str] = []
    has_object = False
    if verb.base == "be":
        place = _predicate(words, place)
    while place < len(words):
        if end := time(words, place) or _fixed_place(words, place):
            times.append(words[place:end])
            places.update(range(place, end))
        elif end := duration(words, place) or _adverb(words, place, verb):
            pass
        elif end := prepositional(words, place):
            nouns.append(words[end - 1])
        elif (end := noun_phrase(words, place)) and verb.base != "be":
            has_object = True
            nouns.append(words[end - 1])
        else:
            return None
        place = end
    if verb.base == "be" and verb.end == len(words):
        return None
    return _Rest(tuple(times), frozenset(places), tuple(nouns), has_object)


def _fixed_place(words: Sentence, place: int) -> int:
    return place + 2 if words[place : place + 2] in ev.FIXED_PLACES else 0


def _adverb(words: Sentence, place: int, verb: _Verb) -> int:
    """Return the end of "up", "twice", "married" after "got", or "smoking" after "gave up"."""
    word = words[place]
    is_adverb = (
        word in ev.PARTICLES
        or word in ev.ADVERBS
        or (word in ev.GERUNDS and words[place - 1] in ev.PARTICLES)
        or (verb.base == "get" and word in ev.MARRIED)
    )
    return place + 1 if is_adverb else 0


def _predicate(words: Sentence, place: int) -> int:
    """Return the end of up to two adjectives after "be", or of a noun phrase."""
    start = place
    while place < len(words) and place - start < 2 and is_open(words[place]):
        place += 1
    if place - start == 2 and words[start].endswith("ed"):
        return start  # "was granted leave", and the time may be the one of the leave
    return place if place > start else noun_phrase(words, place) or place
