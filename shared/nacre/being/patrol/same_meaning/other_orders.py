"""The order and the voice of German, French, Italian, Portuguese and Spanish sentences.

Each language has closed lists of times, conjunctions and verbs. A sentence with another verb, with
a second one, a negation or a quantity keeps its order.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from nacre.being.patrol.same_meaning.english_words import FIRST_NAMES, word_set
from nacre.being.patrol.same_meaning.events import Event
from nacre.being.patrol.same_meaning.other_languages import (
    ARRIVING,
    ARTICLES,
    BEFORE_A_TIME,
    FOCUS,
    LANGUAGES,
    OWNERS,
    TIMED_NOUNS,
    TOGETHER,
    WEATHER,
    Language,
)
from nacre.being.patrol.same_meaning.sentences import Sentence

_MAX_WORDS = 24


_WORD = re.compile(r"[^\W_](?:[^\s,;:!?()\"]*[^\W_])?")


def other_events(text: str) -> frozenset[tuple[int, Event]]:
    """Return the events that a sentence in another language than English may tell."""
    words = _words(text)
    if words is None or len(words) > _MAX_WORDS:
        return frozenset()
    return frozenset(
        (number, event)
        for number, language in enumerate(LANGUAGES)
        if len(language.marks & {*words}) >= 1
        for event in _events(words, language)
    )


def _words(text: str) -> Sentence | None:
    """Return the words and commas of a sentence, with the first one as inside a sentence."""
    result: list[str] = []
    for part in text.removesuffix(".").split(" "):
        word = part.removesuffix(",")
        if not _WORD.fullmatch(word) and not re.fullmatch(r"\d{1,2}\.", word):
            return None
        result += [word, ","] if word != part else [word]
    first = result[0]
    if first.lower() not in FIRST_NAMES and first[1:].islower():
        result[0] = first if _is_name_like(first) else first.lower()
    elif len(first) == 1:
        result[0] = first.lower()
    return tuple(result)


_PARTICIPLE = re.compile(r"(?:\w*ge\w+|(?:be|ver|er|ent|zer|über)\w+|\w+ier)(?:t|en)")

_SMALL = frozenset().union(
    *(
        language.marks | language.conjunctions | language.places | language.pronouns
        for language in LANGUAGES
    ),
    word_set(
        "los las le lundi mardi mercredi jeudi vendredi samedi dimanche hier demain "
        "depuis chaque tous "
        "ayer mañana desde cada hay ieri domani ogni di dal nel alle ontem amanhã aos às todas há "
        "gestern heute morgen jeden seit nach mit um nächste letzte vier drei zwei cuatro dos tres "
        "quatre deux trois en parce il"
    ),
)


def _is_name_like(word: str) -> bool:
    return word.lower() not in _SMALL


def _events(words: Sentence, language: Language) -> Iterator[Event]:
    yield from _there(words, language)
    yield from _voices(words, language)
    for around, body in _framings(words, language):
        if around and (_is_simple(body, around, language) or _is_perfect(body, around, language)):
            yield Event(body, frozenset(around))


def _framings(
    words: Sentence, language: Language
) -> Iterator[tuple[tuple[Sentence, ...], Sentence]]:
    for fronts, after in _fronts(words, language):
        for tails, body in _tails(after, language):
            units = tuple(unit for unit in (*fronts, *tails))
            if len({*units}) == len(units):
                yield units, body


def _fronts(words: Sentence, language: Language) -> Iterator[tuple[tuple[Sentence, ...], Sentence]]:
    yield (), words
    end = _time(words, 0, language)
    if end:
        after = words[end + 1 :] if words[end : end + 1] == (",",) else words[end:]
        turned = _turned(after, language) if language.inverts else after
        if turned:
            yield (words[:end],), turned
    if words.count(",") == 1:
        comma = words.index(",")
        if _opens(words, language):
            after = words[comma + 1 :]
            turned = _turned(after, language) if language.inverts else after
            if turned:
                yield (words[:comma],), turned


def _opens(words: Sentence, language: Language) -> bool:
    is_because = words[:2] in (("parce", "qu'il"), ("parce", "que"), ("dato", "che"))
    return words[0] in language.conjunctions or is_because


def _turned(words: Sentence, language: Language) -> Sentence | None:
    """Return "Lena kommt nach Hause" for "kommt Lena nach Hause"."""
    if not words or (words[0] not in language.verbs and words[0] not in ("hat", "ist")):
        return None
    verb, rest = words[0], words[1:]
    if rest[:1] and (rest[0] in ("ich", "wir", "er", "sie") or rest[0].lower() in FIRST_NAMES):
        return (rest[0], verb, *rest[1:])
    if rest[1:2] and rest[0] in ("der", "die", "das") and rest[1][:1].isupper():
        return (*rest[:2], verb, *rest[2:])
    return None


def _tails(words: Sentence, language: Language) -> Iterator[tuple[tuple[Sentence, ...], Sentence]]:
    yield (), words
    for place in range(2, len(words)):
        tail = words[place:]
        end = _time(words, place, language)
        is_tail = end == len(words) or (language.inverts and place < 4)
        if end and is_tail and words[place - 1] not in BEFORE_A_TIME:
            body = (*words[:place], *words[end:])
            yield (words[place:end],), body[:-1] if body[-1] == "," else body
        if len(tail) > 1 and _opens(tail, language) and "," not in tail:
            body = words[:place]
            yield (tail,), body[:-1] if body[-1] == "," else body


def _time(words: Sentence, place: int, language: Language) -> int:
    for size in (6, 5, 4, 3, 2, 1):
        unit = words[place : place + size]
        if len(unit) == size and language.times.fullmatch(" ".join(unit)):
            return place + size
    return 0


def _is_simple(body: Sentence, around: tuple[Sentence, ...], language: Language) -> bool:
    """Return whether a clause has one verb of the list, and nothing that could claim a time."""
    low = [word.lower() for word in body]
    if not _is_plain(body, language) or sum(word in language.verbs for word in low) != 1:
        return False
    if language.inverts and {"hat", "ist"} & {*low}:
        return False  # "Anna hat gesagt Eva kommt": `_is_perfect` decides
    asides = [word.lower() for unit in around for word in unit]
    is_clause = any(_opens(unit, language) for unit in around)
    if not is_clause:
        return True
    has_pronoun = bool(language.pronouns & {*low})
    names = any(word[:1].isupper() for unit in around for word in unit)
    if language.unsure & {*asides} - {"que"}:
        return False
    if not language.inverts and any(_has_no_subject(unit, language) for unit in around):
        return False
    pronouns = language.pronouns & {*asides} - {"il", "es"}
    return not (has_pronoun and (names or pronouns)) and not (pronouns and not _one_name(body))


def _is_plain(body: Sentence, language: Language) -> bool:
    """Return whether a clause has no infinitive, no focus and no second clause beside "and"."""
    low = {word.lower() for word in body}
    if low & (language.unsure | FOCUS | TIMED_NOUNS) or "," in body or len(body) < 2:
        return False
    if any(
        _is_infinitive(word, language) and before not in OWNERS
        for before, word in pairwise(("", *body))
    ):
        return False
    if language.inverts and any(
        before == "zu" and word.islower() and word.endswith("n") for before, word in pairwise(body)
    ):
        return False
    joined = [place for place, word in enumerate(body) if word in TOGETHER]
    return all(
        place + 1 < len(body) and body[place - 1][:1].isupper() and body[place + 1][:1].isupper()
        for place in joined
    )


def _has_no_subject(unit: Sentence, language: Language) -> bool:
    """Return whether a clause such as "cuando llega" leaves out who it is about."""
    if not _opens(unit, language) or len(unit) < 2 or unit[1] not in language.verbs | {"llegó"}:
        return False
    is_subject_late = unit[1] in ARRIVING and unit[2:3] != () and unit[2] in ARTICLES
    return unit[1] not in WEATHER and not is_subject_late


def _is_perfect(body: Sentence, around: tuple[Sentence, ...], language: Language) -> bool:
    """Return whether a clause is a German one in which a participle closes the sentence."""
    if not language.inverts or any(_opens(unit, language) for unit in around):
        return False
    helpers = [place for place, word in enumerate(body) if word in ("hat", "ist")]
    if len(helpers) != 1 or not _is_plain(body, language):
        return False
    last, before = body[-1], body[-2]
    is_state = body[helpers[0]] == "ist" and len(body) == helpers[0] + 2
    is_last = is_state or bool(_PARTICIPLE.fullmatch(last))
    return last.islower() and before != "zu" and is_last


def _one_name(body: Sentence) -> bool:
    return body[0][:1].isupper() and not any(word[:1].isupper() for word in body[1:])


def _is_infinitive(word: str, language: Language) -> bool:
    if language.inverts or word in language.verbs:
        return False
    return (len(word) > 3 and word.endswith(("ar", "er", "ir", "re"))) or word.endswith("oir")


def _there(words: Sentence, language: Language) -> Iterator[Event]:
    """Yield the words of "il y a" with its object, and the place, in either order."""
    for opening in language.there_is:
        size = len(opening)
        for place in range(len(words) - size + 1):
            if words[place : place + size] != opening:
                continue
            before = words[: place - 1] if words[place - 1 : place] == (",",) else words[:place]
            after = words[place + size :]
            if {*words} & (language.unsure | {"et", "y", "e", "und"} - {*opening}):
                continue
            if before and before[0] in language.places and not language.places & {*after}:
                yield Event((*opening, *after), frozenset((before,)))
            elif not before and len(after) > 2:
                starts = [at for at, word in enumerate(after) if word in language.places]
                if len(starts) == 1 and 0 < starts[0] < len(after) - 1:
                    start = starts[0]
                    yield Event((*opening, *after[:start]), frozenset((after[start:],)))


def _voices(words: Sentence, language: Language) -> Iterator[Event]:
    """Yield the active form of a passive sentence, and any other sentence as it is."""
    if "," in words or {*words} & language.unsure:
        return
    for units, body in _framings(words, language):
        if any(_opens(unit, language) for unit in units):
            continue
        if units and not _is_deed(body, language):
            continue
        yield from (Event(form, frozenset(units)) for form in _actives(body, language))


def _is_deed(body: Sentence, language: Language) -> bool:
    """Return whether the one verb of a clause is of the list, active or passive."""
    forms = {
        stem + ending
        for stem in language.stems - {"invit"}  # a time may be the one of the invitation
        for endings in language.participles
        for ending in endings
    }
    low = [word.lower() for word in body]
    return (
        _is_plain(body, language)
        and sum(word in forms for word in low) == 1
        and not language.verbs - forms & {*low}
    )


def _actives(words: Sentence, language: Language) -> Iterator[Sentence]:
    yield ("=", *words)
    if language.passive is None:
        return
    match = language.passive.fullmatch(" ".join(words))
    if not match:
        return
    for ending, past in language.participles:
        stem = match["part"].removesuffix(ending)
        if stem == match["part"] or stem not in language.stems:
            continue
        agent = match["agent"].split(" ")
        if language.pronouns & {*match["patient"].lower().split(" ")}:
            continue  # "su coche fue lavado por Juan": in the active voice it is his own
        joined = match[0][match.end("part") : match.start("agent")].strip()
        article = {"pelo": "o", "pela": "a", "dal": "il", "dalla": "la"}.get(joined)
        if not _is_agent([*([article] if article else []), *agent], language):
            continue
        helper = (language.active,) if language.active else ()
        doer = (*([article] if article else []), *agent)
        yield ("=", *doer, *helper, stem + past, *match["patient"].split(" "))


def _is_agent(words: list[str], language: Language) -> bool:
    if len(words) == 1:
        return words[0].lower() in FIRST_NAMES
    return len(words) <= 4 and any(word in language.agents for word in words[1:])
