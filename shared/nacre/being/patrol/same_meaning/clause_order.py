"""The order of clauses: a time or a clause in front of a sentence is put at its end.

Only in front of a clause that the grammar takes apart, so that what moves cannot belong to
another verb, a noun, a negation or a quantity. No word changes, and nothing else moves.
"""

from nacre.being.patrol.same_meaning import english_words as en
from nacre.being.patrol.same_meaning.clause_grammar import clause, is_name, is_noun
from nacre.being.patrol.same_meaning.sentences import Sentence

_TIMED = frozenset(("when", "whenever", "before", "after", "since", "until"))
_CONJUNCTIONS = _TIMED | {"while", "if", "unless", "because", "although"}
_SOON = ("as", "soon", "as")


def turned(words: Sentence) -> Sentence:
    """Return a sentence in the order that the rules compare."""
    return _with_on(_front_clause(words) or _front_time(words) or _given(words) or words)


def _front_clause(words: Sentence) -> Sentence | None:
    """Return "Ann left when Bob came" for "when Bob came, Ann left"."""
    if words.count(",") != 1:
        return None
    comma = words.index(",")
    aside, rest = words[:comma], words[comma + 1 :]
    if rest[:1] == ("then",) and aside[:1] == ("if",):
        rest = rest[1:]
    size = 3 if aside[:3] == _SOON else 1
    if size == 1 and aside[:1] not in [(each,) for each in _CONJUNCTIONS]:
        return None
    if aside[size : size + 1] == ("it",):  # the weather: nobody else whom "they" could mean
        rest = _as_we(rest)
    main = clause(rest)
    if main is None or clause(aside[size:], is_aside=True) is None or {"a", "an"} & {*words}:
        return None
    if aside[0] in _TIMED and not _takes_time(main.verb, rest):
        return None
    return (*words[len(words) - len(rest) :], *aside)


def _takes_time(verb: str, words: Sentence) -> bool:
    """Whether a time behind the clause says when it happened, not what it is about."""
    return verb not in en.ABOUT_A_TIME and words[-1] not in en.EVENTS


def _front_time(words: Sentence) -> Sentence | None:
    """Return "Ann left on Monday" for "on Monday, Ann left"."""
    for size in (4, 3, 2, 1):
        time, rest = words[:size], words[size:]
        if not _is_time(time) or len(words) < size + 2:
            continue
        rest = rest[1:] if rest[:1] == (",",) else rest
        main = clause(_as_we(rest))
        if main is None or not _takes_time(main.verb, rest):
            return None
        if time[0] == "every" and {"a", "an"} & {*rest}:
            return None  # a new one each time, or always the same
        if time[:2] in (("after", "the"), ("before", "the")) and main.ends_in_noun:
            return None  # "the house after the bridge"
        return (*rest, *time)
    return None


def _as_we(words: Sentence) -> Sentence:
    """Return a clause with other pronouns: where no second clause is, each means what it did."""
    subject = ("we",) if words[0] in ("he", "she", "they") else words[:1]
    return tuple("our" if word in en.POSSESSIVES else word for word in (*subject, *words[1:]))


def _is_time(words: Sentence) -> bool:
    """Whether these words together say when."""
    return words in _TIMES or _is_date(words) or _is_span(words)


_PARTS = ("morning", "afternoon", "evening")
_TIMES = frozenset(
    [("yesterday",), ("tomorrow",), ("at", "night"), ("at", "noon"), ("at", "midnight")]
    + [("in", "the", part) for part in _PARTS]
    + [(day, part) for day in ("yesterday", "tomorrow") for part in _PARTS]
    + [(word, meal) for word in ("after", "before") for meal in ("breakfast", "lunch", "dinner")]
    + [("in", what) for what in en.MONTHS | en.SEASONS]
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
    rest = words[:-1]
    if rest[-2:] == ("be", "back") and len(rest) == 4 and is_name(rest[0]) and rest[1] == "will":
        return (*rest, "on", words[-1])
    main = clause(_as_we(rest))
    if main is None or main.verb not in en.ON_A_DAY:
        return words
    # "Ann called the dog Friday": no verb that gives a name or has two objects is in the list.
    is_noun_last = not main.has_object or (len(rest) > 2 and not rest[-1].istitle())
    return (*rest, "on", words[-1]) if is_noun_last else words


def _given(words: Sentence) -> Sentence | None:
    """Return "Ann gave the book to Bob" for "Ann gave Bob the book"."""
    if len(words) != 5 or words[1] not in ("gave", "lent") or words[3] != "the":
        return None
    giver, taker = words[0], words[2]
    if {giver.lower(), taker.lower()} <= en.FIRST_NAMES and is_noun(words[4]):
        return (giver, words[1], "the", words[4], "to", taker)
    return None
