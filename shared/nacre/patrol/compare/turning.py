"""The order of clauses: what may stand in front or at the end is put at the end.

A phrase moves only out of a sentence with one clause, since it could belong to another one, and
only past words whose reach does not change with it.
"""

from collections.abc import Sequence

from nacre.patrol.compare import words as en
from nacre.patrol.compare.reading import Sentence, Word

_CONJUNCTIONS = en.word_set(
    "when whenever while because if unless although before after since until once as-soon-as"
)
_PHRASES = en.word_set("during after before since")
_STEADY = frozenset(("still", "already"))  # they say the same on either side of a clause
_GO = frozenset(("go", "goes", "went"))
_MOTION = _GO | en.word_set("come comes came walk walks walked drive drives drove")
_PEOPLE = en.word_set("he she i we they")


def turned(sentence: Sentence) -> Sentence:
    """Return a sentence with what moves freely in one place."""
    words = _with_ordered_names(sentence)
    front = _front(words)
    if front is not None:
        words = front
    return _with_ordered_times(_with_ordered_states(words))


def _front(words: Sentence) -> Sentence | None:
    """Return the sentence with the phrase it begins with at the end, if that may move."""
    for size in _sizes(words):
        phrase, rest = words[:size], words[size:]
        if rest and rest[0].text == ",":
            rest = rest[1:]
        if rest and rest[0].text == "then" and phrase[0].text == "if":
            rest = rest[1:]
        if not rest or not _may_end(phrase, rest):
            continue
        named = _name_first(phrase, rest)
        return (*rest, *phrase) if named is None else named
    return None


def _sizes(words: Sentence) -> list[int]:
    """Return how many words at the beginning may be a phrase that moves."""
    if not words:
        return []
    time = time_at(words, 0)
    if time:
        return [time]
    first = words[0].text
    comma = next((place for place, word in enumerate(words) if word.text == ","), None)
    if comma is not None:
        fits = first in _CONJUNCTIONS | _PHRASES or _is_span(words[:comma])
        return [comma] if fits else []
    if first in _PHRASES or _is_span(words[:3]):
        least = 3 if first == "for" else 2
        return [
            place
            for place in range(least, min(6, len(words)))
            if _begins_subject(words[place])
            and not any(each.text in en.VERBS or _begins_subject(each) for each in words[2:place])
        ][:1]
    if first in ("in", "at") and len(words) > 3 and words[1].is_name and _begins_subject(words[2]):
        return [2]
    return []


def _begins_subject(word: Word) -> bool:
    return (
        word.is_name
        or bool(word.article)
        or word.text in en.SUBJECTS
        or word.text in en.POSSESSIVES
        or word.text == "it"
    )


def _is_span(words: Sequence[Word]) -> bool:
    return (
        len(words) == 3
        and words[0].text == "for"
        and (words[1].text.isdecimal() or words[1].text in ("several", "many"))
        and words[2].text.removesuffix("s") in en.UNITS
    )


def _may_end(phrase: Sentence, rest: Sentence) -> bool:
    """Whether the phrase says the same behind the rest as in front of it."""
    texts = {word.text for word in rest}
    is_time = time_at(phrase, 0) == len(phrase)
    is_clause = phrase[0].text in _CONJUNCTIONS and len(phrase) > 2
    if not is_one_clause(rest, least=0 if is_clause else 1) or "," in {w.text for w in phrase}:
        return False
    if texts & (en.FOCUS - (_STEADY if is_clause else set())):
        return False
    if texts & (en.NEGATIVES | en.QUANTIFIERS) and not (
        is_time or phrase[0].text in ("if", "when", "although")
    ):
        return False
    if not is_clause and texts & en.SCHEDULING:
        return False
    if {word.text for word in phrase[1:]} & en.FOCUS:
        return False
    if phrase[0].text in ("in", "at") and not is_time:
        return rest[-1].is_name or rest[-1].text in en.OBJECTS or rest[-1].text in en.VERBS
    return is_clause or rest[-1].text.casefold() not in en.EVENTS


def _name_first(phrase: Sentence, rest: Sentence) -> Sentence | None:
    """Return "Ann fed the cat when she came" for "when Ann came, she fed the cat"."""
    names = [word for word in phrase if word.is_name]
    if (
        len(names) == 1
        and len(phrase) > 2
        and phrase[1] == names[0]
        and rest[0].text in _PEOPLE - {"i", "we"}
        and not {word.text for word in phrase} & (en.SUBJECTS.keys() | en.OBJECTS.keys())
    ):
        return (names[0], *rest[1:], phrase[0], rest[0], *phrase[2:])
    return None


def is_one_clause(words: Sequence[Word], *, least: int = 1) -> bool:
    """Whether there is one verb and nothing that begins or holds another clause.

    `least` 0 takes a clause whose verb is not known too.
    """
    verbs = 0
    is_in_verb = False
    for place, word in enumerate(words):
        text = word.text
        before = words[place - 1].text if place else ""
        if text in en.CLAUSE_WORDS or text == "," or text == '"':
            return False
        if text == "to" and place + 1 < len(words):
            following = words[place + 1]
            is_place = following.text == "work" and before in _MOTION
            if following.text in en.BASES and not following.article and not is_place:
                return False
        if text.endswith("ing") and text not in en.NOT_ING and before not in en.AUXILIARIES | _GO:
            return False
        if _is_verb(words, place):
            verbs += not is_in_verb
            is_in_verb = True
        elif text not in ("not", "never") and not text.endswith("ly"):
            is_in_verb = False
    return least <= verbs <= 1


def _is_verb(words: Sequence[Word], place: int) -> bool:
    word = words[place]
    before = words[place - 1].text if place else ""
    if word.article or place == 0 or word.is_name:
        return False
    if word.text in en.AUXILIARIES:
        return True
    if before in en.AUXILIARIES | {"not"} and (word.text in en.BASES or word.text.endswith("ing")):
        return True
    if before in en.POSSESSIVES | en.PREPOSITIONS | en.THESE or before.isdecimal():
        return False
    if word.text in en.BASES and before in (*en.SUBJECTS, "you"):
        return True
    is_past = word.text.endswith("ed") and len(word.text) > 4
    return word.text in en.VERBS or is_past


def time_at(words: Sequence[Word], place: int) -> int:
    """Return how many words at a place say when; 0 for none."""
    texts = [word.text for word in words[place : place + 4]]
    articles = [word.article for word in words[place : place + 4]]
    if not texts or articles[0]:
        return 0
    size = _day(texts) or _time_phrase(texts, articles)
    after = words[place + size].text if place + size < len(words) else ""
    return 0 if after in ("of", "'s", "and", "or", "to") else size


def _day(texts: Sequence[str]) -> int:
    """Return how many words name a day, as in "yesterday evening" or "3 May 2026"."""
    first, second = texts[0], _at(texts, 1)
    if first in en.WEEKDAYS | {"yesterday", "tomorrow"}:
        return 2 if second in en.DAY_PARTS else 1
    if first in en.TIMES:
        return 1
    if first.isdecimal() and second in en.MONTHS:
        return 3 if _is_year(_at(texts, 2)) else 2
    return 0


def _time_phrase(texts: Sequence[str], articles: Sequence[str]) -> int:
    """Return how many words say when in another way, as in "last week" or "at 5 pm"."""
    first, second = texts[0], _at(texts, 1)
    has_article = articles[1:2] == ["the"]
    match first:
        case "last" | "next" | "this" | "every":
            return 2 if second in _UNITS and not has_article else 0
        case "in" if second in en.MONTHS:
            return 3 if _is_year(_at(texts, 2)) else 2
        case "in" if second in en.SEASONS or _is_year(second):
            return 2
        case "in":
            return 2 if second in en.DAY_PARTS and has_article else 0
        case "at" if second[:1].isdigit():
            return 3 if _at(texts, 2) in ("am", "pm") else 2
        case "at":
            return 2 if second in ("noon", "midnight", "night") else 0
        case "during":
            return 2 if second in en.DAY_PARTS | en.SEASONS | {"week", "weekend"} else 0
        case _:
            is_ago = second.removesuffix("s") in en.UNITS and _at(texts, 2) == "ago"
            return 3 if first.isdecimal() and is_ago else 0


def _at(texts: Sequence[str], place: int) -> str:
    return texts[place] if place < len(texts) else ""


_UNITS = en.UNITS | en.WEEKDAYS | en.SEASONS | en.MONTHS | en.DAY_PARTS


def _is_year(text: str) -> bool:
    return text.isdecimal() and len(text) == 4


def _with_ordered_times(words: Sentence) -> Sentence:
    """Return a clause whose places and times at the end stand in one order."""
    tail: list[tuple[int, Sentence]] = []
    rest = words
    while rest:
        part = _last_phrase(rest)
        if part is None:
            break
        tail.append(part)
        rest = rest[: -len(part[1])]
    if len(tail) < 2 or not is_one_clause(rest) or sum(kind == 0 for kind, _ in tail) > 1:
        return words
    if rest[-1].text in en.EVENTS or {word.text for word in rest} & (en.FOCUS | en.SCHEDULING):
        return words
    ordered = sorted(tail, key=lambda part: (part[0], [word.text for word in part[1]]))
    return (*rest, *(word for _, phrase in ordered for word in phrase))


def _last_phrase(words: Sentence) -> tuple[int, Sentence] | None:
    """Return the phrase at the end: 0 and a place, or 1 and a time."""
    for size in (3, 2, 1):
        if len(words) > size and time_at(words, len(words) - size) == size:
            return 1, words[-size:]
    if len(words) > 2 and words[-2].text in ("in", "at") and words[-1].is_name:
        return 0, words[-2:]
    return None


def _with_ordered_names(words: Sentence) -> Sentence:
    """Return "Ann and Bob went" for "Bob and Ann went", and the same for "with Bob and Ann"."""
    if {word.text for word in words} & en.SEQUENCE or len(words) < 4:
        return words
    if words[1].text == "and" and words[0].is_name and words[2].is_name:
        after = words[3]
        if not after.is_name and (after.text in en.VERBS or after.text.endswith("ed")):
            first, second = sorted((words[0], words[2]))
            return (first, words[1], second, *words[3:])
    if (
        words[-2].text == "and"
        and words[-1].is_name
        and words[-3].is_name
        and words[-4].text in ("with", "to", "from", "between")
    ):
        first, second = sorted((words[-3], words[-1]))
        return (*words[:-3], first, words[-2], second)
    return words


def _with_ordered_states(words: Sentence) -> Sentence:
    """Return two lasting states that "and" joins in one order; events follow each other."""
    texts = [word.text for word in words]
    if texts.count("and") != 1 or "," in texts or set(texts) & (en.SEQUENCE | en.FOCUS):
        return words
    place = texts.index("and")
    first, second = words[:place], words[place + 1 :]
    if not all(
        len(each) > 2 and each[0].is_name and each[1].text in en.STATES and is_one_clause(each)
        for each in (first, second)
    ):
        return words
    if set(texts) & (en.SUBJECTS.keys() | en.OBJECTS.keys() | {"it", "there"} | en.POSSESSIVES):
        return words
    one, other = sorted((first, second))
    return (*one, words[place], *other)
