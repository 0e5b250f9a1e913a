"""A query as tokens: each has its place in the text and the kinds of word that it can be."""

import re
from collections.abc import Iterator
from functools import lru_cache

from nacre.core.lazy_dataclasses import dataclass
from nacre.text.time_expressions.lexicon import Kinds, Lexicon, folded

_CJK = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_DIGITS = {char: number for number, char in enumerate("〇一二三四五六七八九")}
_JOINED = re.compile(r"[\s'\u2019-]*")


@dataclass(frozen=True, slots=True)
class Token:
    """A word, phrase, number or sign of a text, with the kinds of word that it can be."""

    start: int
    end: int
    text: str
    kinds: Kinds


def tokens_of(text: str, lexicon: Lexicon) -> list[Token]:
    """Return the tokens of a text; the longest phrase of the lexicon wins."""
    pieces = list(_pieces(text, lexicon))
    if not lexicon.spaced:
        return pieces
    tokens: list[Token] = []
    place = 0
    while place < len(pieces):
        phrase = _phrase(text, pieces, place, lexicon)
        tokens.append(phrase[0])
        place = phrase[1]
    return tokens


@lru_cache(1)
def _pattern() -> re.Pattern[str]:
    """Return the pattern of a piece of text, compiled when the first query needs it."""
    return re.compile(
        rf"""
    (?P<iso>(?<![\w.-])\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}(?![^\W{_CJK}]|[/.-]\d))
    | (?P<iso_month>(?<![\w.-])(?:19|20)\d\d-\d\d(?![^\W{_CJK}]|-))
    | (?P<dotted>(?<![\w.])\d{{1,2}}\.\s?\d{{1,2}}\.(?:\s?(?:\d\d)?\d\d(?![\w.]))?(?!\d))
    | (?P<slashed>(?<![\w/.-])\d{{1,2}}/\d{{1,2}}/(?:\d\d)?\d\d(?![\w/]))
    | (?P<day_only>(?<![\w/.,-])\d{{1,2}}/\d{{1,2}}(?![\w/]))
    | (?P<quarter>(?<!\w)[qQ][1-4](?!\w))
    | (?P<number>(?<![^\W{_CJK}])(?<![.,:])(?<![^\W\d]-)\d{{1,4}}
        (?:st|nd|rd|th|er|\u00ba|\u00aa|ten|ter|te|\u00b0)?(?![^\W{_CJK}]|[.,:]\d))
    | (?P<numeral>[\u3007\u4e00\u4e8c\u4e09\u56db\u4e94\u516d\u4e03\u516b\u4e5d\u5341]+)
    | (?P<cjk>[{_CJK}])
    | (?P<word>[^\W{_CJK}]+)
    | (?P<mark>\S)
    """,
        re.VERBOSE,
    )


def _phrase(text: str, pieces: list[Token], place: int, lexicon: Lexicon) -> tuple[Token, int]:
    """Return the longest phrase at a place, and the place behind it."""
    first = pieces[place]
    words = first.text
    best = first, place + 1
    for end in range(place + 1, min(place + lexicon.longest, len(pieces))):
        if not _JOINED.fullmatch(text, pieces[end - 1].end, pieces[end].start):
            break
        words += " " + pieces[end].text
        kinds = lexicon.phrases.get(words)
        if kinds is not None:
            best = Token(first.start, pieces[end].end, words, kinds), end + 1
    return best


def _pieces(text: str, lexicon: Lexicon) -> Iterator[Token]:
    place, pattern = 0, _pattern()
    while match := pattern.search(text, place):
        name, piece = match.lastgroup, match.group()
        place = match.end()
        if name in ("cjk", "numeral") and not lexicon.spaced:
            phrase = _longest(text, match.start(), lexicon)
            if len(phrase) >= len(piece):
                place = match.start() + len(phrase)
                yield Token(match.start(), place, phrase, lexicon.phrases[phrase])
                continue
        if name == "mark" and piece in "'\u2019-" and not _is_span(text, match.start()):
            continue
        yield Token(match.start(), place, folded(piece), _kinds(str(name), piece, lexicon))


def _is_span(text: str, place: int) -> bool:
    """Return whether a hyphen stands for "to", as in "3-10 May" and "Monday - Friday"."""
    before, after = text[:place][-1:], text[place + 1 : place + 2]
    return text[place] == "-" and (
        (before.isdecimal() and after.isdecimal()) or (before.isspace() and after.isspace())
    )


def _longest(text: str, start: int, lexicon: Lexicon) -> str:
    for length in range(lexicon.longest, 0, -1):
        phrase = text[start : start + length]
        if phrase in lexicon.phrases:
            return phrase
    return ""


def _kinds(name: str, piece: str, lexicon: Lexicon) -> Kinds:
    if name == "word":
        return lexicon.phrases.get(folded(piece), {})
    if name == "number":
        return _number_kinds(piece)
    if name == "numeral":
        amount = _numeral(piece)
        return {} if amount is None else {"number": str(amount), "digits": str(amount)}
    if name == "mark":
        return {",": {"comma": ""}, "\u3001": {"comma": ""}, ".": {"dot": ""}}.get(
            piece, {"dash": ""} if piece in "-\u2013\u2014~\u301c\uff5e" else {}
        )
    return {} if name == "cjk" else {name: piece}


def _number_kinds(piece: str) -> Kinds:
    digits = "".join(char for char in piece if char.isdecimal())
    number = int(digits)
    kinds = {}
    if digits == piece and 0 < number <= 999:
        kinds["number"] = str(number)
    if 0 < number <= 31 and len(digits) < 3:
        kinds["digits"] = str(number)
        if digits != piece:
            kinds["nth"] = kinds["suffixed"] = str(number)
    if digits == piece and len(digits) == 4 and 1900 <= number < 2100:
        kinds["year"] = digits
    return kinds


def _numeral(piece: str) -> int | None:
    """Return the number that Chinese numerals below a hundred say."""
    tens, ten, ones = piece.rpartition("十")
    if len(tens) > 1 or len(ones) > 1:
        return None
    return 10 * (_DIGITS[tens] if tens else bool(ten)) + (_DIGITS[ones] if ones else 0) or None
