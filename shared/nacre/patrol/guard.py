"""The guard: what a cosine cannot see before two notes are taken for one.

A number, a "not" or another noun changes what is said and hardly a mean of words. So two notes
are one only if their numbers, their negations and their actors are the same, and at most one of
them has a word that the other lacks.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from nacre.memory.analysis import terms

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_NUMBER_WORDS = {
    word: str(number)
    for number, words in {
        0: "zero", 2: "two twice", 3: "three thrice", 4: "four", 5: "five", 6: "six", 7: "seven",
        8: "eight", 9: "nine", 10: "ten", 11: "eleven", 12: "twelve dozen", 13: "thirteen",
        14: "fourteen", 15: "fifteen", 16: "sixteen", 17: "seventeen", 18: "eighteen",
        19: "nineteen", 20: "twenty", 30: "thirty", 40: "forty", 50: "fifty", 60: "sixty",
        70: "seventy", 80: "eighty", 90: "ninety", 100: "hundred", 1000: "thousand",
        10**6: "million",
    }.items()
    for word in words.split()
}  # fmt: skip
_NUMBER_TERMS = frozenset(term for word in _NUMBER_WORDS for term in terms(word))
_ENGLISH = {
    "not",
    "no",
    "never",
    "none",
    "nobody",
    "nothing",
    "neither",
    "nor",
    "cannot",
    "without",
}
_GERMAN = {
    "nicht",
    "kein",
    "keine",
    "keinen",
    "keiner",
    "nie",
    "niemals",
    "nichts",
    "niemand",
    "ohne",
}
_ROMANCE = {"pas", "jamais", "rien", "aucun", "sans", "nunca", "nadie", "nada", "sin", "non"}
_NEGATIONS = _ENGLISH | _GERMAN | _ROMANCE
_CJK_NEGATION = re.compile("ない|なか|ません|ず(?=[に、。]|$)|[不没沒無无未非別别]|안 |않|못")


def may_be_one(one: str, other: str, *, actors: Sequence[str], other_actors: Sequence[str]) -> bool:
    """Whether two actions with their actors may say the same."""
    first, second = _read(one), _read(other)
    return (
        first.numbers == second.numbers
        and first.is_negated is second.is_negated
        and not (first.words - second.words and second.words - first.words)
        and _folded(actors) == _folded(other_actors)
    )


class _Reading:
    __slots__ = ("is_negated", "numbers", "words")

    def __init__(self, text: str) -> None:
        plain = unicodedata.normalize("NFKC", text).casefold()
        found = [word.replace("\u2019", "'") for word in _WORD.findall(plain)]
        self.numbers = sorted(
            [
                *_NUMBER.findall(plain),
                *(_NUMBER_WORDS[word] for word in found if word in _NUMBER_WORDS),
            ]
        )
        negations = sum(word in _NEGATIONS or word.endswith("n't") for word in found)
        self.is_negated = (negations + len(_CJK_NEGATION.findall(plain))) % 2 == 1
        # A word that stands twice counts twice: one of them may be what was replaced.
        seen: Counter[str] = Counter()
        words = set()
        for word in terms(text):
            if word in _NUMBER_TERMS or any(map(str.isdecimal, word)):
                continue  # compared by themselves, however they are written
            seen[word] += 1
            words.add((word, seen[word]))
        self.words = frozenset(words)


@lru_cache(1024)
def _read(text: str) -> _Reading:
    return _Reading(text)


def _folded(actors: Sequence[str]) -> set[str]:
    return {unicodedata.normalize("NFKC", actor).casefold() for actor in actors}
