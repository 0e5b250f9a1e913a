"""A text as the rules read it: sentences of words, each with its article.

Reading normalises only what never carries meaning: contractions, the spelling of numbers and of
British and American words, fillers, and a few function words. The order of words is kept.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from nacre.patrol.compare import words as en

_TOKEN = re.compile(
    r"\d+(?:st|nd|rd|th)\b | \d+(?:[.,:/]\d+)* | [^\W\d_]+(?:['\-][^\W\d_]+)*'? | [^\s\w] | \w",
    re.VERBOSE,
)
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+")
_TITLE = re.compile(r"\b(dr|mrs?|ms|st|vs)\.(?=\s)", re.IGNORECASE)
_HALF_OF_DAY = re.compile(r"\b([ap])\.m\.", re.IGNORECASE)
_SAME_SIGNS = str.maketrans("\u2018\u2019\u02bc\u201c\u201d\u2013\u2212", "'''\"\"--")
_END = ".!\u2026\u3002\uff0e\uff01 \t\n"
_LONGEST = 150  # words: the rules try every way to take a sentence apart
_MONEY = {"$": "dollars", "\u20ac": "euros"}
_TITLES = en.WEEKDAYS | en.MONTHS | {"doctor", "euros", "dollars"}
_IZE = re.compile(r"(.+)i[sz](e|ed|es|er|ers|ing|ation|ations)")
_YZE = re.compile(r"(anal|paral|catal)y[sz](e|ed|es|ing)")
_COMMON = (
    en.ENGLISH | en.PREPOSITIONS | en.CLAUSE_WORDS | en.PRONOUNS | en.POSSESSIVES | en.THESE
    | en.QUANTIFIERS | en.NEGATIVES | en.FOCUS | en.TIMES | en.AUXILIARIES | en.VERBS | en.BASES
    | en.WEEKDAYS | en.MONTHS | en.DEICTIC | frozenset(en.NUMBERS) | frozenset(en.OBJECTS)
    | frozenset(phrase[0] for phrase in en.FILLERS)
)  # fmt: skip

Article = Literal["", "the", "a"]


class Word(NamedTuple):
    """A word in its normal spelling, its article, and whether it is written like a name."""

    text: str
    article: Article = ""
    is_name: bool = False


Sentence = tuple[Word, ...]


class Reading(NamedTuple):
    """What the rules know of a text."""

    plain: str
    sentences: tuple[Sentence, ...]
    is_question: bool
    language: Literal["english", "other", "unknown"]


@lru_cache(2048)
def read(text: str) -> Reading:
    """Return the reading of a text."""
    normal = _normal(text)
    plain = plain_text(normal)
    tokens = _TOKEN.findall(_TITLE.sub(r"\1", _HALF_OF_DAY.sub(r"\1m", normal.rstrip(_END))))
    language = _language(tokens)
    if language == "other" or len(tokens) > _LONGEST:
        return Reading(plain, (), False, "other")
    sentences = tuple(
        tuple(rewritten(_with_articles(_expanded(sentence)))) for sentence in _split(tokens)
    )
    return Reading(plain, tuple(filter(None, sentences)), "?" in tokens, language)


def plain_text(text: str) -> str:
    """Return a text in one case and width, without blanks and stops that say nothing.

    A question keeps its mark. Accents, and signs such as a raised digit, stay as they are.
    """
    return " ".join(_normal(text).lower().split()).rstrip(_END)


def has_other_capitals(one: str, other: str) -> bool:
    """Whether two texts of the same letters differ in a capital that changes a word.

    As in "us" and "US", or "Polish" and "polish". A text without any difference of case, as in
    a headline, says nothing about it.
    """
    first, second = (_TOKEN.findall(_normal(each)) for each in (one, other))
    if not (_is_mixed(one) and _is_mixed(other)) or len(first) != len(second):
        return False
    for place, (left, right) in enumerate(zip(first, second, strict=True)):
        if left == right or left.lower() != right.lower():
            continue
        low = left.lower()
        is_acronym = len(low) > 1 and (left.isupper() or right.isupper())
        if (is_acronym and low in _COMMON | en.HOMOGRAPHS) or (place > 0 and low in en.HOMOGRAPHS):
            return True
    return False


def _normal(text: str) -> str:
    text = unicodedata.normalize("NFC", text).translate(_SAME_SIGNS)
    wide = "".join(
        unicodedata.normalize("NFKC", char)
        if char == "\u3000" or "\uff01" <= char <= "\uffee"
        else char
        for char in text
    )
    return unicodedata.normalize("NFC", wide)


def _is_mixed(text: str) -> bool:
    return not text.isupper() and not text.islower()


def _language(tokens: Sequence[str]) -> Literal["english", "other", "unknown"]:
    low = {token.lower() for token in tokens}
    foreign = any(token in en.FOREIGN for token in tokens)
    strange = any(token[0].islower() and not token.isascii() for token in tokens if token)
    unspaced = any(token[0].isalpha() and not token[0].isupper() and not token[0].islower()
                   for token in tokens)  # fmt: skip
    if foreign or strange or unspaced:
        return "other"
    weak = (low & en.WEAK_ENGLISH) | {"'s" for token in low if token.endswith("'s")}
    is_english = (
        low & (en.ENGLISH | en.ENGLISH_VERBS | en.WEEKDAYS | en.TIMES)
        or any(token.endswith(("n't", "'m", "'re", "'ve", "'ll")) for token in low)
        or (len(weak) > 1 and weak & en.FIRM_ENGLISH)
    )
    return "english" if is_english else "unknown"


def _split(tokens: Sequence[str]) -> Iterator[list[str]]:
    sentence: list[str] = []
    for part in tokens:
        if part in (";", ".", "!", "?", "\u2014"):
            yield [*sentence, "?"] if part == "?" else sentence
            sentence = []
        else:
            sentence.append(part)
    yield sentence


def _expanded(tokens: Sequence[str]) -> list[tuple[str, bool]]:
    """Return the words in lower case and normal spelling, and which are written like names."""
    shouted = not any(token.islower() for token in tokens)
    spelled: list[tuple[str, bool]] = []
    for place, raw in enumerate(tokens):
        low = raw.lower()
        following = tokens[place + 1].lower() if place + 1 < len(tokens) else ""
        is_name = raw[0].isupper() and not shouted and low not in ("i", *en.WEEKDAYS, *en.MONTHS)
        if place == 0 and (low in _COMMON or "'" in low):
            is_name = False
        is_letter = raw == "A" and place > 0  # as in "vitamin A"
        if is_letter or (len(low) > 1 and raw.isupper() and low in _COMMON and not shouted):
            spelled.append((raw, True))  # "US" is not "us"
            continue
        if low in _MONEY:
            if not following[:1].isdigit():
                spelled.append((_MONEY[low], False))
            continue
        if _GROUPED.fullmatch(low):
            low = low.replace(",", "")
        spelled += [(part, is_name) for part in _uncontracted(low, following)]
        if place and tokens[place - 1] in _MONEY and low[0].isdigit():
            spelled.append((_MONEY[tokens[place - 1]], False))
    return _dated(_numbered([(_spelling(text, is_name=name), name) for text, name in spelled]))


def _uncontracted(word: str, following: str) -> list[str]:
    if word in en.CONTRACTIONS:
        return en.CONTRACTIONS[word].split()
    if word.endswith("n't"):
        return [word[:-3], "not"]
    for ending, full in (("'re", "are"), ("'ve", "have"), ("'ll", "will")):
        if word.endswith(ending):
            return [word[: -len(ending)], full]
    stem = word[:-2]
    if word.endswith("'s") and stem in {*en.PRONOUNS, "that", "what", "who", "where", "here"}:
        if following in ("been", "got", "had"):
            return [stem, "has"]
        is_open = following.endswith("ed") or following in en.VERBS or not following
        return [word] if is_open else [stem, "is"]
    if word.endswith("'d") and following in ("like", "love", "rather", "prefer", "be", "have"):
        return [stem, "would"]
    if word.endswith("'d") and following == "better":
        return [stem, "had"]
    return [word]


def _spelling(word: str, *, is_name: bool) -> str:
    spelled = en.SPELLINGS.get(word, word)
    if is_name and spelled not in _TITLES:
        return word  # Gray is not Grey
    word = spelled
    if match := _IZE.fullmatch(word):
        stem = match[1]
        return f"{stem}is{match[2]}" if stem in en.IZE else word
    if match := _YZE.fullmatch(word):
        return f"{match[1]}ys{match[2]}"
    if word == "2nd":
        return "second"
    return en.ORDINALS.get(word, word)


def _numbered(words: Sequence[tuple[str, bool]]) -> list[tuple[str, bool]]:
    """Return the words with numbers in digits."""
    parts: list[tuple[str, bool]] = []
    for text, is_name in words:
        pair = text.split("-")
        if len(pair) == 2 and all(each in en.NUMBERS for each in pair):
            parts += [(each, False) for each in pair]
        else:
            parts.append((text, is_name))
    result: list[tuple[str, bool]] = []
    place = 0
    while place < len(parts):
        value, after = _number_at([text for text, _ in parts], place)
        if after == place:
            result.append(parts[place])
            place += 1
        else:
            result.append((str(value), False))
            place = after
    return result


def _number_at(texts: Sequence[str], place: int) -> tuple[int, int]:
    """Return the number that is spelled at a place, and the place after it."""
    if texts[place] == "a" and texts[place + 1 : place + 2] in (["dozen"], ["hundred"]):
        value, place = (12 if texts[place + 1] == "dozen" else 100), place + 2
        if value == 12:
            return value, place
    else:
        value, after = _small_at(texts, place)
        if after == place:
            return 0, place
        place = after
        if texts[place : place + 1] == ["hundred"]:
            value, place = 100 * value, place + 1
    if value >= 100:
        joined = place + (texts[place : place + 1] == ["and"])
        rest, after = _small_at(texts, joined)
        if after > joined and texts[after : after + 1] != ["hundred"]:
            value, place = value + rest, after
    if texts[place : place + 1] and texts[place] in ("thousand", "million", "billion"):
        return value * en.SCALES[texts[place]], place + 1
    return value, place


def _small_at(texts: Sequence[str], place: int) -> tuple[int, int]:
    value = en.NUMBERS.get(texts[place]) if place < len(texts) else None
    if value is None:
        return 0, place
    unit = en.NUMBERS.get(texts[place + 1]) if place + 1 < len(texts) else None
    if value >= 20 and unit is not None and 0 < unit < 10:
        return value + unit, place + 2
    return value, place + 1


def _dated(words: list[tuple[str, bool]]) -> list[tuple[str, bool]]:
    """Return the words with days of a month as "3 may"."""
    texts = [text for text, _ in words]
    result: list[tuple[str, bool]] = []
    place = 0
    while place < len(words):
        for length in (4, 3, 2):
            day, month = _day_and_month(texts[place : place + length])
            if day:
                result += [(day, False), (month, False)]
                place += length
                break
        else:
            result.append(words[place])
            place += 1
    return result


def _day_and_month(texts: Sequence[str]) -> tuple[str, str]:
    """Return the day and the month that these words are together, as in "the 3rd of may"."""
    match texts:
        case [day, month] | [day, "of", month] | ["the", day, "of", month] if month in en.MONTHS:
            return _day_of(day), month
        case [month, day] if month in en.MONTHS:
            return _day_of(day), month
    return "", ""


def _day_of(text: str) -> str:
    digits = re.fullmatch(r"(\d\d?)(?:st|nd|rd|th)?", text)
    return digits[1] if digits and 1 <= int(digits[1]) <= 31 else ""


def _with_articles(words: Sequence[tuple[str, bool]]) -> list[Word]:
    result: list[Word] = []
    article: Article = ""
    for place, (text, is_name) in enumerate(words):
        following = words[place + 1][0] if place + 1 < len(words) else ""
        begins_noun = following[:1].isalnum() and following not in en.PREPOSITIONS | en.AUXILIARIES
        if text in ("the", "a", "an") and begins_noun:
            article = "the" if text == "the" else "a"
            continue
        result.append(Word(text, article, is_name))
        article = ""
    return result


def rewritten(words: list[Word]) -> list[Word]:
    """Return a sentence without fillers and without function words that say nothing."""
    words = _without_fillers(words)
    for before, after in _PHRASES:
        words = _replaced(words, before, after)
    words = _fact(_lots(words))
    kept: list[Word] = []
    for place, word in enumerate(words):
        following = words[place + 1] if place + 1 < len(words) else None
        previous = kept[-1] if kept else None
        if not (
            _is_idle_that(word, previous, words[place + 1 : place + 3])
            or _is_idle_on(word, previous, words[place + 1 : place + 3])
            or _is_idle_of(word, previous, following)
            or _is_idle_to(word, kept, following)
            or _is_idle_got(word, previous, following)
            or (word.text == "," and following is not None and following.text == "but")
        ):
            kept.append(word)
    return kept


_PHRASES = (
    ("in order to", "to"),
    ("so as to", "to"),
    ("whether or not", "whether"),
    ("outside of", "outside"),
    ("inside of", "inside"),
    ("off of", "off"),
    ("as soon as", "as-soon-as"),
    ("even though", "although"),
    ("though", "although"),
    ("one another", "each other"),
    ("1 another", "each other"),
    ("per cent", "%"),
)


def _replaced(words: list[Word], before: str, after: str) -> list[Word]:
    pattern = before.split()
    result: list[Word] = []
    place = 0
    while place < len(words):
        part = words[place : place + len(pattern)]
        if [word.text for word in part] == pattern and not any(word.article for word in part[1:]):
            result += [Word(text) for text in after.split()]
            place += len(pattern)
        else:
            result.append(words[place])
            place += 1
    return result


def _lots(words: list[Word]) -> list[Word]:
    """Return the words with "a lot of" as "lots of"."""
    return [
        Word("lots") if word.text == "lot" and word.article == "a" and after == "of" else word
        for word, after in zip(words, [*(each.text for each in words), ""][1:], strict=True)
    ]


def _fact(words: list[Word]) -> list[Word]:
    """Return the words with "due to the fact that" as "because"."""
    texts = [word.text for word in words]
    for start in ("due to", "because of"):
        phrase = [*start.split(), "fact", "that"]
        for place in range(len(words) - 3):
            if texts[place : place + 4] == phrase:
                return [*words[:place], Word("because"), *words[place + 4 :]]
    return words


def _without_fillers(words: list[Word]) -> list[Word]:
    texts = [word.text for word in words]
    for phrase in en.FILLERS:
        size = len(phrase)
        if texts[:size] == phrase and len(texts) > size + 1:
            if texts[size] == ",":
                return _without_fillers(words[size + 1 :])
            if phrase in en.BARE_FILLERS:
                return _without_fillers(words[size:])
        if phrase == ["so"]:
            continue
        for place in range(1, len(words) - size - 1):
            if texts[place] == "," and texts[place + 1 : place + 1 + size + 1] == [*phrase, ","]:
                return _without_fillers([*words[:place], *words[place + size + 2 :]])
    return words


def _is_subject(word: Word) -> bool:
    return (
        word.text in en.PRONOUNS
        or word.text in en.POSSESSIVES
        or word.is_name
        or bool(word.article)
    )


def _is_idle_that(word: Word, previous: Word | None, following: Sequence[Word]) -> bool:
    return (
        word.text in ("that", "whom")
        and previous is not None
        and previous.text not in en.PREPOSITIONS | en.CLAUSE_WORDS | en.BE | en.FOCUS
        and previous.text not in ("such", "given", "provided", "now", "to", "not", "all", ",")
        and len(following) == 2
        and _is_subject(following[0])
        and following[1].text.isalpha()
    )


def _is_idle_on(word: Word, previous: Word | None, following: Sequence[Word]) -> bool:
    if word.text != "on" or not following:
        return False
    settled = ("agreed", "decided", "settled", "insisted", "counted", "planned", "focused")
    if previous is not None and previous.text in (*settled, "agree", "decide", "depends", "based"):
        return False
    first = following[0]
    is_date = len(following) > 1 and first.text.isdecimal() and following[1].text in en.MONTHS
    return not first.article and (first.text in en.WEEKDAYS or is_date)


def _is_idle_of(word: Word, previous: Word | None, following: Word | None) -> bool:
    return (
        word.text == "of"
        and previous is not None
        and previous.text in ("all", "both", "half")
        and following is not None
        and (following.article == "the" or following.text in en.POSSESSIVES | en.THESE)
    )


def _is_idle_to(word: Word, kept: Sequence[Word], following: Word | None) -> bool:
    return (
        word.text == "to"
        and following is not None
        and following.text in en.BASES
        and not following.article
        and any(each.text in ("help", "helps", "helped", "helping") for each in kept[-4:])
        and not any(each.text in en.VERBS - {"helps", "helped"} for each in kept[-3:])
    )


def _is_idle_got(word: Word, previous: Word | None, following: Word | None) -> bool:
    return (
        word.text == "got"
        and previous is not None
        and previous.text in ("has", "have")
        and following is not None
        and (following.article == "a" or following.text.isdecimal())
    )
