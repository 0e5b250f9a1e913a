"""The wording of a text: a learned score of its words, pairs of words and kinds of words.

The features of `features` are written by hand and need certain words. This score also covers all
other words. It is linear: parts of words, pairs of words, kinds of words and
pairs of kinds each have a weight, and the weights of a stretch of text add up. The weights were
fitted by `tests/firewall/content/injection/fit_injection.py` and are read from a file of some 30 KB.
"""

# ruff: noqa: E501 (the table of names is read best as it is)

import re
from array import array
from base64 import b85decode
from bisect import bisect_left
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from json import loads
from math import sqrt
from pathlib import Path
from typing import Any
from zlib import crc32

from nacre.core.bounded_cache import BoundedCache
from nacre.core.lazy_dataclasses import dataclass
from nacre.firewall.content.injection.tokens import Token
from nacre.firewall.content.injection.words import Word

FILE = Path(__file__).with_suffix(".json")
WORDS = 1 << 13  # buckets for parts of words; pairs of words have the same number
KINDS = 88  # kinds of words, as bits of `Token.classes`
SIZES = (2 * WORDS, KINDS, KINDS * KINDS)
HALF = 40  # words; two halves in a row are judged together, so stretches overlap
_NEAR = 8  # the largest distance, in words, of two kinds that count as a pair
_MAX_KNOWN = 20_000
_MAX_LETTERS = 24  # letters of a word
# Bits about the place of a word, or how it was recognised, are not kinds of words.
MEANING = ((1 << KINDS) - 1) & ~(Word.BEGINS | Word.LAST | Word.PHRASE | Word.TYPO)
_ANY_WORD, _ASCII_WORD = r"[^\W_]{1,60}|[^\w\s]|_", r"[a-z0-9]{1,60}|[^a-z0-9\s]"
_WORD, _ASCII = re.compile(_ANY_WORD), re.compile(_ASCII_WORD)
_HALF_OF = [
    re.compile(rf"(?:{word})(?:\s*(?:{word})){{0,{HALF - 1}}}") for word in (_ANY_WORD, _ASCII_WORD)
]
_SCRIPTLESS = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_MIX, _SMALL, _PAIRS = 0x9E3779B1, 1 << 29, WORDS - 1

NAMES: Mapping[int, str] = {
    Word.MODEL: "a model", Word.AGENT: "an agent", Word.USER: "its user", Word.ITS_USER: "its user",
    Word.STRANGER: "whoever reads", Word.COMMAND: "an order", Word.MUST: "a duty", Word.SEND: "sending",
    Word.SHOW: "giving something out", Word.TELL: "telling somebody", Word.NOT: "what not to do",
    Word.WITHOUT: "what not to do", Word.SECRETIVE: "what not to do", Word.SECRETLY: "secrecy",
    Word.SECRET: "secrets", Word.PRIVATE: "private data", Word.CHAT: "the conversation",
    Word.ADDRESS: "an address", Word.PLACE: "an address", Word.HOSTILE: "an address",
    Word.TOOL: "tools", Word.NAME: "tools", Word.DEED: "tools", Word.SHELL: "commands", Word.RUN: "commands",
    Word.ANSWER: "an answer", Word.STATED: "a verdict", Word.PRAISE: "a verdict", Word.READ: "reading",
    Word.WHEN: "an occasion", Word.LATER: "an occasion", Word.IF: "an occasion", Word.KEEP: "remembering",
    Word.PERSIST: "remembering", Word.CHIEF: "authority", Word.GRANTED: "consent", Word.APPROVE: "consent",
    Word.CHECK: "checks", Word.LIMITS: "checks", Word.ORDERS: "instructions", Word.TOLD: "instructions",
    Word.MONEY: "money", Word.ASSET: "what tools touch", Word.DANGER: "damage", Word.FAULT: "an error",
    Word.CONTINUE: "what is needed to go on", Word.TASK: "the task", Word.YOU: "the reader", Word.OWN: "the reader",
}  # fmt: skip


# For words, kinds and pairs of kinds: the sum of their weights, and their number.
Sums = tuple[tuple[int, int], tuple[int, int], tuple[int, int]]
NOTHING: Sums = ((0, 0), (0, 0), (0, 0))


@dataclass(slots=True)
class Weights:
    """Fitted weights: integers for each feature, by block, and the scale of each block."""

    blocks: "tuple[array[int], ...]"
    scales: tuple[float, ...]
    bias: float

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> "Weights":
        """Return the weights of a parsed file."""
        blocks = tuple(array("b", b85decode(block)) for block in data["blocks"])
        return cls(blocks, tuple(data["scales"]), data["bias"])


@dataclass(slots=True)
class Stretch:
    """A stretch of a text, the score of its wording, and the range of its tokens."""

    score: float
    start: int
    end: int
    first: int
    last: int


def grams(word: str) -> list[int]:
    """Return the buckets of a word and its parts."""
    if len(word) == 1 and not word.isalnum():
        parts = [word]
    elif _SCRIPTLESS.search(word):
        parts = [word[at : at + n] for n in (1, 2, 3) for at in range(len(word) - n + 1)]
    elif word.isdigit():
        parts = [f"#{min(len(word), 6)}"]
    else:
        word = word[:_MAX_LETTERS]
        inside = f" {word} "
        parts = [f"={word}"]
        parts += [inside[at : at + n] for n in (3, 4, 5) for at in range(len(inside) - n + 1)]
    return [crc32(part.encode("utf-8", "replace")) % WORDS for part in parts]


def numbers(word: str) -> tuple[int, int]:
    """Return the numbers that a word has as the first and as the second of a pair."""
    number = crc32(word.encode("utf-8", "replace"))
    return number * _MIX % _SMALL, number % _SMALL


def pair(before: int, after: int) -> int:
    """Return the bucket of two words in a row, from their numbers."""
    return WORDS + (before + after >> 7 & _PAIRS)


def kinds(classes: int) -> list[int]:
    """Return the kinds that a word has, as numbers of bits."""
    return [bit for bit in range(KINDS) if classes >> bit & 1]


class Wording:
    """Scores stretches of texts by given weights, and caches the sums of words and kinds."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._follow = weights.blocks[0][WORDS:]
        self._totals: dict[str, int] = {}
        self._counts: dict[str, int] = {}
        self._before: dict[str, int] = {}
        self._after: dict[str, int] = {}
        self._kinds: BoundedCache[int, tuple[int, int]] = BoundedCache(_MAX_KNOWN)
        self._pairs: BoundedCache[tuple[int, int], tuple[int, int]] = BoundedCache(_MAX_KNOWN)

    def sums(self, words: list[str], tokens: list[Token]) -> Sums:
        """Return the sums of the weights of one half's words and tokens."""
        if len(self._before) >= _MAX_KNOWN:
            for cache in (self._totals, self._counts, self._before, self._after):
                cache.clear()
        vocabulary = set(words)
        for word in vocabulary.difference(self._before):
            self._learn(word)
        before, after = self._before, self._after
        follow = {
            earlier + later >> 7 & _PAIRS
            for earlier, later in zip(
                map(before.__getitem__, words), map(after.__getitem__, words[1:]), strict=False
            )
        }
        total = sum(map(self._totals.__getitem__, vocabulary))
        total += sum(map(self._follow.__getitem__, follow))
        count = sum(map(self._counts.__getitem__, vocabulary)) + len(follow)
        masks = [token.classes & MEANING for token in tokens]
        return (
            (total, count),
            self._of_kinds(set(masks)),
            self._of_pairs(pairs_of(tokens, masks)),
        )

    def score(self, first: Sums, second: Sums) -> float:
        """Return the score of two halves; 0 is in between."""
        score = self._weights.bias
        for (total, count), (more, others), scale in zip(
            first, second, self._weights.scales, strict=True
        ):
            if count + others:
                score += scale * (total + more) / sqrt(count + others)
        return score

    def _learn(self, word: str) -> None:
        buckets, table = grams(word), self._weights.blocks[0]
        self._totals[word] = sum(table[bucket] for bucket in buckets)
        self._counts[word] = len(buckets)
        self._before[word], self._after[word] = numbers(word)

    def _of_kinds(self, masks: set[int]) -> tuple[int, int]:
        total = count = 0
        for mask in masks:
            entry = self._kinds.get(mask)
            if entry is None:
                bits = kinds(mask)
                entry = (sum(self._weights.blocks[1][bit] for bit in bits), len(bits))
                self._kinds[mask] = entry
            total += entry[0]
            count += entry[1]
        return total, count

    def _of_pairs(self, pairs: set[tuple[int, int]]) -> tuple[int, int]:
        total = count = 0
        for kinds_of_pair in pairs:
            entry = self._pairs.get(kinds_of_pair)
            if entry is None:
                table, after = self._weights.blocks[2], kinds(kinds_of_pair[1])
                before = [bit * KINDS for bit in kinds(kinds_of_pair[0])]
                weight = sum(table[earlier + later] for earlier in before for later in after)
                entry = (weight, len(before) * len(after))
                self._pairs[kinds_of_pair] = entry
            total += entry[0]
            count += entry[1]
        return total, count

    def names(self, tokens: list[Token]) -> list[str]:
        """Return the names of the classes that count most among these tokens."""
        masks = [token.classes & MEANING for token in tokens]
        single, double = self._weights.blocks[1:]
        worth: dict[int, float] = {}
        for mask in set(masks):
            for bit in kinds(mask):
                worth[bit] = self._weights.scales[1] * single[bit]
        for earlier, later in pairs_of(tokens, masks):
            for before in kinds(earlier):
                for after in kinds(later):
                    part = self._weights.scales[2] * double[before * KINDS + after] / 2
                    worth[before] += part
                    worth[after] += part
        best = sorted((bit for bit in worth if 1 << bit in NAMES), key=lambda bit: -worth[bit])
        return list(dict.fromkeys(NAMES[1 << bit] for bit in best if worth[bit] > 0))


def pairs_of(tokens: list[Token], masks: list[int]) -> set[tuple[int, int]]:
    """Return the kinds of each word paired with those of the next two words, if these are near."""
    pairs = set()
    last = len(tokens)
    for place in range(last - 1):
        at = tokens[place].at + _NEAR
        if tokens[place + 1].at <= at:
            pairs.add((masks[place], masks[place + 1]))
            if place + 2 < last and tokens[place + 2].at <= at:
                pairs.add((masks[place], masks[place + 2]))
    return pairs


@dataclass(slots=True)
class Half:
    """Half a stretch: its words, its span, and the range of its tokens."""

    words: list[str]
    start: int
    end: int
    first: int
    last: int


def halves(low: str, tokens: list[Token]) -> list[Half]:
    """Return the halves of the stretches of a folded text with these tokens."""
    result = []
    first = 0
    word = _ASCII if low.isascii() else _WORD
    for match in _HALF_OF[low.isascii()].finditer(low):
        start, end = match.span()
        last = bisect_left(tokens, end, first, key=_start)
        result.append(Half(word.findall(low, start, end), start, end, first, last))
        first = last
    return result


def _start(token: Token) -> int:
    return token.start


def stretches(parts: list[Half], tokens: list[Token]) -> list[Stretch]:
    """Return the stretches of a folded text, each with its score or that of one of its halves."""
    by_weights = wording()
    score = by_weights.score
    sums = [by_weights.sums(half.words, tokens[half.first : half.last]) for half in parts]
    alone = [score(half, NOTHING) for half in sums]
    if len(parts) == 1:
        (half,) = parts
        return [Stretch(alone[0], half.start, half.end, half.first, half.last)]
    return [
        Stretch(
            max(score(sums[place], sums[place + 1]), alone[place], alone[place + 1]),
            previous.start,
            following.end,
            previous.first,
            following.last,
        )
        for place, (previous, following) in enumerate(pairwise(parts))
    ]


@cache
def wording() -> Wording:
    """Return the shared instance, with the fitted weights."""
    return Wording(Weights.read(loads(FILE.read_text(encoding="ascii"))))
