"""Analysis of texts: terms for keyword search, the kind of script, fingerprints of events.

English words are stemmed, and stop words are left out. Scripts without spaces between words
are cut into overlapping pairs, so that a word of two letters is found anywhere.
"""

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

from nacre.text.characters import Replacements
from nacre.text.stemming import stem

_WORDS = """
    a about above after again against all also am an and any are aren't as at
    be because been before being below between both but by
    can can't cannot could couldn't did didn't do does doesn't doing don't down during
    each either else ever every few for from further
    had hadn't has hasn't have haven't having he he'd he'll he's her here here's hers herself
    him himself his how how's however
    i i'd i'll i'm i've if in into is isn't it it'd it'll it's its itself just
    let's me might more most much must mustn't my myself
    neither no nor not of off on once only or other ought our ours ourselves out over own
    rather same shall shan't she she'd she'll she's should shouldn't since so some such
    than that that'd that'll that's the their theirs them themselves then there there's these
    they they'd they'll they're they've this those though through thus to too
    under until up upon us very was wasn't we we'd we'll we're we've were weren't
    what what's when when's where where's whether which while who who's whom whose why why's
    will with within without won't would wouldn't yet you you'd you'll you're you've
    your yours yourself yourselves
    """

STOP_WORDS = frozenset(_WORDS.split())
"""In lower case, with straight apostrophes."""


_CACHED_WORDS = 20_000  # a few megabytes, as for stems
_CACHED_TEXTS = 4096  # about 6 MB of short notes
_CACHED_LENGTH = 500  # longer texts are not cached
_MAX_TERM = 64  # longer ones are noise, and an index keeps every term
_FIRST_PICTOGRAM = 0x2600  # symbols before it are signs such as degrees and copyright
_END_PUNCTUATION = ".!?,;:\u2026\u3002\u3001\uff0e\uff0c\uff01\uff1f \t\n"

# Chinese, Japanese and Korean letters.
_CJK = "\u1100-\u11ff\u2e80-\u2fff\u3005-\u3007\u3021-\u312f\u3130-\u318f\u31a0-\u31ff" + (
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00016fe0-\U000323af"
)
# Thai, Lao, Burmese and Khmer have no spaces between words either.
_UNSPACED = _CJK + "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_PARTS = re.compile(rf"(?P<unspaced>[{_UNSPACED}]+)|(?P<word>[^\s{_UNSPACED}]+)")
_CJK_LETTER = re.compile(f"[{_CJK}]")
_LONE_HAN = re.compile(
    "(?<![\u3005\u3400-\u4dbf\u4e00-\u9fff])[\u3400-\u4dbf\u4e00-\u9fff]"
    "(?![\u3005\u3400-\u4dbf\u4e00-\u9fff])"
)


def terms(text: str) -> tuple[str, ...]:
    """Return the terms of a text for keyword search, in order and with repetitions."""
    if text.isascii():
        return tuple(filter(None, map(_term, _plain(text).split())))
    return tuple(_terms(_plain(text)))


def distinct_terms(text: str) -> frozenset[str]:
    """Return the terms of a text without repetitions; those of recent short texts are cached.

    A search compares its words with the texts of many memories, mostly the same as the last.
    """
    return _distinct_terms(text) if len(text) <= _CACHED_LENGTH else frozenset(terms(text))


def mostly_cjk(text: str) -> bool:
    """Return whether more than half of a text's letters are Chinese, Japanese or Korean."""
    letters = [char for char in unicodedata.normalize("NFKC", text) if char.isalpha()]
    return 2 * sum(bool(_CJK_LETTER.match(char)) for char in letters) > len(letters)


def fingerprint(action: str, actors: Sequence[str], when: Sequence[str]) -> str:
    """Return 64 digits that are the same for all spellings of one event.

    Case, width, spaces, end punctuation and the order of actors and days are ignored.
    """
    parts = [_canonical(action), _distinct(actors), _distinct(when)]
    text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@lru_cache(_CACHED_TEXTS)
def _distinct_terms(text: str) -> frozenset[str]:
    return frozenset(terms(text))


def _terms(plain: str) -> Iterator[str]:
    for part in _PARTS.finditer(plain):
        word = part["word"]
        if word is None:
            yield from _pairs(part["unspaced"])
        elif term := _term(word):
            yield term


def _term(word: str) -> str:
    """Return the term of a word in plain letters; "" for a stop word."""
    return _short_term(word) if len(word) <= _MAX_TERM else _any_term(word)


def _any_term(word: str) -> str:
    if word in STOP_WORDS:
        return ""
    # "'s" is an ending; any other apostrophe is part of a name.
    word = word.removesuffix("'s").replace("'", "")
    if word.isdecimal():
        word = word.lstrip("0") or "0"  # the 8th of May is 05-08 in a date
    return "" if word in STOP_WORDS else stem(word[:_MAX_TERM])


_short_term = lru_cache(_CACHED_WORDS)(_any_term)


def _pairs(run: str) -> Iterator[str]:
    """Yield pairs of neighbouring letters, and single Chinese characters among other letters."""
    if len(run) == 1:
        yield run
        return
    yield from (run[place : place + 2] for place in range(len(run) - 1))
    yield from (match.group() for match in _LONE_HAN.finditer(run))


def _plain(text: str) -> str:
    """Return the text in one case, width and spelling, with spaces between words."""
    if text.isascii():
        return text.lower().translate(_SEPARATED)
    letters = unicodedata.normalize("NFKD", text).translate(_UNMARKED).casefold()
    return unicodedata.normalize("NFKC", letters).translate(_UNMARKED).translate(_SEPARATED)


def _unmarked(char: str) -> str:
    """Return the character, or "" for accents, vowel points and invisible characters."""
    code = ord(char)
    is_accent = 0x0300 <= code <= 0x036F
    is_hebrew_point = 0x0591 <= code <= 0x05C7 and unicodedata.category(char) == "Mn"
    is_arabic_point = 0x0610 <= code <= 0x06ED and unicodedata.category(char) == "Mn"
    is_unseen = unicodedata.category(char) == "Cf" or 0xFE00 <= code <= 0xFE0F or char == "\u0640"
    return "" if is_accent or is_hebrew_point or is_arabic_point or is_unseen else char


def _separated(char: str) -> str:
    if char in "'\u2019\u02bc":
        return "'"
    category = unicodedata.category(char)
    if category[0] in "LNM":
        return char
    if category == "So" and ord(char) >= _FIRST_PICTOGRAM:
        return f" {char} "
    return " "


_UNMARKED = Replacements(_unmarked)
_SEPARATED = Replacements(_separated)


def _canonical(text: str) -> str:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(folded.split()).rstrip(_END_PUNCTUATION)


def _distinct(texts: Sequence[str]) -> list[str]:
    return sorted({_canonical(text) for text in texts} - {""})
