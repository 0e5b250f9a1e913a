"""Stemming of English words with Porter's algorithm.

M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980, with the two
departures of its author's own program (`bli` and `logi`), so that results agree with it.
"""

from functools import lru_cache

_STEP_2 = (
    *(("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance")),
    *(("izer", "ize"), ("bli", "ble"), ("alli", "al"), ("entli", "ent"), ("eli", "e")),
    *(("ousli", "ous"), ("ization", "ize"), ("ation", "ate"), ("ator", "ate")),
    *(("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous")),
    *(("aliti", "al"), ("iviti", "ive"), ("biliti", "ble"), ("logi", "log")),
)
_STEP_3 = (
    *(("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic")),
    *(("ful", ""), ("ness", "")),
)
_STEP_4 = (
    *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent"),
    *("ion", "ou", "ism", "ate", "iti", "ous", "ive", "ize"),
)


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Return the stem of an English word in lower-case ASCII letters, or the word as it is."""
    if len(word) < 3 or not (word.isascii() and word.isalpha() and word.islower()):
        return word
    word = _plural(word)
    word = _past(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(word, _STEP_2)
    word = _replaced(word, _STEP_3)
    word = _without_suffix(word)
    return _without_final_letter(word)


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix):
            root = word.removesuffix(suffix)
            return _with_final_letter(root) if _has_vowel(root) else word
    return word


def _with_final_letter(root: str) -> str:
    if root.endswith(("at", "bl", "iz")):
        return root + "e"
    if _ends_double(root) and root[-1] not in "lsz":
        return root[:-1]
    if _measure(root) == 1 and _ends_short(root):
        return root + "e"
    return root


def _replaced(word: str, endings: tuple[tuple[str, str], ...]) -> str:
    suffix, replacement = max(
        (pair for pair in endings if word.endswith(pair[0])),
        key=lambda pair: len(pair[0]),
        default=("", ""),
    )
    root = word.removesuffix(suffix)
    return root + replacement if suffix and _measure(root) > 0 else word


def _without_suffix(word: str) -> str:
    suffix = max((end for end in _STEP_4 if word.endswith(end)), key=len, default="")
    root = word.removesuffix(suffix)
    if not suffix or _measure(root) < 2 or (suffix == "ion" and root[-1] not in "st"):
        return word
    return root


def _without_final_letter(word: str) -> str:
    if word.endswith("e"):
        root = word[:-1]
        measure = _measure(root)
        if measure > 1 or (measure == 1 and not _ends_short(root)):
            word = root
    if word.endswith("ll") and _measure(word[:-1]) > 1:
        return word[:-1]
    return word


def _shape(word: str) -> str:
    """Return `c` for each consonant and `v` for each vowel; y is one after a consonant."""
    shape = ""
    for index, letter in enumerate(word):
        follows_consonant = index > 0 and shape[-1] == "c"
        is_vowel = letter in "aeiou" or (letter == "y" and follows_consonant)
        shape += "v" if is_vowel else "c"
    return shape


def _measure(word: str) -> int:
    """Return Porter's m: how many times vowels are followed by consonants."""
    return _shape(word).count("vc")


def _has_vowel(word: str) -> bool:
    return "v" in _shape(word)


def _ends_double(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _shape(word)[-1] == "c"


def _ends_short(word: str) -> bool:
    """Return whether a stem ends in consonant, vowel, consonant other than w, x or y."""
    return _shape(word)[-3:] == "cvc" and word[-1] not in "wxy"
