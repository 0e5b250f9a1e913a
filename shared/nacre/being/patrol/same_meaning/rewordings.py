"""Other wordings of one clause that say the same: voice, recipients, owners, "there is"."""

from collections.abc import Iterator

from nacre.being.patrol.same_meaning import english_words as en
from nacre.being.patrol.same_meaning import event_words as ev
from nacre.being.patrol.same_meaning.phrases import (
    is_amount,
    is_name,
    is_open,
    noun_phrase,
    prepositional,
)
from nacre.being.patrol.same_meaning.sentences import Sentence
from nacre.being.patrol.same_meaning.voice import actives


def reworded(words: Sentence, people: frozenset[str]) -> Iterator[Sentence]:
    """Yield the words of a clause in each wording that the rules know."""
    plain = _plain(words)
    yield plain
    for active in actives(plain, people):
        yield _with_recipient_last(active, people) or active
    other = _with_recipient_last(plain, people) or _of_place(plain)
    if other:
        yield other


def _plain(words: Sentence) -> Sentence:
    """Return a clause in the wording to which others are rewritten."""
    words = ("the", *words) if words[:1] == ("user",) else words
    words = _on_a_day(_both(_with_owner_first(words)))
    words = _joined_particle(words)
    return _names_in_order(_without_cleft(_with_that(words)))


def _with_owner_first(words: Sentence) -> Sentence:
    """Return "my neighbour's dog" for "the dog of my neighbour"."""
    for place in range(len(words) - 3):
        first, noun, of = words[place : place + 3]
        if first != "the" or of != "of" or noun not in ev.KIN:
            continue
        owner_end = place + 3
        if words[owner_end] in en.POSSESSIVES and words[owner_end + 1 : owner_end + 2]:
            owner_end += 1
            if words[owner_end] not in ev.KIN:
                continue
        elif not (is_name(words[owner_end]) and words[owner_end].isalpha()):
            continue
        after = words[owner_end + 1] if owner_end + 1 < len(words) else ""
        if after in ("and", "of") or is_name(after):
            continue
        owner = (*words[place + 3 : owner_end], words[owner_end] + "'s")
        return (*words[:place], *owner, noun, *words[owner_end + 1 :])
    return words


def _on_a_day(words: Sentence) -> Sentence:
    """Return "the meeting is on Monday" for "the meeting is Monday"."""
    match words:
        case (first, noun, "is" | "was" as verb, day) if first in en.DETERMINERS:
            is_day = noun in en.EVENTS and day in en.WEEKDAYS
            return (first, noun, verb, "on", day) if is_day else words
        case (first, noun, "is" | "was" as verb, day, month) if first in en.DETERMINERS:
            is_day = noun in en.EVENTS and month in en.MONTHS and day.isdecimal()
            return (first, noun, verb, "on", day, month) if is_day else words
        case _:
            return words


def _both(words: Sentence) -> Sentence:
    """Return "both twins" for "both the twins"; two groups stay as they are."""
    if words[:2] != ("both", "the") or {"and", "or"} & {*words} or len(words) < 4:
        return words
    return ("both", *words[2:]) if words[2].endswith("s") else words


def _joined_particle(words: Sentence) -> Sentence:
    """Return "turned off the alarm" for "turned the alarm off"."""
    for place, word in enumerate(words[:-2]):
        end = noun_phrase(words, place + 1)
        if not end or end >= len(words) or word not in ev.PARTICLE_VERBS.get(words[end], ()):
            continue
        particle, object_ = words[end], words[place + 1 : end]
        after = words[end + 1 : end + 2]
        if object_[-1] in ev.PRONOUNS | ev.WAYS or (after and noun_phrase(words, end + 1)):
            continue
        if word.startswith(("turn", "switch")) and object_[-1] not in ev.DEVICES:
            continue
        return (*words[: place + 1], particle, *object_, *words[end + 1 :])
    return words


def _with_that(words: Sentence) -> Sentence:
    """Return "a dog that barks" for "a dog which barks"."""
    for place in range(1, len(words) - 1):
        before, word, after = words[place - 1 : place + 2]
        if word == "which" and is_open(before) and after in ev.VERB_FORMS | ev.AUXILIARIES:
            return (*words[:place], "that", *words[place + 1 :])
    return words


def _without_cleft(words: Sentence) -> Sentence:
    """Return "it is Ann who" for "it is Ann that"."""
    match words:
        case ("it", "is" | "was", name, "that", *rest) if is_name(name) and rest:
            return (*words[:3], "who", *rest)
        case _:
            return words


def _names_in_order(words: Sentence) -> Sentence:
    """Return a clause with the names that are its subject in alphabetical order."""
    names: list[str] = []
    place = 0
    while place < len(words) and is_name(words[place]) and words[place].isalpha():
        names.append(words[place])
        place += 1
        if words[place : place + 1] in ((",",), ("and",)):
            if names and words[place] == "and" and not is_name(*words[place + 1 : place + 2]):
                return words
            place += 1
        else:
            break
    if len(names) < 2 or words[place - 2] != "and" or words.count("and") != 1:
        return words
    if place >= len(words) or words[place] not in ev.VERB_FORMS | ev.AUXILIARIES:
        return words
    if any(word in ev.ORDERED or word in ev.THIRD_PERSON for word in words):
        return words
    *firsts, last = sorted(names)
    joined = [part for name in firsts for part in (name, ",")][:-1]
    return (*joined, "and", last, *words[place:])


def _with_recipient_last(words: Sentence, people: frozenset[str]) -> Sentence | None:
    """Return "gave the book to Bob" for "gave Bob the book"."""
    for place, word in enumerate(words):
        if word not in ev.GIVING and word not in ev.BUYING:
            continue
        if place and not noun_phrase(words, 0):
            return None
        taker_end = _taker(words, place + 1, people)
        if not taker_end or taker_end >= len(words):
            return None
        object_end = noun_phrase(words, taker_end)
        is_object = words[taker_end] in en.DETERMINERS or is_amount(words[taker_end])
        is_object = is_object or words[taker_end].endswith("'s")
        if not object_end or not is_object or prepositional(words, object_end):
            return None
        way = "for" if word in ev.BUYING else "to"
        taker, object_ = words[place + 1 : taker_end], words[taker_end:object_end]
        return (*words[: place + 1], *object_, way, *taker, *words[object_end:])
    return None


def _taker(words: Sentence, place: int, people: frozenset[str]) -> int:
    """Return the end of a person to whom something can be given."""
    match words[place : place + 2]:
        case (one, _) if one in en.OBJECTS and one != "her":
            return place + 1
        case (one, after) if is_name(one) and not is_name(after):
            # "sold the road to Rome" is no gift to Rome.
            name = one.lower()
            is_person = name in people or (name in en.FIRST_NAMES and name not in ev.CITIES)
            return place + 1 if is_person else 0
        case (first, noun) if first in en.DETERMINERS and (
            noun in ev.RELATIVES or (noun in en.AGENTS and first != "a")
        ):
            return place + 2
        case _:
            return 0


def _of_place(words: Sentence) -> Sentence | None:
    """Return "chairs are in the cellar" for "there are chairs in the cellar", and for others."""
    match words:
        case ("there", "is" | "are" | "was" | "were" as verb, *rest):
            object_end = noun_phrase(tuple(rest), 0)
            if not object_end or not _is_place(tuple(rest[object_end:])):
                return None
            return (*rest[:object_end], verb, *rest[object_end:])
        case _:
            pass
    end = _place_end(words)
    while end and words[end : end + 1] and words[end] in ev.PLACE_TAILS:
        tail_end = prepositional(words[end:], 0)
        if not tail_end:
            return None
        end += tail_end
    if not end:
        return None
    place, rest_words = words[:end], words[end:]
    if rest_words[:1] == (",",):
        rest_words = rest_words[1:]
    if rest_words[:1] == ("there",):
        rest_words = rest_words[1:]
    if rest_words[:1] and rest_words[0] in ("is", "are", "was", "were"):
        object_ = rest_words[1:]
        if object_ and noun_phrase(object_, 0) == len(object_):
            return (*object_, rest_words[0], *place)
    return None


def _is_place(words: Sentence) -> bool:
    if not words:
        return False
    while words:
        end = _place_end(words)
        if not end:
            return False
        words = words[end:]
    return True


def _place_end(words: Sentence) -> int:
    """Return the end of a place at the beginning of words."""
    if not words or words[0] not in ev.PLACING:
        return 0
    return prepositional(words, 0)
