"""WordPiece tokenizer: splits words into the longest pieces of a vocabulary, as BERT does.

Words are in lower case and without accents. Each Chinese character and each punctuation mark is a
word, and control characters are removed. These are the rules of the published BasicTokenizer and
WordPiece, on the standard library.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import chain

from nacre.text.characters import Replacements

_ASCII_WORDS = re.compile(r"[^\s!-/:-@\[-`{-~]+|[!-/:-@\[-`{-~]")
_ASCII_CONTROLS = {code: None for code in (*range(32), 127) if chr(code) not in "\t\n\r"}
_CHINESE = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),  # as published, although 2B820 was meant
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
_MAX_WORD = 100  # as published: a longer word is unknown
_CACHED_WORDS = 30_000  # about the words of ten thousand notes


class WordPieces:
    """Turns texts into the ids of a vocabulary whose continuing pieces begin with `##`."""

    def __init__(self, vocabulary: Mapping[str, int], *, unknown: int) -> None:
        self._first = {p: i for p, i in vocabulary.items() if not p.startswith("##")}
        self._next = {p[2:]: i for p, i in vocabulary.items() if p.startswith("##")}
        self._longest = max(map(len, vocabulary), default=0)
        self._unknown = (unknown,)
        self._cached_pieces = lru_cache(_CACHED_WORDS)(self._pieces)

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text's pieces, in order, without those that mark its ends."""
        return self.ids_of_words(bert_words(text))

    def ids_of_words(self, words: Iterable[str]) -> list[int]:
        """Return the ids of the pieces of words that `bert_words` returned."""
        return list(chain.from_iterable(map(self._cached_pieces, words)))

    def _pieces(self, word: str) -> tuple[int, ...]:
        if len(word) > _MAX_WORD:
            return self._unknown
        ids: list[int] = []
        start = 0
        pieces = self._first
        while start < len(word):
            for end in range(min(len(word), start + self._longest), start, -1):
                piece = pieces.get(word[start:end])
                if piece is not None:
                    break
            else:
                return self._unknown
            ids.append(piece)
            start = end
            pieces = self._next
        return tuple(ids)


def bert_words(text: str) -> list[str]:
    """Return the words and punctuation marks of a text, in order."""
    if text.isascii():
        plain = text if text.isprintable() else text.translate(_ASCII_CONTROLS)
        return _ASCII_WORDS.findall(plain.lower())
    decomposed = unicodedata.normalize("NFD", text.translate(_CLEANED)).translate(_UNACCENTED)
    # Letter by letter, as published; str.lower() alone depends on the neighbours of a sigma.
    lowered = decomposed.replace("\u03a3", "\u03c3").lower()
    return lowered.translate(_SEPARATED).split()


def is_punctuation(char: str) -> bool:
    """Return whether a character is a punctuation mark."""
    if char.isascii():
        return char.isprintable() and not char.isalnum() and char != " "
    return unicodedata.category(char).startswith("P")


def _cleaned(char: str) -> str:
    if char in "\t\n\r":
        return " "
    if char == "\ufffd" or unicodedata.category(char) in ("Cc", "Cf", "Co", "Cs"):
        return ""
    if char.isspace():
        return " "
    if any(first <= ord(char) <= last for first, last in _CHINESE):
        return f" {char} "
    return char


def _unaccented(char: str) -> str:
    return "" if unicodedata.category(char) == "Mn" else char


def _separated(char: str) -> str:
    return f" {char} " if is_punctuation(char) else char


_SEPARATED = Replacements(_separated)
_CLEANED = Replacements(_cleaned)
_UNACCENTED = Replacements(_unaccented)
