"""An encoder from a folder: its words, prefixes and pooling, and what is wrong with it."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nacre.adapters.embeddings.onnx_embedder import OnnxEmbedder
from nacre.adapters.embeddings.onnx_folder import EncoderOptions, OnnxFolder
from nacre.core.errors import ConfigurationError, UnavailableError
from tests.adapters.embedders import MARKS, SIZE, WORDS, write_encoder

# A folder with the files of snowflake-arctic-embed-s, for the test of a real encoder.
ARCTIC = os.environ.get("NACRE_TEST_ARCTIC", "")


def row(embedder: OnnxEmbedder, text: str, *, query: bool = False) -> "np.ndarray[Any, Any]":
    vector = embedder.query(text) if query else embedder.documents([text])[0]
    return np.frombuffer(vector, "<f4")


def say(folder: Path, name: str, content: object) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps(content))


def test_the_vector_is_the_mean_of_the_words_states(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(OnnxFolder(write_encoder(tmp_path)))
    rows = np.random.default_rng(1).normal(size=(len(MARKS) + 4, SIZE))
    expected = 2 * rows[len(MARKS)] + rows[len(MARKS) + 3]  # the first word and the fourth

    np.testing.assert_allclose(
        row(embedder, "cat tax cat"), expected / np.linalg.norm(expected), atol=1e-6
    )


def test_padding_changes_no_vector(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(OnnxFolder(write_encoder(tmp_path)))

    beside_longer = embedder.documents(["cat", "the tax report " * 40])[0]

    np.testing.assert_allclose(np.frombuffer(beside_longer, "<f4"), row(embedder, "cat"), atol=1e-6)


def test_the_first_states_are_the_vector_where_the_folder_says_so(tmp_path: Path) -> None:
    write_encoder(tmp_path)
    say(tmp_path, "1_Pooling/config.json", {"pooling_mode_cls_token": True})
    embedder = OnnxEmbedder(OnnxFolder(tmp_path))

    assert not row(embedder, "cat").any()  # this encoder knows nothing of [CLS]


def test_a_prefix_is_set_before_queries_or_documents(tmp_path: Path) -> None:
    write_encoder(tmp_path)
    plain = OnnxEmbedder(OnnxFolder(tmp_path))
    say(tmp_path, "nacre.json", {"query_prefix": "query: ", "document_prefix": "passage: "})
    prefixed = OnnxEmbedder(OnnxFolder(tmp_path))

    np.testing.assert_array_equal(row(prefixed, "cat"), row(plain, "passage: cat"))
    np.testing.assert_array_equal(row(prefixed, "cat", query=True), row(plain, "query: cat"))


def test_texts_end_at_the_models_window(tmp_path: Path) -> None:
    write_encoder(tmp_path)
    say(tmp_path, "nacre.json", {"max_tokens": 8})
    embedder = OnnxEmbedder(OnnxFolder(tmp_path))

    np.testing.assert_array_equal(row(embedder, "cat " * 6 + "tax"), row(embedder, "cat " * 6))


@pytest.mark.parametrize(
    ("name", "files", "expected"),
    [
        ("encoder", {}, EncoderOptions()),
        ("e5-small", {}, EncoderOptions(query_prefix="query: ", document_prefix="passage: ")),
        (
            "encoder",
            {
                "config_sentence_transformers.json": {"prompts": {"query": "q: ", "passage": "p"}},
                "sentence_bert_config.json": {"max_seq_length": 256},
            },
            EncoderOptions(query_prefix="q: ", document_prefix="p", max_tokens=256),
        ),
        (
            "bge-small",
            {"nacre.json": {"query_prefix": "", "pooling": "mean", "max_tokens": 64}},
            EncoderOptions(max_tokens=64),
        ),
    ],
)
def test_a_folder_says_how_texts_are_given(
    tmp_path: Path, name: str, files: dict[str, object], expected: EncoderOptions
) -> None:
    folder = write_encoder(tmp_path / name)
    for file, content in files.items():
        say(folder, file, content)

    assert OnnxFolder(folder).options == expected


def test_arctic_has_a_prefix_for_queries_and_the_first_state(tmp_path: Path) -> None:
    options = OnnxFolder(write_encoder(tmp_path / "arctic-embed-s")).options

    assert options.query_prefix.startswith("Represent this sentence for searching")
    assert (options.document_prefix, options.pooling) == ("", "cls")


def test_the_id_follows_the_weights_and_the_manners_but_not_the_place(tmp_path: Path) -> None:
    here = OnnxFolder(write_encoder(tmp_path / "here"))
    there = OnnxFolder(write_encoder(tmp_path / "there"))
    other_folder = write_encoder(tmp_path / "other", sentence=True)
    assert here.emb_id == there.emb_id
    say(there.path, "nacre.json", {"query_prefix": "q"})
    prefixed = OnnxFolder(there.path)

    assert len({here.emb_id, OnnxFolder(other_folder).emb_id, prefixed.emb_id}) == 3
    assert here.emb_id.split(":")[0] == "onnx"


def test_words_may_come_as_tokenizer_json(tmp_path: Path) -> None:
    listed = OnnxEmbedder(OnnxFolder(write_encoder(tmp_path)))
    before = row(listed, "the cat sleeps!")
    pieces = (tmp_path / "vocab.txt").read_text().split()
    (tmp_path / "vocab.txt").unlink()
    vocabulary = {piece: place for place, piece in enumerate(pieces)}
    say(
        tmp_path,
        "tokenizer.json",
        {"model": {"type": "WordPiece", "vocab": vocabulary}, "normalizer": {"lowercase": True}},
    )

    np.testing.assert_array_equal(
        row(OnnxEmbedder(OnnxFolder(tmp_path)), "the cat sleeps!"), before
    )
    assert set(MARKS) | set(WORDS) <= set(vocabulary)


@pytest.mark.parametrize(
    ("spoiled", "content", "reason"),
    [
        ("model.onnx", None, "there is no model.onnx or onnx/model.onnx"),
        ("config.json", None, "does not say hidden_size"),
        ("config.json", "{", "config.json in .* is not a JSON object"),
        ("config.json", "[]", "config.json in .* is not a JSON object"),
        ("config.json", '{"hidden_size": "big"}', "does not say hidden_size"),
        ("nacre.json", '{"prefix": "x"}', "nacre.json in .* has a name that is not one of"),
        ("nacre.json", '{"pooling": "max"}', "pooling is neither mean nor cls"),
        ("nacre.json", '{"query_prefix": 3}', "a prefix is not a string"),
        ("nacre.json", '{"max_tokens": 1}', "max_tokens is not a number from 8 to 8192"),
        ("nacre.json", '{"max_tokens": true}', "max_tokens is not a number from 8 to 8192"),
    ],
)
def test_a_folder_that_lacks_something_says_what(
    tmp_path: Path, spoiled: str, content: str | None, reason: str
) -> None:
    write_encoder(tmp_path)
    if content is None:
        (tmp_path / spoiled).unlink()
    else:
        (tmp_path / spoiled).write_text(content)

    with pytest.raises(ConfigurationError, match=reason):
        OnnxFolder(tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("vocab.txt", None),
        ("vocab.txt", "a\nb"),
        ("tokenizer.json", '{"model": {"type": "Unigram", "vocab": [["a", 0]]}}'),
        ("tokenizer.json", '{"model": {"type": "BPE", "vocab": {"a": 0}}}'),
        ("tokenizer_config.json", '{"do_lower_case": false}'),
    ],
)
def test_words_that_are_not_those_of_a_bert_are_refused(
    tmp_path: Path, name: str, content: str | None
) -> None:
    write_encoder(tmp_path)
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_text(content)

    with pytest.raises(ConfigurationError, match="needs the lower-case WordPiece vocabulary"):
        OnnxFolder(tmp_path).check()


def test_a_file_that_is_no_model_is_unavailable(tmp_path: Path) -> None:
    write_encoder(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"no model")

    with pytest.raises(UnavailableError, match="is not a model that onnxruntime"):
        OnnxEmbedder(OnnxFolder(tmp_path)).query("cat")


def test_a_model_of_another_size_than_its_folder_says_is_refused(tmp_path: Path) -> None:
    write_encoder(tmp_path)
    say(tmp_path, "config.json", {"hidden_size": SIZE * 2})

    with pytest.raises(UnavailableError, match="16 dimensions instead of 32"):
        OnnxEmbedder(OnnxFolder(tmp_path)).documents(["cat"])


@pytest.mark.skipif(not ARCTIC, reason="NACRE_TEST_ARCTIC names no folder with the encoder")
def test_a_published_encoder_finds_what_answers_a_question() -> None:
    embedder = OnnxEmbedder(OnnxFolder(Path(ARCTIC)))
    notes = ["Ann adopted a puppy from the shelter", "The tax report is due on Friday"]
    query = row(embedder, "What pet does Ann have?", query=True)
    dog, tax = (row(embedder, note) for note in notes)

    assert embedder.emb_id == "onnx:f93ff225320628d2:384:1601020a"
    assert query @ dog > query @ tax + 0.1
