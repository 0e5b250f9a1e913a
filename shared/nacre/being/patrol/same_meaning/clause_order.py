"""The normal order of clauses: a time or a clause before the main clause moves to the end.

This applies only if the grammar knows every word of the main clause. So the moved words cannot
belong to another verb, a noun, a negation or a quantity. No word changes, and nothing else moves.
"""

from nacre.being.patrol.same_meaning import english_words as en
from nacre.being.patrol.same_meaning.clause_grammar import clause, is_name, is_noun
from nacre.being.patrol.same_meaning.event_words import ASKING, CITIES, INDEFINITE
from nacre.being.patrol.same_meaning.sentences import Sentence

_TIMED = frozenset(("when", "whenever", "before", "after", "since", "until"))
_CONJUNCTIONS = _TIMED | {"while", "if", "unless", "because", "although"}
_SOON = ("as", "soon", "as")


def normal_order(words: Sentence) -> Sentence:
    """Return a sentence in the order that the rules compare."""
    return _with_on(
        _front_clause(words) or _front_time(words) or _with_recipient_last(words) or words
    )


def _front_clause(words: Sentence) -> Sentence | None:
    """Return "Ann left when Bob came" for "when Bob came, Ann left"."""
    if words.count(",") != 1:
        return None
    comma = words.index(",")
    aside, main_words = words[:comma], words[comma + 1 :]
    if main_words[:1] == ("then",) and aside[:1] == ("if",):
        main_words = main_words[1:]
    size = 3 if aside[:3] == _SOON else 1
    if size == 1 and aside[:1] not in [(word,) for word in _CONJUNCTIONS]:
        return None
    if aside[size : size + 1] == ("it",):  # the weather, so "they" can mean nobody else
        main_words = _as_we(main_words)
    main = clause(main_words)
    if main is None or clause(aside[size:], is_aside=True) is None or {"a", "an"} & {*words}:
        return None
    if aside[0] in _TIMED and not _takes_time(main.verb, main_words):
        return None
    if aside[0] in ("if", "when", "whenever") and main.verb in ASKING and not main.has_object:
        return None  # "Ann read when the shop opens"
    return (*words[len(words) - len(main_words) :], *aside)


def _takes_time(verb: str, words: Sentence) -> bool:
    """Return whether a time after the clause says when it happened, not what it is about."""
    return verb not in en.ABOUT_A_TIME and words[-1] not in en.EVENTS


def _front_time(words: Sentence) -> Sentence | None:
    """Return "Ann left on Monday" for "on Monday, Ann left"."""
    for size in (4, 3, 2, 1):
        time, main_words = words[:size], words[size:]
        if not _is_time(time) or len(words) < size + 2:
            continue
        main_words = main_words[1:] if main_words[:1] == (",",) else main_words
        main = clause(_as_we(main_words))
        if main is None or not _takes_time(main.verb, main_words):
            return None
        if time[0] == "every" and INDEFINITE & {*main_words}:
            return None  # a new one each time, or always the same
        if time[:2] in (("after", "the"), ("before", "the")) and main.ends_in_noun:
            return None  # "the house after the bridge"
        return (*main_words, *time)
    return None


def _as_we(words: Sentence) -> Sentence:
    """Return a clause with "we" and "our", which the grammar knows, as its pronouns."""
    subject = ("we",) if words[0] in ("he", "she", "they") else words[:1]
    return tuple("our" if word in en.POSSESSIVES else word for word in (*subject, *words[1:]))


def _is_time(words: Sentence) -> bool:
    """Return whether these words together are a time."""
    return words in _TIMES or _is_date(words) or _is_span(words)


_PARTS = ("morning", "afternoon", "evening")
_TIMES = frozenset(
    [("yesterday",), ("tomorrow",), ("at", "night"), ("at", "noon"), ("at", "midnight")]
    + [("in", "the", part) for part in _PARTS]
    + [(day, part) for day in ("yesterday", "tomorrow") for part in _PARTS]
    + [(word, meal) for word in ("after", "before") for meal in ("breakfast", "lunch", "dinner")]
    + [("in", period) for period in en.MONTHS | en.SEASONS]
    + [("on", day + ending) for day in en.WEEKDAYS for ending in ("", "s")]
    + [
        (which, unit)
        for which in ("last", "next", "every")
        for unit in en.UNITS | en.WEEKDAYS | en.SEASONS
    ]
)


def _is_date(words: Sentence) -> bool:
    match words:
        case ("in", month, year):
            return month in en.MONTHS and _is_year(year)
        case ("in", year):
            return _is_year(year)
        case ("at", hour, "am" | "pm"):
            return hour.isdecimal() and len(hour) < 3
        case _:
            return False


def _is_span(words: Sentence) -> bool:
    match words:
        case (number, unit, "ago"):
            return number.isdecimal() and unit.removesuffix("s") in en.UNITS
        case ("since" | "during" | "after" | "before", "the", noun):
            return is_noun(noun) or noun in en.SEASONS
        case _:
            return False


def _is_year(text: str) -> bool:
    return text.isdecimal() and len(text) == 4


def _with_on(words: Sentence) -> Sentence:
    """Return "Ann cleaned the office on Monday" for "Ann cleaned the office Monday"."""
    if len(words) < 3 or words[-1] not in en.WEEKDAYS or words[-2] == "on":
        return words
    before = words[:-1]
    if (
        before[-2:] == ("be", "back")
        and len(before) == 4
        and is_name(before[0])
        and before[1] == "will"
    ):
        return (*before, "on", words[-1])
    main = clause(_as_we(before))
    if main is None or main.verb not in en.ON_A_DAY:
        return words
    # "Ann called the dog Friday": no verb that gives a name or has two objects is in the list.
    is_noun_last = not main.has_object or (len(before) > 2 and not before[-1].istitle())
    return (*before, "on", words[-1]) if is_noun_last else words


def _with_recipient_last(words: Sentence) -> Sentence | None:
    """Return "Ann gave the book to Bob" for "Ann gave Bob the book"."""
    if len(words) != 5 or words[1] not in ("gave", "lent") or words[3] != "the":
        return None
    giver, taker = words[0], words[2]
    names = {giver.lower(), taker.lower()}
    if names <= en.FIRST_NAMES and taker.lower() not in CITIES and is_noun(words[4]):
        return (giver, words[1], "the", words[4], "to", taker)
    return None
