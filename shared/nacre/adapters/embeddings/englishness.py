"""An estimate of how much of a text is English, from its pieces in the English table."""

from collections.abc import Sequence

# Shares of English letters below and above which a text is surely foreign or surely English.
# Words of other languages fall into more pieces.
_FOREIGN = 0.65
_ENGLISH = 0.8


def englishness(words: Sequence[str], pieces: int) -> float:
    """Return the English share of a text, from 0 to 1, by the number of its pieces in the table.

    `words` are those of `bert_words`. English words are mostly one piece each; words of other
    languages are cut into several, or have letters that the table hardly knows.
    """
    letters = sum(map(str.isalnum, words))
    if all(map(str.isascii, words)):
        english = letters
    else:
        english = sum(map(str.isalnum, filter(str.isascii, words)))
    continuations = max(0, pieces - len(words))  # pieces that continue a word
    if not letters:
        return 0.0
    return min(
        1.0, max(0.0, (english / (letters + continuations) - _FOREIGN) / (_ENGLISH - _FOREIGN))
    )
