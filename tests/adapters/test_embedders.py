"""Every embedder gives vectors under the same rules, whatever the texts are."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nacre.adapters.embeddings.builtin_models import ENCODER, ENGLISH, MULTILINGUAL
from nacre.adapters.embeddings.combined_embedder import CombinedEmbedder
from nacre.adapters.embeddings.multilingual_encoder import MultilingualEncoder
from nacre.adapters.embeddings.onnx_embedder import OnnxEmbedder
from nacre.adapters.embeddings.onnx_folder import OnnxFolder
from nacre.adapters.embeddings.static_embedder import StaticEmbedder, StaticTable
from nacre.adapters.openai.embedder import OpenAIEmbedder
from nacre.core.limits import MAX_EMBEDDED_BYTES
from nacre.ports.vectors.embedder import Embedder
from tests.adapters.embedders import endpoint, write_encoder

CAT = "the cat sleeps"
SOFA = "a cat on the sofa"
TAX = "quarterly tax report"


@pytest.fixture(
    scope="module", params=["combined", "english", "multilingual", "onnx", "sentence", "openai"]
)
def embedder(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Embedder]:
    folder = tmp_path_factory.mktemp("encoder")
    match request.param:
        case "combined":
            yield CombinedEmbedder(ENCODER, MultilingualEncoder(), StaticTable(ENCODER.table))
        case "english":
            yield StaticEmbedder(StaticTable(ENGLISH))
        case "multilingual":
            yield StaticEmbedder(StaticTable(MULTILINGUAL))
        case "onnx":
            yield OnnxEmbedder(OnnxFolder(write_encoder(folder)))
        case "sentence":
            yield OnnxEmbedder(OnnxFolder(write_encoder(folder, sentence=True)))
        case _:
            with endpoint() as served:
                yield OpenAIEmbedder("words", 32, key=lambda: "key", base_url=served.url)


def numbers(
    embedder: Embedder, texts: list[str]
) -> "np.ndarray[tuple[int, int], np.dtype[np.float32]]":
    vectors = embedder.documents(texts)
    assert all(len(vector) == 4 * embedder.dimension for vector in vectors)
    return np.array([np.frombuffer(vector, "<f4") for vector in vectors]).reshape(
        len(texts), embedder.dimension
    )


def test_the_id_ends_with_the_dimension_and_a_version(embedder: Embedder) -> None:
    provider, *model, dimension, version = embedder.emb_id.split(":")

    assert provider in ("builtin", "onnx", "openai")
    assert model
    assert int(dimension) == embedder.dimension
    assert version


def test_texts_get_vectors_of_unit_length_in_their_order(embedder: Embedder) -> None:
    texts = [CAT, TAX, SOFA, CAT]
    rows = numbers(embedder, texts)

    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    for row, text in zip(rows, texts, strict=True):
        np.testing.assert_allclose(row, numbers(embedder, [text])[0], atol=1e-4)


def test_no_texts_get_no_vectors(embedder: Embedder) -> None:
    assert embedder.documents([]) == []


def test_texts_that_share_words_are_nearer(embedder: Embedder) -> None:
    cat, sofa, tax = numbers(embedder, [CAT, SOFA, TAX])
    query = np.frombuffer(embedder.query("cat sofa"), "<f4")

    assert cat @ sofa > cat @ tax
    assert query @ sofa > query @ tax


@pytest.mark.parametrize("blank", ["", " ", "\n\t\u3000", "\ud800"])
def test_a_text_without_anything_to_embed_gets_zeros_beside_others(
    embedder: Embedder, blank: str
) -> None:
    rows = numbers(embedder, [CAT, blank, TAX])

    assert not rows[1].any()
    assert rows[0].any()
    assert rows[2].any()
    assert embedder.query(blank) == bytes(4 * embedder.dimension)


def test_a_long_text_is_read_from_its_beginning(embedder: Embedder) -> None:
    start = ("cat " * MAX_EMBEDDED_BYTES)[:MAX_EMBEDDED_BYTES]
    long, short = numbers(embedder, [start + "tax report " * 6000, start])

    np.testing.assert_allclose(long, short, atol=1e-5)


def test_many_texts_come_back_in_order(embedder: Embedder) -> None:
    texts = [f"{'cat ' * (place % 7)}{'tax ' * (place % 3)}report" for place in range(600)]
    rows = numbers(embedder, texts)

    np.testing.assert_allclose(rows[::37], numbers(embedder, texts[::37]), atol=1e-4)


def test_threads_may_share_it(embedder: Embedder) -> None:
    texts = [f"{word} {CAT}" for word in ("tax", "sofa", "report", "passage")] * 10
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(embedder.query, texts))

    for vector, text in zip(found[:4], texts, strict=False):
        np.testing.assert_allclose(
            np.frombuffer(vector, "<f4"), np.frombuffer(embedder.query(text), "<f4"), atol=1e-5
        )
    assert found == found[:4] * 10


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(st.characters(exclude_categories=[]), max_size=60), max_size=4))
def test_any_text_gets_a_vector_of_unit_length_or_zeros(
    embedder: Embedder, texts: list[str]
) -> None:
    lengths = np.linalg.norm(numbers(embedder, texts), axis=1)

    assert np.isfinite(lengths).all()
    assert all(abs(length - 1) < 1e-4 or length == 0 for length in lengths)


def test_japanese_that_says_the_same_is_nearer_in_the_multilingual_table() -> None:
    table = StaticEmbedder(StaticTable(MULTILINGUAL))
    sushi, also_sushi, tax = numbers(
        table, ["昨日は東京で寿司を食べた", "東京の寿司は美味しい", "来週は税金の書類を出す"]
    )

    assert sushi @ also_sushi > sushi @ tax + 0.1


def test_a_table_in_another_folder_is_read_from_there(tmp_path: Path) -> None:
    (tmp_path / "pieces.txt").write_text("cat\ndog")
    np.save(tmp_path / "rows.npy", np.array([[127, 0], [0, -127]], np.int8))
    np.save(tmp_path / "scales.npy", np.array([0.1, 0.3], np.float32))
    np.save(tmp_path / "norms.npy", np.array([12.7, 38.1], np.float32))
    table = StaticTable(ENGLISH._replace(dimension=2), tmp_path)

    cat, both = StaticEmbedder(table).documents(["Cat", "cat dog unknown"])

    np.testing.assert_allclose(np.frombuffer(cat, "<f4"), [1, 0])
    np.testing.assert_allclose(np.frombuffer(both, "<f4"), [0.1**0.5, -(0.9**0.5)], atol=1e-6)
