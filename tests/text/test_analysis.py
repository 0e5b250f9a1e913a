"""What keyword search sees of a text, in every script, and when two events are one."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.text.analysis import distinct_terms, fingerprint, mostly_cjk, terms

anything = st.text(st.characters(exclude_categories=[]), max_size=200)
kanji = st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF)
hiragana = st.characters(min_codepoint=0x3041, max_codepoint=0x3096)
katakana = st.characters(min_codepoint=0x30A1, max_codepoint=0x30FA)
japanese = st.one_of(kanji, hiragana, katakana)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        (" \n\t", ()),
        ("What did you do with it?", ()),
        ("Ann adopted two dogs", ("ann", "adopt", "two", "dog")),
        ("Ann's dog didn't run", ("ann", "dog", "run")),
        ("Ann\u2019s dog didn\u2019t run", ("ann", "dog", "run")),
        ("O'Brien", ("obrien",)),
        ("'quoted' \u2018words\u2019", ("quot", "word")),
        ("7 May 2023", ("7", "mai", "2023")),
        ("2023-05-07", ("2023", "5", "7")),
        ("room 007, 0", ("room", "7", "0")),
        ("snake_case C3PO", ("snake", "case", "c3po")),
        ("caf\u00e9 CAFE cafe\u0301", ("cafe", "cafe", "cafe")),
        ("\uff21\uff22\uff23 \ufb01ne \u2460", ("abc", "fine", "1")),
        ("Stra\u00dfe STRASSE", ("strass", "strass")),
        (
            "\u0395\u03c5\u03c4\u03c5\u03c7\u03af\u03b1\u03c2",
            ("\u03b5\u03c5\u03c4\u03c5\u03c7\u03b9\u03b1\u03c3",),
        ),
        # Emoji count one by one, without what colours or joins them.
        (
            "\U0001f469\u200d\U0001f467 \u2764\ufe0f\U0001f44d\U0001f3fd",
            ("\U0001f469", "\U0001f467", "\u2764", "\U0001f44d"),
        ),
        # Right to left: vowel points and direction marks do not count.
        (
            "\u0645\u064f\u062d\u064e\u0645\u0651\u064e\u062f \u200f\u0645\u062d\u0645\u062f",
            ("\u0645\u062d\u0645\u062f", "\u0645\u062d\u0645\u062f"),
        ),
        ("\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd", ("\u05e9\u05dc\u05d5\u05dd",)),
        # Signs that are part of a letter stay.
        (
            "\u0939\u093f\u0928\u094d\u0926\u0940 \u092e\u0947\u0902",
            ("\u0939\u093f\u0928\u094d\u0926\u0940", "\u092e\u0947\u0902"),
        ),
        ("\u0e44\u0e17\u0e22", ("\u0e44\u0e17", "\u0e17\u0e22")),
        ("\ud55c\uad6d\uc5b4", ("\ud55c\uad6d", "\uad6d\uc5b4")),
        ("東京", ("東京",)),
        ("東京都", ("東京", "京都")),
        ("猫", ("猫",)),
        ("猫が好き", ("猫が", "が好", "好き", "猫", "好")),
        ("ｶﾞｷﾞ", ("ガギ",)),
        ("Ann と東京、Tokyo2020", ("ann", "と東", "東京", "tokyo2020")),
    ],
)
def test_a_text_has_these_terms(text: str, expected: tuple[str, ...]) -> None:
    assert terms(text) == expected


@given(anything)
def test_terms_are_short_and_without_blanks(text: str) -> None:
    assert all(0 < len(term) <= 64 and not any(map(str.isspace, term)) for term in terms(text))


@given(st.text(st.characters(max_codepoint=127), max_size=200))
def test_a_letter_of_another_script_does_not_change_how_english_is_read(text: str) -> None:
    assert terms(f"{text} \u044f") == (*terms(text), "\u044f")


@given(anything, anything)
def test_lines_have_the_terms_that_each_has_alone(first: str, second: str) -> None:
    assert terms(f"{first}\n{second}") == terms(first) + terms(second)


@given(st.text(max_size=200), st.sampled_from(["NFC", "NFD"]))
def test_how_accents_are_encoded_does_not_count(text: str, form: str) -> None:
    assert terms(unicodedata.normalize(form, text)) == terms(text)  # type: ignore[arg-type]


@given(st.text(st.characters(codec="ascii"), max_size=200))
def test_case_does_not_count(text: str) -> None:
    assert terms(text.upper()) == terms(text.lower()) == terms(text)


@given(
    st.text(japanese, max_size=20),
    st.text(japanese, min_size=2, max_size=2),
    st.text(japanese, max_size=20),
)
def test_a_word_of_two_japanese_letters_is_found_wherever_it_stands(
    before: str, word: str, after: str
) -> None:
    assert set(terms(word)[:1]) <= set(terms(f"{before}{word}{after}"))


@given(kanji, st.text(hiragana, max_size=5))
def test_a_word_of_one_character_is_found_before_its_particle(word: str, particle: str) -> None:
    assert set(terms(word)) <= set(terms(word + particle))


def test_a_long_entry_has_all_its_terms() -> None:
    assert len(terms("garden " * 9000)) == 9000
    assert len(terms("庭" * 20000)) == 19999


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", False),
        ("!?", False),
        ("Tokyo", False),
        ("東京", True),
        ("東京 Tokyo", False),
        ("Tシャツ", True),
        ("ｶﾞｷﾞ", True),
        ("한국어", True),
        ("2023年5月8日", True),
        ("Привет", False),
    ],
)
def test_a_text_is_mostly_cjk_by_its_letters(text: str, expected: bool) -> None:
    assert mostly_cjk(text) is expected


ACTION = "Ann planted  a ROSE tree."


@pytest.mark.parametrize(
    ("action", "actors", "when"),
    [
        ("ann planted a rose tree", ["Ann", "Bo"], ["2023-05-08"]),
        ("Ann planted a rose tree\n!!", ["Bo", "Ann"], ["2023-05-08"]),
        ("\uff21nn planted a rose tree\u3002", ["ANN", "bo ", "Bo"], ["2023-05-08", "2023-05-08"]),
        ("Ann planted a rose tree \u2026", ["Ann", "Bo", " "], ["2023-05-08", ""]),
    ],
)
def test_one_event_written_differently_has_one_fingerprint(
    action: str, actors: list[str], when: list[str]
) -> None:
    assert fingerprint(action, actors, when) == fingerprint(ACTION, ["Ann", "Bo"], ["2023-05-08"])


@pytest.mark.parametrize(
    ("action", "actors", "when"),
    [
        ("Ann planted two rose trees", ["Ann", "Bo"], ["2023-05-08"]),
        (ACTION, ["Ann"], ["2023-05-08"]),
        (ACTION, ["Ann Bo"], ["2023-05-08"]),
        (ACTION, ["Ann", "Bo", "2023-05-08"], []),
        (ACTION, ["Ann", "Bo"], []),
        (ACTION, ["Ann", "Bo"], ["2023-05-09"]),
    ],
)
def test_another_event_has_another_fingerprint(
    action: str, actors: list[str], when: list[str]
) -> None:
    assert fingerprint(action, actors, when) != fingerprint(ACTION, ["Ann", "Bo"], ["2023-05-08"])


@given(anything, st.lists(anything, max_size=4))
def test_a_fingerprint_does_not_depend_on_order(action: str, actors: list[str]) -> None:
    turned = list(reversed(actors))

    assert fingerprint(action, turned, actors) == fingerprint(action, actors, turned)
    assert len(fingerprint(action, actors, ())) == 64


@given(anything)
def test_distinct_terms_are_those_of_the_text_also_when_it_is_asked_again(text: str) -> None:
    assert distinct_terms(text) == distinct_terms(text) == set(terms(text))


def test_distinct_terms_of_a_long_text_are_complete() -> None:
    text = " ".join(f"word{number}" for number in range(300))

    assert distinct_terms(text) == set(terms(text))
