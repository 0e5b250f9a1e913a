"""The words of time of a language: which kinds of word a phrase can be, and what it is worth.

A line of a language's file reads `kind value: phrase, phrase`. `~` marks a month or a weekday that
is also another word ("may", "sat"); it counts only where the words before it say so. The words of
the kind `plain` mean no time, and show that a text is in this language; those of the kind `empty`
name nothing to search for.
"""

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache

from nacre.core.lazy_dataclasses import dataclass
from nacre.text.time_expressions.words.chinese import CHINESE
from nacre.text.time_expressions.words.english import ENGLISH
from nacre.text.time_expressions.words.french import FRENCH
from nacre.text.time_expressions.words.german import GERMAN
from nacre.text.time_expressions.words.italian import ITALIAN
from nacre.text.time_expressions.words.japanese import JAPANESE
from nacre.text.time_expressions.words.portuguese import PORTUGUESE
from nacre.text.time_expressions.words.spanish import SPANISH

Kinds = Mapping[str, str]
"""The kinds that a phrase can be, each with its value."""

_LINE = re.compile(r"(?P<kind>\w+)(?: (?P<value>[^:]*))?: (?P<phrases>.*)")
_TIMES = frozenset(["day", "tomorrow", "unit", "weekday", "month", "season", "weekend", "period"])
_MARKS = re.compile("[\u0300-\u036f]")
_SEPARATOR = re.compile(r"[\s'\u2019-]+")


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The phrases of a language, folded, and all the words in them."""

    phrases: Mapping[str, Kinds]
    words: frozenset[str]
    signals: frozenset[str]  # one word of each phrase that no expression is without
    longest: int  # in words, or in characters where words have no spaces between them
    spaced: bool
    is_english: bool = False


def folded(word: str) -> str:
    """Return a word in lower case and without accents, which queries often leave out."""
    if word.isascii():
        return word.lower()
    plain = unicodedata.normalize("NFKC", word).casefold()
    if plain[0] > "\u2e7f":
        return plain
    return _MARKS.sub("", unicodedata.normalize("NFKD", plain))


@lru_cache(1)
def spaced_lexicons() -> tuple[Lexicon, ...]:
    """Return the lexicons of languages with spaces between words; the first one is English."""
    texts = (ENGLISH, GERMAN, FRENCH, SPANISH, ITALIAN, PORTUGUESE)
    return tuple(_lexicon(text, spaced=True, is_english=text is ENGLISH) for text in texts)


@lru_cache(1)
def unspaced_lexicons() -> tuple[Lexicon, Lexicon]:
    """Return the lexicons of Japanese and of Chinese."""
    return _lexicon(JAPANESE, spaced=False), _lexicon(CHINESE, spaced=False)


def _lexicon(text: str, *, spaced: bool, is_english: bool = False) -> Lexicon:
    phrases: dict[str, dict[str, str]] = {}
    plain: set[str] = set()
    signals: set[str] = set()
    for line in text.split("\n"):
        match = _LINE.fullmatch(line.strip())
        if match is None:
            continue
        for phrase in match["phrases"].split(", "):
            words = [folded(word) for word in _SEPARATOR.split(phrase.removeprefix("~"))]
            plain.update(words)
            if match["kind"] in _TIMES:
                signals.add(max(words, key=len))
            kind = f"weak_{match['kind']}" if phrase.startswith("~") else match["kind"]
            phrases.setdefault(" ".join(words), {})[kind] = match["value"] or ""
    lengths = [phrase.count(" ") + 1 if spaced else len(phrase) for phrase in phrases]
    return Lexicon(phrases, frozenset(plain), frozenset(signals), max(lengths), spaced, is_english)
