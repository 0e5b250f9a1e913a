"""The encoder that ships: its pieces, its vectors, and how it reads its files.

The ids in `encoded_texts.jsonl` are those of SentencePiece's own rules.
tests/benchmarks/encoder_fidelity.py compares thousands of texts in the languages of the model.
"""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.adapters.embeddings.likeliest_pieces import reach_of
from nacre.adapters.embeddings.multilingual_encoder import MultilingualEncoder
from nacre.adapters.embeddings.sentence_pieces import SentencePieces, normalized
from nacre.adapters.embeddings.tensor_file import mapped_tensors
from nacre.adapters.embeddings.vector_rules import units

ENCODED = [
    json.loads(line)
    for line in Path(__file__)
    .with_name("encoded_texts.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]
ENCODER = MultilingualEncoder()
PIECES = ["<unk>", "<s>", "\u2581", "a", "b", "\u2581ab", "ab", "c", "東", "東京"]
SCORES = [0.0, 0.0, -2.0, -3.0, -3.0, -1.0, -4.0, -3.0, -4.0, -5.0]


def row(text: str) -> Any:
    return units(ENCODER.rows([text]))[0]


def cosine(left: str, right: str) -> float:
    return float(row(left) @ row(right))


@pytest.mark.parametrize("encoded", ENCODED, ids=lambda encoded: ascii(encoded["text"]))
def test_a_text_has_these_pieces(encoded: dict[str, Any]) -> None:
    assert ENCODER.ids(encoded["text"]) == encoded["ids"]


def test_a_text_has_this_vector() -> None:
    known = [encoded for encoded in ENCODED if "begins" in encoded]
    rows = units(ENCODER.rows([encoded["text"] for encoded in known]))

    assert len(known) == 9
    np.testing.assert_allclose(rows[:, :6], [encoded["begins"] for encoded in known], atol=2e-4)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Where is my passport?", "Wo ist mein Reisepass?"),
        ("The landlord raised the rent", "El propietario subió el alquiler"),
        ("私の猫は魚が好きです", "My cat loves fish"),
        ("J'ai arrêté de fumer", "I gave up cigarettes"),
        ("Завтра важная встреча в банке", "An important appointment at the bank tomorrow"),
    ],
)
def test_a_translation_is_nearer_than_another_text(left: str, right: str) -> None:
    assert cosine(left, right) > 0.5
    assert cosine(left, right) > cosine(left, "The quarterly tax report is late") + 0.3


@given(st.lists(st.text(max_size=30), min_size=1, max_size=5))
def test_a_vector_depends_on_its_text_alone(texts: list[str]) -> None:
    together = ENCODER.rows(texts)
    alone = np.concatenate([ENCODER.rows([text]) for text in texts])

    np.testing.assert_allclose(together, alone, atol=1e-4)


def test_many_long_and_short_texts_keep_their_places() -> None:
    texts = [f"note {number} " * (number % 90) for number in range(0, 200, 4)]
    rows = ENCODER.rows(texts)

    for number in (0, 1, 22, 23, 24, 49):
        np.testing.assert_allclose(rows[number], ENCODER.rows([texts[number]])[0], atol=1e-4)


def test_a_very_long_text_is_read_from_its_beginning() -> None:
    ids = ENCODER.ids("a,b;" * 50_000)

    assert len(ids) == 2050
    assert (ids[0], ids[-1]) == (1, 2)


def test_a_text_cannot_contain_the_marks_of_its_ends() -> None:
    ids = ENCODER.ids("</s> <s> <unk> extra_token_id_1")

    assert not {0, 1, 2, 3} & set(ids[1:-1])


def test_threads_that_come_at_once_load_it_once() -> None:
    encoder = MultilingualEncoder()
    with ThreadPoolExecutor(8) as threads:
        rows = list(threads.map(lambda _: encoder.rows(["cat"])[0], range(8)))

    np.testing.assert_array_equal(rows, [rows[0]] * 8)


def pieces(names: Sequence[str] = PIECES, scores: Sequence[float] = SCORES) -> SentencePieces:
    return SentencePieces(names, scores, reach_of(names), marks=2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\u3000\u200b", []),
        ("ab", ["\u2581ab"]),
        ("ab  ab\tba", ["\u2581ab", "\u2581ab", "\u2581", "b", "a"]),
        ("x", ["\u2581", "<unk>"]),
        ("<s>", ["\u2581", "<unk>", "<unk>", "<unk>"]),
        ("東京", ["\u2581", "東京"]),
        ("\uff41\uff42", ["\u2581ab"]),
    ],
)
def test_a_word_is_cut_into_its_likeliest_pieces(text: str, expected: list[str]) -> None:
    assert [PIECES[number] for number in pieces().ids(text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Plain text", "Plain text"),
        ("a\t \nb", "a b"),
        ("ﬁ ½ \uff21", "fi 1\u20442 A"),
        ("e\u0301", "é"),
        ("a\uff5eb", "a\uff5eb"),
        ("\u062f\u0651\u064b", "\u062f\u0651\u064b"),
        ("\u0627\u0653", "\u0622"),
        ("a\u2581b\ufeffc\ufffdd", "a b c d"),
    ],
)
def test_a_text_is_normalized_as_the_model_learned_it(text: str, expected: str) -> None:
    assert normalized(text) == expected


def test_a_tensor_file_gives_its_numbers_by_name(tmp_path: Path) -> None:
    header = json.dumps(
        {
            "small": {"dtype": "U8", "shape": [3], "data_offsets": [8, 11]},
            "wide": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]},
        }
    ).encode()
    numbers = np.array([1.5, -2], "<f4").tobytes() + bytes([7, 8, 9])
    (tmp_path / "file").write_bytes(len(header).to_bytes(8, "little") + header + numbers)

    tensors = mapped_tensors(tmp_path / "file")

    assert tensors["wide"].tolist() == [[1.5, -2.0]]
    assert tensors["small"].tolist() == [7, 8, 9]
