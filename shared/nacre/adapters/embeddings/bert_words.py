"""Texts cut into the words that BERT's vocabularies were made for.

Lower case, no accents, each Chinese character and each punctuation mark alone, control
characters gone: the rules of the published BasicTokenizer, on the standard library.
"""

import re
import unicodedata

from nacre.text.characters import Replacements

_ASCII_WORDS = re.compile(r"[^\s!-/:-@\[-`{-~]+|[!-/:-@\[-`{-~]")
_ASCII_CONTROLS = {code: None for code in (*range(32), 127) if chr(code) not in "\t\n\r"}
_CHINESE = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),  # as published, where 2B820 was meant
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


def bert_words(text: str) -> list[str]:
    """Return the words and punctuation marks of a text, in order."""
    if text.isascii():
        plain = text if text.isprintable() else text.translate(_ASCII_CONTROLS)
        return _ASCII_WORDS.findall(plain.lower())
    decomposed = unicodedata.normalize("NFD", text.translate(_CLEANED)).translate(_UNACCENTED)
    # Letter by letter, as published; str.lower() alone would look at a sigma's neighbours.
    lowered = decomposed.replace("\u03a3", "\u03c3").lower()
    return lowered.translate(_SEPARATED).split()


def is_punctuation(char: str) -> bool:
    """Whether a character stands alone between words."""
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
