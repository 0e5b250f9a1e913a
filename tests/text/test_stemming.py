"""Stems: the examples of the published algorithm, and what holds for every word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.text.stemming import stem

# Each rule's own example in "An algorithm for suffix stripping", through all steps.
PUBLISHED = """
    caresses caress, ponies poni, ties ti, caress caress, cats cat, feed feed, agreed agre,
    plastered plaster, bled bled, motoring motor, sing sing, conflated conflat,
    troubled troubl, sized size, hopping hop, tanned tan, falling fall, hissing hiss,
    fizzed fizz, failing fail, filing file, happy happi, sky sky, relational relat,
    conditional condit, rational ration, valenci valenc, hesitanci hesit, digitizer digit,
    conformabli conform, radicalli radic, differentli differ, vileli vile,
    analogousli analog, vietnamization vietnam, predication predic, operator oper,
    feudalism feudal, decisiveness decis, hopefulness hope, callousness callous,
    formaliti formal, sensitiviti sensit, sensibiliti sensibl, triplicate triplic,
    formative form, formalize formal, electriciti electr, electrical electr, hopeful hope,
    goodness good, revival reviv, allowance allow, inference infer, airliner airlin,
    gyroscopic gyroscop, adjustable adjust, defensible defens, irritant irrit,
    replacement replac, adjustment adjust, dependent depend, adoption adopt,
    homologou homolog, communism commun, activate activ, angulariti angular,
    homologous homolog, effective effect, bowdlerize bowdler, probate probat, rate rate,
    cease ceas, controll control, roll roll, generalizations gener, oscillators oscil
"""
# Where the author's own program departs from the paper.
DEPARTURES = "archaeology archaeolog, possibly possibl, is is, by by, y y"

letters = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=30)


@pytest.mark.parametrize("pair", [p.strip() for p in (PUBLISHED + "," + DEPARTURES).split(",")])
def test_the_published_examples_hold(pair: str) -> None:
    word, expected = pair.split()

    assert stem(word) == expected


@given(letters)
def test_a_stem_is_never_empty_and_at_most_as_long_as_the_word(word: str) -> None:
    assert 0 < len(stem(word)) <= len(word)


@given(letters)
def test_a_stem_keeps_the_beginning_of_its_word(word: str) -> None:
    found = stem(word)

    # Only the last letters change, as in happy: happi, or are added back, as in file.
    assert word.startswith(found[:-2])


@pytest.mark.parametrize("word", ["c3po", "2023", "été", "running!", "東京", "Running"])
def test_what_is_no_lower_case_english_word_stays(word: str) -> None:
    assert stem(word) == word
