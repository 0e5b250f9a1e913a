"""The words of a text as the rules compare them, in one spelling and in their original order.

`plain_text` is for texts in every language and keeps all that may be data: capitals, signs and
accents. `sentence_words` is for plain English; other texts are compared by `plain_text` alone.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from nacre.being.patrol.same_meaning import english_words as en

Sentence = tuple[str, ...]

_SAME_SIGNS = str.maketrans("\u2018\u2019\u02bc\u201c\u201d", "'''\"\"")
_FIRST_WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?")
_TITLE = re.compile(r"\b(Dr|Mrs?|Ms)\.(?= )")
_PART = re.compile(
    r"(I(?:'[a-z]+)?|A|(?:[a-z]+|[A-Z][a-z]+)(?:'[a-z]+)*(?:-[a-z]+)*'?"
    r"|\d{1,3}(?:,\d{3})+|\d+(?:st|nd|rd|th)?)([,.;]?)"
)
_MAX_WORDS = 60
_NO_SENTENCE = re.compile(r"[\n\"`()\[\]{}<>|*_#?!\\=]|(?<!\d):|:(?!\d)|(?:^|\s)-")
_TOKEN = re.compile(r"[^\W_](?:[^\s,;]*[^\W_])?'?|[$€£]\d[\d.,]*|\d[\d.]*%|%|€|&")
_IZE = re.compile(r"(.+)iz(e|ed|es|er|ers|ing|ation|ations)")
_YZE = re.compile(r"(anal|paral)yz(e|ed|es|ing)")
_ORDINAL_DAY = re.compile(r"([12]?\d|3[01])(?:st|nd|rd|th)")


@lru_cache(2048)
def plain_text(text: str) -> str:
    """Return a text in one character width, without double blanks and a final full stop.

    Capitals count, except in a first word that English writes in lower case elsewhere.
    """
    normal = _normal(text)
    last = normal.split(" ")[-1][:-1]
    if normal.endswith("\u3002") or (
        normal.endswith(".") and (last.isdecimal() or (len(last) > 1 and last.isalpha()))
    ):
        normal = normal[:-1]
    for opening in en.FILLERS:
        if normal.lower().startswith(opening) and normal[1 : len(opening)].islower():
            normal = normal[len(opening) :]
    first = _FIRST_WORD.match(normal)
    if first and first[0].lower() in en.OPENING and first[0][1:].islower():
        normal = normal[0].lower() + normal[1:]
    return normal


@lru_cache(2048)
def sentence_words(text: str) -> Sentence | None:
    """Return the words of a text that may be plain English; None for other texts and for data."""
    normal = _TITLE.sub(r"\1", plain_text(text))
    parts = [_PART.fullmatch(part) for part in normal.removesuffix(".").split(" ")]
    if len(parts) > _MAX_WORDS:
        return None
    tokens: list[str] = []
    for part in parts:
        if part is None or (part[1] == "A" and tokens):
            return None  # a sign, or capitals inside a word
        tokens += [part[1], part[2]] if part[2] else [part[1]]
    if tokens[0] == "A":
        tokens[0] = "a"
    low = {token.lower() for token in tokens}
    if low & (en.LITERAL | en.FOREIGN):
        return None
    words: list[str] = []
    for place, token in enumerate(tokens):
        is_first = place == 0 or tokens[place - 1] in (".", ";")
        is_small = is_first and token.lower().partition("'")[0] in en.OPENING
        word = token.lower() if is_small else token
        after = tokens[place + 1] if place + 1 < len(tokens) else ""
        words += _uncontracted("." if word == ";" else word, after)
    return tuple(
        _without_optional_words(
            _with_plain_dates(_with_digits([_spelling(word) for word in words]))
        )
    )


@lru_cache(2048)
def event_words(text: str) -> Sentence | None:
    """Return the words of a text for the comparison of events; None if it is no plain sentence.

    Words with digits and signs stay as they are: the comparison moves them, and never changes them.
    """
    parts = text.removesuffix(".").split(" ")
    if len(parts) > _MAX_WORDS or _NO_SENTENCE.search(text):
        return None
    tokens: list[str] = []
    for part in parts:
        word = part.rstrip(",;")
        if (
            len(part) - len(word) > 1
            or not word
            or word.endswith(".")
            or not _TOKEN.fullmatch(word)
        ):
            return None
        tokens += [word, part[-1]] if part != word else [word]
    words: list[str] = []
    for place, token in enumerate(tokens):
        is_first = place == 0 or tokens[place - 1] == ";"
        after = tokens[place + 1] if place + 1 < len(tokens) else ""
        word = _small(token, after) if is_first else token
        words += _uncontracted(word, after)
    if {word.lower() for word in words} & (en.LITERAL - en.KEYS) or {*words} & en.FOREIGN:
        return None
    return tuple(
        _without_optional_words(
            _with_usual_times(_with_plain_dates(_with_digits([_spelling(word) for word in words])))
        )
    )


def _with_usual_times(words: list[str]) -> list[str]:
    """Return the words with "on 4 June" for "on June 4", and "until" for "till"."""
    result = [*words]
    days = en.WEEKDAYS | {day + "s" for day in en.WEEKDAYS}
    for place in range(1, len(words) - 1):
        before, word, after = words[place - 1 : place + 2]
        is_day = after.isdecimal() and len(after) < 3 and words[place + 2 : place + 3] != ["to"]
        if word in en.MONTHS and is_day and before in ("on", "by", "until", "since"):
            result[place : place + 2] = [after, word]
        elif word == "till" and (after[:1].isdigit() or after in days | en.MONTHS | {"noon"}):
            result[place] = "until"
        elif word == "&" and before in days and after in days:
            result[place] = "and"
    return result


def _small(word: str, after: str) -> str:
    """Return the first word of a sentence as it is written in the middle of one."""
    low = word.lower()
    if word != low[:1].upper() + low[1:] or word == "I":
        return word
    stem = low.partition("'")[0]
    if stem in en.OPENING or stem in en.SMALL_OPENINGS:
        return low
    is_order = stem in en.BASES and after in en.DETERMINERS | en.OPENING | en.AFTER_ORDERS
    is_order = is_order or (stem in en.ORDER_VERBS and after[:1].isupper())
    is_several = low.endswith("s") and stem not in en.FIRST_NAMES
    is_plural = is_several and after in (en.AUXILIARIES | en.BASES) - {"will", "may", "can"}
    is_plural = is_plural or (stem in en.ANIMALS and after in en.FINITE)
    is_noted = stem in en.PASTS_OF and after in en.DETERMINERS
    return low if is_order or is_plural or is_noted else word


def is_english(text: str) -> bool:
    """Return whether a word proves that a text is English; names and similar words do not."""
    low = {word.lower().rstrip(",.;?") for word in _normal(text).split()}
    if re.search(r"\bI(?:'m| am) [a-z]", _normal(text)):
        return True
    if len(low & en.OFTEN_ENGLISH) > 1:
        return True
    return bool(low & en.ENGLISH) or any(
        word.endswith(("n't", "'re", "'ve", "'ll")) for word in low
    )


def _normal(text: str) -> str:
    text = unicodedata.normalize("NFC", text).translate(_SAME_SIGNS)
    wide = "".join(
        unicodedata.normalize("NFKC", char)
        if char == "\u3000" or "\uff01" <= char <= "\uffee"
        else char
        for char in text
    )
    lines = unicodedata.normalize("NFC", wide).strip().splitlines()
    return "\n".join(" ".join(line.split()) for line in lines)


def _uncontracted(word: str, after: str) -> list[str]:
    low = word.lower()
    if low in en.CONTRACTIONS and word in (low, "I'm"):
        return en.CONTRACTIONS[low].split()
    if low.endswith("n't") and low[:-3] in en.AUXILIARIES:
        return [word[:-3], "not"]
    for ending, full in (("'re", "are"), ("'ve", "have"), ("'ll", "will"), ("'m", "am")):
        stem = word.removesuffix(ending)
        if stem != word and stem.lower() in en.PRONOUNS:
            return [stem, full]
    if low.endswith("'s"):
        stem = word[:-2]
        if after in ("been", "got"):
            return [stem, "has"]
        if stem.lower() in en.PRONOUNS and (after in en.AFTER_IS or after.endswith("ing")):
            return [stem, "is"]
    return [word]


def _spelling(word: str) -> str:
    if not word.islower():
        return word  # Gray is not Grey
    word = en.SPELLINGS.get(word, word)
    if (match := _IZE.fullmatch(word)) and match[1] in en.IZE:
        return f"{match[1]}is{match[2]}"
    if match := _YZE.fullmatch(word):
        return f"{match[1]}ys{match[2]}"
    return word


def _with_digits(words: Sequence[str]) -> list[str]:
    """Return the words with spelled numbers before plurals as digits, as in "two bills"."""
    counted = [*words]
    for place, word in enumerate(words[:-1]):
        before = words[place - 1] if place else ""
        after = words[place + 1]
        if not word[0].isalnum() or not en.is_several(after) or _is_number(before):
            continue
        counted[place] = en.NUMBERS.get(word, word.replace(",", ""))
    return counted


def _is_number(word: str) -> bool:
    return word in en.NUMBERS or word in en.SCALES or word[:1].isdigit()


def _with_plain_dates(words: Sequence[str]) -> list[str]:
    """Return the words with "the 3rd of May" as "3 May"."""
    result: list[str] = []
    for word, after in zip(words, [*words, ""][1:], strict=True):
        if word in en.MONTHS and result and not after.istitle():
            has_of = result[-1] == "of" and len(result) > 1
            day = _ORDINAL_DAY.fullmatch(result[-2] if has_of else result[-1])
            if day:
                del result[-2 if has_of else -1 :]
                if result[-1:] == ["the"]:
                    del result[-1]
                result.append(day[1])
        result.append(word)
    return result


def _without_optional_words(words: list[str]) -> list[str]:
    """Return a sentence without function words that add nothing."""
    for phrase, plain in en.PHRASES:
        for place in range(len(words) - len(phrase)):
            if words[place : place + len(phrase)] == phrase:
                words = [*words[:place], *plain, *words[place + len(phrase) :]]
                break
    words = _with_lots(words)
    if words[:2] == ["the", "user"] and words[2:3] and words[2] in en.FINITE:
        words = words[1:]
    elif words[:1] == ["User"] and words[1:2] and words[1] in en.FINITE:
        words = ["user", *words[1:]]
    return [word for place, word in enumerate(words) if not _is_optional(words, place)]


def _with_lots(words: list[str]) -> list[str]:
    """Return "lots of apples" for "a lot of apples"; "a lot of land" may be a plot."""
    for place in range(len(words) - 3):
        if words[place : place + 3] == ["a", "lot", "of"] and en.is_several(words[place + 3]):
            return [*words[:place], "lots", *words[place + 2 :]]
    return words


def without_articles(words: Sentence) -> Sentence:
    """Return the words without articles that a note may leave out.

    Only articles before nouns of a short list are removed, which always have one.
    """
    remaining = [
        word
        for place, word in enumerate(words)
        if not (word in ("the", "a", "an") and _is_clear_noun(words, place))
    ]
    return tuple(remaining)


def _is_clear_noun(words: Sentence, place: int) -> bool:
    before = words[place - 1] if place else ""
    is_at = before in ("in", "at", "near", "to", "from")
    if not is_at and before not in en.GETTING:
        return False
    noun = place + 1
    while noun < len(words) and words[noun] in en.ADJECTIVES:
        noun += 1
    after = words[noun + 1] if noun + 1 < len(words) else ""
    is_last = after in ("", ".", "in", "at", "near", "to", "from", "on") or after in en.DATED
    is_person = before in ("to", "at") and words[noun : noun + 1] in en.VISITED
    is_thing = noun < len(words) and words[noun] in en.COUNTED
    return is_last and (is_person or is_thing)


def _is_optional(words: Sequence[str], place: int) -> bool:
    before, after = words[:place], words[place + 1 :]
    match words[place]:
        case "that" | "whom":
            return _is_optional_that(before, after)
        case "of":  # "all of the", without a list that "both" or "all" could be about
            return (
                before[-1:] in (["all"], ["both"], ["half"])
                and (
                    after[:1] == ["the"]
                    or after[:1] in [[possessive] for possessive in en.POSSESSIVES]
                )
                and "and" not in words
                and "or" not in words
            )
        case "to":  # "helped Ann to move the sofa"
            return (
                len(after) > 1
                and after[0] in en.BASES
                and after[1] in en.DETERMINERS
                and _is_helped(before)
            )
        case "got":  # "has got a dog"
            return before[-1:] in (["has"], ["have"]) and (
                after[:1] in (["a"], ["an"]) or (len(after) > 0 and after[0].isdecimal())
            )
        case _:
            return False


def _is_helped(before: Sequence[str]) -> bool:
    match before:
        case [*_, "help" | "helps" | "helped", one]:
            return one.istitle() or one in en.OBJECTS
        case [*_, "help" | "helps" | "helped", first, noun]:
            return first in en.DETERMINERS and noun.islower() and noun not in en.FUNCTION
        case _:
            return False


def _is_optional_that(before: Sequence[str], after: Sequence[str]) -> bool:
    """Return whether "that" begins a clause after "said", or one about "the dog" at the start."""
    size = _subject_size(after)
    if not size or len(after) <= size or after[size] not in en.FINITE:
        return False
    if before[-1:] and (before[-1] in en.SAYING or before[-2:] == ["found", "out"]):
        return True
    if before[-2:-1] and before[-2] in en.TELLING and before[-1] in en.OBJECTS.keys() | {"you"}:
        return True
    if before[-2:-1] and before[-2] in en.TELLING and before[-1].istitle():
        return True
    if len(before) != 2 or before[0] != "the" or not before[1].islower():
        return False
    tail = after[size + 1 :]
    if len(tail) > 1 and tail[0] in ("from", "to", "with", "for") and tail[1].istitle():
        tail = tail[2:]
    if tail and (tail[0].istitle() or tail[0] in en.OBJECTS):
        tail = tail[1:]
    return after[size] in en.PASTS_OF and tail[:1] in (["is"], ["are"], ["was"], ["were"])


def _subject_size(words: Sequence[str]) -> int:
    """Return the number of words at the beginning that are a subject; 0 for none."""
    first = words[0] if words else ""
    if first in en.SUBJECTS or first in ("you", "it") or first.istitle():
        return 1
    if first in en.DETERMINERS and len(words) > 1 and words[1] not in en.FUNCTION:
        return 2
    return 0
