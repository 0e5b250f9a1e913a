"""The part of a memory that only asks, and queries without the direction of questions."""

import numpy as np
import pytest

from infra.question_directions import direction
from nacre.adapters.embeddings.builtin_models import BEST, ENCODER
from nacre.being.memory.search.question_directions import DIRECTIONS
from nacre.being.memory.search.questions import asking_share, without_question
from nacre.being.memory.search.ranking import Candidate, rank
from nacre.ports.vectors.embedder import Weights
from nacre.wiring.features.embeddings import builtin_embedder

WEIGHTS = Weights(dense=1.0, sparse=1.0, tokens=1.0)


def vector(*numbers: float) -> bytes:
    row = np.zeros(ENCODER.dimension, "<f4")
    row[: len(numbers)] = numbers
    packed: bytes = (row / np.linalg.norm(row)).astype("<f4").tobytes()
    return packed


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Aiko adopted a grey cat named Mochi",
        "Wow!",
        "雨が降った。",
        "Dana moved to Lisbon with two cats, a piano and nine boxes of books. Is that right?",
        "We sold the old house by the lake, kept both boats and bought a flat in town. Good?",
        "Is it far? " + "It was a long story about the harbour. " * 20,
    ],
)
def test_a_text_that_tells_enough_does_not_only_ask(text: str) -> None:
    assert asking_share(text) < 0.5
    assert asking_share(text.replace("?", ".")) == 0


@pytest.mark.parametrize(
    "text", ["How are you?", "Wow! How long have you played?", "元気\uff1f", "¿Cómo estás?", "???"]
)
def test_a_short_question_only_asks(text: str) -> None:
    assert asking_share(text) > 0.5


def test_words_that_tell_count_twice_as_much_as_those_that_ask() -> None:
    told = asking_share("Ann sold bikes. Fine?")
    asked = asking_share("Ann sold bikes? Fine?")

    assert asked > told > 0


def test_of_two_equal_memories_the_one_that_only_asks_comes_second() -> None:
    asks = Candidate("a", dense=0.5, sparse=3.0, asking=1.0)
    tells = Candidate("b", dense=0.5, sparse=3.0)

    ranked = rank([asks, tells], WEIGHTS)

    assert [hit.id for hit in ranked] == ["b", "a"]
    assert ranked[1].parts["asking"] < 0
    assert ranked[0].parts["asking"] == 0


def test_a_query_has_nothing_of_the_direction_of_questions() -> None:
    embedder = builtin_embedder(ENCODER.emb_id)
    assert embedder is not None
    common = direction(embedder) / np.linalg.norm(direction(embedder))

    for text in ("What pet does she have?", "harbour", "I am meeting Clara tomorrow"):
        query = np.frombuffer(without_question(embedder.query(text), ENCODER.emb_id), "<f4")
        assert query @ common == pytest.approx(0, abs=0.01)
        assert np.linalg.norm(query) == pytest.approx(1, abs=1e-5)


def test_a_question_is_nearer_to_its_answer_than_to_another_question() -> None:
    embedder = builtin_embedder(ENCODER.emb_id)
    assert embedder is not None
    answer, other = (
        np.frombuffer(row, "<f4")
        for row in embedder.documents(["Aiko adopted a grey cat", "What do you have there?"])
    )
    raw = embedder.query("What pet does she have?")
    query = np.frombuffer(without_question(raw, ENCODER.emb_id), "<f4")

    assert query @ answer > query @ other


def test_a_model_without_a_direction_keeps_its_vectors() -> None:
    row = vector(3, 4)

    assert without_question(row, "onnx:unknown:768:1") == row


def test_the_direction_itself_keeps_its_vector() -> None:
    embedder = builtin_embedder(ENCODER.emb_id)
    assert embedder is not None
    common = vector(*direction(embedder).tolist())

    assert without_question(common, ENCODER.emb_id) == common
    assert [*DIRECTIONS] == [ENCODER.emb_id, BEST.emb_id]
