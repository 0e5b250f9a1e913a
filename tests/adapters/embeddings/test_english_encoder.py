"""The encoder of English: the same vectors from both runtimes, for texts in any company."""

import numpy as np
import pytest

from infra.cards import texts
from nacre.adapters.embeddings.english_encoder import EnglishEncoder
from nacre.adapters.embeddings.english_layers import with_numpy
from nacre.adapters.embeddings.english_session import with_onnxruntime
from nacre.adapters.embeddings.vector_rules import Floats, units

NOTES = [note for note, _ in texts("en")][:8]
QUESTIONS = [question for _, question in texts("en")][:8]
ODD = ["x", "?!", "Zürich 東京 👍🏽", "\x00", "word " * 60]
NUMPY = EnglishEncoder(with_numpy)
ONNXRUNTIME = EnglishEncoder(with_onnxruntime)


def cosines(left: Floats, right: Floats) -> Floats:
    result: Floats = np.einsum("ij,ij->i", units(left), units(right))
    return result


@pytest.mark.slow
@pytest.mark.parametrize(
    ("some", "queries"),
    [(NOTES, False), (QUESTIONS, True), (ODD, False)],
    ids=["notes", "questions", "odd"],
)
def test_numpy_computes_what_the_published_graph_computes(some: list[str], queries: bool) -> None:
    own = cosines(NUMPY.raw(some, queries=queries), ONNXRUNTIME.raw(some, queries=queries))
    centred = cosines(NUMPY.rows(some, queries=queries), ONNXRUNTIME.rows(some, queries=queries))

    assert np.min(own) > 0.99
    assert own.mean() > 0.997
    assert np.min(centred) > 0.97  # the same differences, of what is left without the mean


def test_both_runtimes_rank_notes_alike() -> None:
    products = [
        encoder.rows(QUESTIONS, queries=True) @ other.rows(NOTES).T
        for encoder, other in ((NUMPY, ONNXRUNTIME), (ONNXRUNTIME, NUMPY), (NUMPY, NUMPY))
    ]

    np.testing.assert_allclose(products[0], products[2], atol=0.05)
    np.testing.assert_allclose(products[1], products[2], atol=0.05)
    assert all((scores.argmax(axis=1) == np.arange(8)).mean() > 0.8 for scores in products)


@pytest.mark.parametrize("encoder", [NUMPY, ONNXRUNTIME], ids=["numpy", "onnxruntime"])
def test_a_vector_does_not_depend_on_the_texts_beside_it(encoder: EnglishEncoder) -> None:
    together = encoder.raw([*NOTES[:2], ODD[4]])
    alone = np.concatenate([encoder.raw([text]) for text in (*NOTES[:2], ODD[4])])

    assert np.min(cosines(together, alone)) > 0.999


def test_texts_without_anything_have_zeros() -> None:
    rows = NUMPY.rows(["", "a cat", " \n", "\ud800"])

    assert [bool(row.any()) for row in rows] == [False, True, False, False]
    assert NUMPY.rows([]).shape == (0, 384)


def test_a_question_is_another_vector_than_the_same_text_as_a_note() -> None:
    note, question = NUMPY.rows(["a cat"])[0], NUMPY.rows(["a cat"], queries=True)[0]

    assert note @ question < 0.99


def test_unrelated_texts_have_cosines_about_zero() -> None:
    notes, raw = ONNXRUNTIME.rows(NOTES), units(ONNXRUNTIME.raw(NOTES))
    apart = ~np.eye(len(NOTES), dtype=bool)

    assert abs((notes @ notes.T)[apart].mean()) < 0.05
    assert np.min((raw @ raw.T)[apart]) > 0.5  # those of the model itself


def test_a_text_is_read_as_far_as_a_limit() -> None:
    long = "word " * 300

    np.testing.assert_array_equal(ONNXRUNTIME.raw([long]), ONNXRUNTIME.raw([long + "tax"]))
