"""Decides whether two notes have the same meaning, so that one memory can replace both."""

import unicodedata
from collections.abc import Sequence

from nacre.being.memory.model.types import SceneText
from nacre.being.patrol.same_meaning import english_words as en
from nacre.being.patrol.same_meaning.clause_grammar import clause, is_name, is_noun, places
from nacre.being.patrol.same_meaning.clause_order import normal_order
from nacre.being.patrol.same_meaning.events import events
from nacre.being.patrol.same_meaning.fronted_times import with_late_time
from nacre.being.patrol.same_meaning.normal_forms import normal_form
from nacre.being.patrol.same_meaning.other_orders import other_events
from nacre.being.patrol.same_meaning.sentences import (
    event_words,
    is_english,
    plain_text,
    sentence_words,
    without_articles,
)
from nacre.being.patrol.same_meaning.voice import actives, same_by_voice


def same_event(first: SceneText, second: SceneText) -> bool:
    """Return whether two notes say the same: the text, the people, the day and the place.

    The place counts if both notes have one. Another day is another event, unless nothing in the
    text can depend on the day.
    """
    people = _folded(first.actors)
    return (
        people == _folded(second.actors)
        and same_circumstances(first, second)
        and same_text(first.action, second.action, people)
    )


def same_circumstances(first: SceneText, second: SceneText) -> bool:
    """Return whether two notes may be the same event by their places and days."""
    if first.setting and second.setting and plain_text(first.setting) != plain_text(second.setting):
        return False
    is_other_day = bool(first.when and second.when) and not {*first.when} & {*second.when}
    return not is_other_day or (holds_on_any_day(first.action) and holds_on_any_day(second.action))


def same_text(first_text: str, second_text: str, people: frozenset[str] = frozenset()) -> bool:
    """Return whether two texts are equal after normalization, or a rule shows that they agree.

    `people` are names in lower case that may follow "by", besides the common first names.
    """
    if plain_text(first_text) == plain_text(second_text) or _agree(first_text, second_text, people):
        return True
    first_form, second_form = (normal_form(plain_text(text)) for text in (first_text, second_text))
    return (
        plain_text(with_late_time(first_form)) == plain_text(with_late_time(second_form))
        or (
            (first_form, second_form) != (first_text, second_text)
            and _agree(first_form, second_form, people)
        )
        or _tell_one_event(first_form, second_form, people)
        or not other_events(first_form).isdisjoint(other_events(second_form))
    )


def _tell_one_event(first_text: str, second_text: str, people: frozenset[str]) -> bool:
    """Return whether two English sentences tell one event in other orders and voices."""
    first, second = event_words(first_text), event_words(second_text)
    if first is None or second is None or not (is_english(first_text) or is_english(second_text)):
        return False
    return not events(first, people).isdisjoint(events(second, people))


def _agree(first_text: str, second_text: str, people: frozenset[str]) -> bool:
    """Return whether a rule of the English grammar shows that two texts say the same."""
    first, second = sentence_words(first_text), sentence_words(second_text)
    if first is None or second is None or not (is_english(first_text) or is_english(second_text)):
        return False
    first_order, second_order = normal_order(first), normal_order(second)
    return any(
        short in (long, without_articles(long)) or same_by_voice(short, long, people)
        for short, long in ((first_order, second_order), (second_order, first_order))
    )


def _folded(actors: Sequence[str]) -> frozenset[str]:
    return frozenset(unicodedata.normalize("NFKC", actor).casefold() for actor in actors)


def holds_on_any_day(text: str) -> bool:
    """Return whether nothing in a text can depend on the day.

    "Ann came back yesterday" means another day each time. No list has all words for days, in all
    languages and spellings. So the text must be one English clause of a known form, in which every
    word has a place that no time can take.
    """
    words = sentence_words(text)
    if words is None or not _has_only_people(words):
        return False
    with_subject = ("I", *words) if words[:1] and words[0] in en.PASTS_OF else words
    if any(_is_deed(clause_) for clause_ in (with_subject, *actives(words, frozenset()))):
        return is_english(text)
    match words:
        case (name, "is", "a" | "an", noun, *rest) if is_name(name) and is_noun(noun):
            return places(tuple(rest), 0) == len(rest)
        case (name, "is", "allergic", "to", noun) if is_name(name):
            return is_noun(noun)
        case (name, verb, noun) if is_name(name) or name == "user":
            return verb in ("likes", "loves", "hates", "prefers") and is_noun(noun)
        case ("user", "prefers", adjective, noun):
            return adjective in en.ADJECTIVES and is_noun(noun)
        case _:
            return False


def _is_deed(words: Sequence[str]) -> bool:
    """Return whether these words are a clause about a deed: no state, no plan and no hour."""
    parts = clause(words)
    hours = {"will", "noon", "midnight", *en.NUMBERS}
    return parts is not None and parts.verb != "be" and not hours & {*words}


def _has_only_people(words: Sequence[str]) -> bool:
    """Return whether each capitalized word is a first name, or follows "to", "from" or "with".

    Other capitalized words may be holidays: "Ann left Easter".
    """
    return all(
        word.islower()
        or word == "I"
        or word.removesuffix("'s").lower() in en.FIRST_NAMES
        or (place > 0 and words[place - 1] in ("to", "from", "with"))
        for place, word in enumerate(words)
    )
