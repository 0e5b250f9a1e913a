"""WordPiece: words as the longest pieces of a vocabulary, as BERT and its kin read them."""

from collections.abc import Mapping

from nacre.adapters.embeddings.bert_words import bert_words

_LONGEST_WORD = 100  # as published: a longer word is unknown
_REMEMBERED_WORDS = 30_000  # about the words of ten thousand notes


class WordPieces:
    """Turns texts into the ids of a vocabulary whose continuing pieces begin with `##`."""

    def __init__(self, vocabulary: Mapping[str, int], *, unknown: int) -> None:
        self._first = {p: i for p, i in vocabulary.items() if not p.startswith("##")}
        self._next = {p[2:]: i for p, i in vocabulary.items() if p.startswith("##")}
        self._longest = max(map(len, vocabulary), default=0)
        self._unknown = (unknown,)
        self._known: dict[str, tuple[int, ...]] = {}

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text's pieces, in order, without those that mark its ends."""
        found: list[int] = []
        known = self._known
        for word in bert_words(text):
            pieces = known.get(word)
            if pieces is None:
                pieces = self._pieces(word)
                if len(known) < _REMEMBERED_WORDS:
                    known[word] = pieces
            found += pieces
        return found

    def _pieces(self, word: str) -> tuple[int, ...]:
        if len(word) > _LONGEST_WORD:
            return self._unknown
        found: list[int] = []
        start = 0
        pieces = self._first
        while start < len(word):
            for end in range(min(len(word), start + self._longest), start, -1):
                piece = pieces.get(word[start:end])
                if piece is not None:
                    break
            else:
                return self._unknown
            found.append(piece)
            start = end
            pieces = self._next
        return tuple(found)
