"""The default embedding: an encoder and a table in one vector."""

import numpy as np
import pytest

from nacre.adapters.embeddings.builtin_models import BEST, ENCODER
from nacre.adapters.embeddings.combined_embedder import CombinedEmbedder
from nacre.adapters.embeddings.english_encoder import EnglishEncoder
from nacre.adapters.embeddings.english_session import with_onnxruntime
from nacre.adapters.embeddings.multilingual_encoder import MultilingualEncoder
from nacre.adapters.embeddings.static_embedder import StaticEmbedder, StaticTable, englishness
from nacre.adapters.embeddings.vector_rules import Floats, units
from nacre.adapters.embeddings.word_pieces import bert_words

SPLIT = ENCODER.encoder_dimension
TABLE = StaticTable(ENCODER.table)
SENTENCES = MultilingualEncoder()
ENGLISH = EnglishEncoder(with_onnxruntime)
WITH_ENGLISH = CombinedEmbedder(BEST, SENTENCES, TABLE, ENGLISH)
EMBEDDER = CombinedEmbedder(ENCODER, SENTENCES, TABLE)


def numbers(*texts: str) -> Floats:
    return np.array([np.frombuffer(vector, "<f4") for vector in EMBEDDER.documents(texts)])


def english(text: str) -> float:
    return TABLE.pieces(text).english


def test_the_id_names_both_models_and_their_shares() -> None:
    assert EMBEDDER.emb_id == "builtin:use-multilingual-3+potion-base-8m:768:1.70"
    assert ENCODER._replace(encoder_share=0.5).emb_id != EMBEDDER.emb_id


def test_a_cosine_is_the_weighted_sum_of_both_cosines() -> None:
    cat, tax = "The cat sleeps on the sofa", "A tax report for the office"
    combined = numbers(cat, tax)
    encoded = units(SENTENCES.rows([cat, tax]))
    words = [np.frombuffer(v, "<f4") for v in StaticEmbedder(TABLE).documents([cat, tax])]

    share = ENCODER.encoder_share
    expected = share * encoded[0] @ encoded[1] + (1 - share) * words[0] @ words[1]
    assert combined[0] @ combined[1] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    "text", ["東京で寿司を食べた", "Мой кот любит рыбу", "แมวของฉันชอบกินปลา", "!!!"]
)
def test_a_text_without_english_has_the_encoders_part_alone(text: str) -> None:
    (row,) = numbers(text)

    assert not row[SPLIT:].any()
    assert np.linalg.norm(row[:SPLIT]) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    "text",
    [
        "Which animal ruined my footwear?",
        "Meeting with the accountant at 10:30 on 2024-03-05",
        "Nora adopted a grey cat from the shelter",
        "I had a café au lait",
    ],
)
def test_english_counts_as_english(text: str) -> None:
    assert english(text) == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "?!",
        "Der Vermieter hat die Miete um neunzig Euro erhöht",
        "Ma soeur habite à Lyon avec ses enfants",
        "Ik heb gisteren mijn fiets verloren",
        "Yar\u0131n bankayla toplant\u0131m var",
        "私は東京に住んでいます",
        "고양이가 생선을 좋아한다",
    ],
)
def test_other_languages_do_not(text: str) -> None:
    assert english(text) < 0.25


def test_the_less_a_text_is_english_the_less_the_table_counts() -> None:
    mixed = "The name of our hotel was Zum goldenen Bären"
    words = bert_words(mixed)

    assert englishness(words, len(words)) == 1
    assert 0 < englishness(words, len(words) + 3) < 1
    assert englishness(words, len(words) + 30) == 0


def test_the_cosine_of_a_question_and_a_note_is_the_weighted_sum_of_two_encoders() -> None:
    question, note = "Where does the cat sleep?", "The cat sleeps on the sofa"
    combined = (
        np.frombuffer(WITH_ENGLISH.query(question), "<f4"),
        np.frombuffer(WITH_ENGLISH.documents([note])[0], "<f4"),
    )
    encoded = units(SENTENCES.rows([question, note]))
    english_rows = ENGLISH.rows([question], queries=True)[0], ENGLISH.rows([note])[0]

    share = BEST.encoder_share
    expected = share * encoded[0] @ encoded[1] + (1 - share) * english_rows[0] @ english_rows[1]
    assert WITH_ENGLISH.emb_id == "builtin:use-multilingual-3+arctic-embed-s:896:1.30"
    assert combined[0] @ combined[1] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("question", "notes"),
    [
        ("猫はどこで寝ますか", ["猫はソファで寝ている", "税金の報告書", "東京で寿司を食べた"]),
        (
            "Wo schläft die Katze?",
            ["Die Katze schläft auf dem Sofa", "Der Vermieter hat die Miete erhöht"],
        ),
        ("Where does the cat sleep?", ["猫はソファで寝ている", "税金の報告書"]),
        ("猫はどこで寝ますか", ["The cat sleeps on the sofa", "A tax report for the office"]),
    ],
    ids=["Japanese", "German", "English of Japanese", "Japanese of English"],
)
def test_the_english_encoder_leads_no_question_about_other_languages(
    question: str, notes: list[str]
) -> None:
    asked = np.frombuffer(WITH_ENGLISH.query(question), "<f4")
    rows = np.array([np.frombuffer(v, "<f4") for v in WITH_ENGLISH.documents(notes)])
    encoded = units(SENTENCES.rows([question, *notes]))

    np.testing.assert_array_equal(np.argsort(rows @ asked), np.argsort(encoded[1:] @ encoded[0]))
    other = abs(rows[:, SPLIT:] @ asked[SPLIT:])
    assert (other <= 0.1 * abs(rows[:, :SPLIT] @ asked[:SPLIT])).all()
