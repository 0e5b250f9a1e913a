"""Articles: a missing one says nothing, "a" in the place of "the" does."""

from collections.abc import Sequence

from nacre.patrol.compare import words as en
from nacre.patrol.compare.reading import Word


def agree(one: Sequence[Word], other: Sequence[Word]) -> bool:
    """Whether two runs of words are the same, apart from articles that one of them may lack."""
    if [word.text for word in one] != [word.text for word in other]:
        return False
    return _lacks(one, other) or _lacks(other, one)


def _lacks(short: Sequence[Word], full: Sequence[Word]) -> bool:
    return all(
        left.article == right.article or (not left.article and _may_miss(full, place))
        for place, (left, right) in enumerate(zip(short, full, strict=True))
    )


def _may_miss(words: Sequence[Word], place: int) -> bool:
    """Whether the article at a place may be left out: not before names, plurals and idioms."""
    word = words[place]
    before = words[place - 1].text if place else ""
    if before in _LEADING | en.FOCUS or [each.text for each in words[:place]][-2:] == _OUT:
        return False
    following = words[place + 1].text if place + 1 < len(words) else ""
    if word.is_name or word.text in en.MARKED_NOUNS:
        return False
    if word.text in en.MARKED_ADJECTIVES and not following.isalpha():
        return False
    if word.text.endswith("est") or word.text.isdecimal() or word.text in en.QUANTIFIERS:
        return False
    return word.article == "a" or not (is_plural(word.text) or is_plural(following))


def is_plural(text: str) -> bool:
    """Whether a word looks like several."""
    if text in _MANY:
        return True
    return text.endswith("s") and not text.endswith(("ss", "us", "is", "'s")) and text not in _ONES


_LEADING = frozenset(("quite", "such", "so", "how", "too", "rather", "more", "less", "by", "per"))
_OUT = ["out", "of"]
_MANY = en.word_set("people children men women mice feet teeth geese police data media")
_ONES = frozenset({*en.THIRDS, "was", "has", "does", "as", "news", "gas", "bus", "lens"})
