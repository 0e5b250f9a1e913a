"""A guess how much of a text is English, from the way in which the English table cuts it."""

from nacre.adapters.embeddings.vector_rules import embeddable
from nacre.adapters.embeddings.word_pieces import bert_words

# The part of English words among the pieces of a text: other languages fall into more pieces.
_FOREIGN = 0.65
_ENGLISH = 0.8


def englishness(text: str, pieces: int) -> float:
    """Return from 0 to 1 how much a text is English, by the number of its pieces in the table.

    English words are mostly one piece each; words of other languages are cut into several, or
    have letters that the table hardly knows.
    """
    words = bert_words(embeddable(text))
    letters = sum(word.isalnum() for word in words)
    english = sum(word.isalnum() and word.isascii() for word in words)
    further = max(0, pieces - len(words))  # pieces that continue a word
    if not letters:
        return 0.0
    return min(1.0, max(0.0, (english / (letters + further) - _FOREIGN) / (_ENGLISH - _FOREIGN)))
