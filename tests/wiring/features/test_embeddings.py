"""The models that NACRE_EMBEDDINGS chooses, their cost before the first text, and errors."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nacre.adapters.embeddings.builtin_models import BUILTIN, ENCODER, ENGLISH, MULTILINGUAL
from nacre.being.memory.search.embedding_cards import LEXICAL, card_of
from nacre.core.errors import ConfigurationError
from nacre.wiring.features.embeddings import builtin_embedder, embedders, gives_way
from nacre.wiring.settings import Secret, Settings
from tests.adapters.embedders import endpoint, write_encoder


def chosen(**fields: Any) -> Settings:
    return Settings(data_folder="")._replace(**fields)


def test_words_alone_have_no_model() -> None:
    found = embedders(chosen(embeddings="none"))

    assert (found.primary, found.tokens, found.card) == (None, None, LEXICAL)


@pytest.mark.parametrize(
    ("embeddings", "emb_id", "dimension"),
    [
        ("builtin", "builtin:use-multilingual-3+potion-base-8m:768:1.70", 768),
        ("builtin-best", "builtin:use-multilingual-3+arctic-embed-s:896:1.30", 896),
        ("builtin-static", "builtin:potion-base-8m:256:1", 256),
        ("builtin-multilingual", "builtin:potion-multilingual-128m:128:1", 128),
    ],
)
def test_a_built_in_table_gives_vectors_and_likeness(
    embeddings: str, emb_id: str, dimension: int
) -> None:
    found = embedders(chosen(embeddings=embeddings))

    assert found.primary is not None
    assert found.tokens is not None
    assert (found.primary.emb_id, found.primary.dimension) == (emb_id, dimension)
    assert found.card == card_of(emb_id)
    is_symmetric = found.primary.documents(["cat"]) == [found.primary.query("cat")]
    assert is_symmetric is (embeddings != "builtin-best")
    assert len(found.primary.query("cat")) == 4 * dimension
    assert found.tokens.score("cat", ["cat"]) == pytest.approx([1])


def test_an_old_built_in_index_can_be_asked_again() -> None:
    for emb_id, dimension in (
        ("builtin:potion-base-8m:256:1", 256),
        ("builtin:potion-multilingual-128m:128:1", 128),
        ("builtin:use-multilingual-3+potion-base-8m:768:1.70", 768),
        ("builtin:use-multilingual-3+arctic-embed-s:896:1.30", 896),
    ):
        old = builtin_embedder(emb_id)
        assert old is not None
        assert len(old.query("cat")) == 4 * dimension
    assert builtin_embedder("onnx:0:384:1") is None


@pytest.mark.parametrize(
    ("active", "configured", "expected"),
    [
        (ENGLISH.emb_id, ENCODER.emb_id, True),
        (MULTILINGUAL.emb_id, ENCODER.emb_id, True),
        (ENCODER.emb_id, ENCODER.emb_id, False),
        (ENCODER.emb_id, ENGLISH.emb_id, False),
        (ENGLISH.emb_id, MULTILINGUAL.emb_id, False),
        ("openai:text-embedding-3-small:1536:1", ENCODER.emb_id, False),
        (ENGLISH.emb_id, "openai:text-embedding-3-small:1536:1", False),
        ("none", ENCODER.emb_id, False),
        ("builtin:of-a-later-version:512:1", ENCODER.emb_id, False),
    ],
)
def test_only_a_built_in_index_gives_way_and_only_to_the_default(
    active: str, configured: str, *, expected: bool
) -> None:
    assert gives_way(active, configured) is expected


def test_a_folder_gives_vectors_and_the_table_likeness(tmp_path: Path) -> None:
    found = embedders(chosen(embeddings=f"onnx:{write_encoder(tmp_path)}"))

    assert found.primary is not None
    assert found.tokens is not None
    assert found.primary.emb_id.startswith("onnx:")
    assert len(found.primary.query("cat")) == 4 * found.primary.dimension
    assert found.card.emb_id == found.primary.emb_id
    assert found.tokens.score("cat", ["cat"]) == pytest.approx([1])


def test_an_endpoint_is_asked_as_the_settings_say() -> None:
    with endpoint() as served:
        settings = chosen(
            embeddings="openai", embedding_base_url=served.url, embedding_api_key=Secret("mine")
        )
        found = embedders(settings, key=lambda: "other").primary
        assert found is not None
        found.query("cat")

        assert found.emb_id == "openai:text-embedding-3-small:1536:1"
        assert [(a["model"], a["dimensions"]) for a in served.asked] == [
            ("text-embedding-3-small", 1536)
        ]
        assert served.keys == ["Bearer mine"]


def test_an_endpoint_without_a_key_in_the_settings_gets_the_kept_one() -> None:
    with endpoint() as served:
        settings = chosen(
            embeddings="openai",
            embedding_base_url=served.url,
            embedding_model="local",
            embedding_dimensions=24,
        )
        found = embedders(settings, key=lambda: "kept").primary
        assert found is not None

        assert len(found.query("cat")) == 4 * 24
        assert found.emb_id == "openai:local:24:1"
        assert served.keys == ["Bearer kept"]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        (
            {"embeddings": "openai", "embedding_model": "local"},
            "NACRE_EMBEDDING_DIMENSIONS: not set, and the size of 'local' is not known",
        ),
        ({"embeddings": "onnx:/nowhere"}, "there is no model.onnx .* in '/nowhere'"),
    ],
)
def test_what_cannot_be_built_says_so_at_the_start(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        embedders(chosen(**fields))


def test_a_folder_with_foreign_words_is_refused_at_the_start(tmp_path: Path) -> None:
    write_encoder(tmp_path)
    (tmp_path / "vocab.txt").write_text("a")

    with pytest.raises(ConfigurationError, match="WordPiece"):
        embedders(chosen(embeddings=f"onnx:{tmp_path}"))


@pytest.mark.parametrize("embeddings", ["none", *BUILTIN, "onnx", "openai"])
def test_a_choice_loads_nothing_before_the_first_text(embeddings: str, tmp_path: Path) -> None:
    value = f"onnx:{write_encoder(tmp_path)}" if embeddings == "onnx" else embeddings
    code = (
        "import sys\n"
        "from nacre.wiring.features.embeddings import embedders\n"
        "from nacre.wiring.settings import Settings\n"
        f"found = embedders(Settings(data_folder='', embeddings={value!r}))\n"
        "found.primary and (found.primary.emb_id, found.primary.dimension)\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()

    assert not {"numpy", "onnxruntime", "openai", "nacre_tables", "nacre_encoder"} & set(loaded)
    assert "nacre_english" not in loaded


WITHOUT_WHEEL = """
import sys
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {missing}:
            raise ModuleNotFoundError(name=name)

import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name in {missing} else real(name, *more)
sys.meta_path.insert(0, Missing())
from nacre.wiring.features.embeddings import builtin_embedder, embedders
from nacre.wiring.settings import Settings
"""


def without(missing: set[str], code: str) -> str:
    """Return what code prints in a process that cannot import some packages."""
    whole = WITHOUT_WHEEL.replace("{missing}", repr(missing)) + code
    return subprocess.run(
        [sys.executable, "-c", whole], capture_output=True, text=True, check=True
    ).stdout


def test_without_its_wheel_the_best_model_says_what_to_install() -> None:
    code = (
        "print(len(embedders(Settings(data_folder='')).primary.query('cat')))\n"
        "print(builtin_embedder('builtin:use-multilingual-3+arctic-embed-s:896:1.30'))\n"
        "try: embedders(Settings(data_folder='', embeddings='builtin-best'))\n"
        "except Exception as error: print(type(error).__name__, error)"
    )

    size, old, problem = without({"nacre_english"}, code).splitlines()

    assert (size, old) == (str(4 * 768), "None")
    assert problem == (
        "ConfigurationError NACRE_EMBEDDINGS: builtin-best needs the data wheel nacre-mcp-english; "
        "in the clone: make setup, or pip install '.[best]'"
    )


def test_without_onnxruntime_the_best_model_runs_in_numpy() -> None:
    code = (
        "model = embedders(Settings(data_folder='', embeddings='builtin-best')).primary\n"
        "print(model.query('Where does the cat sleep?').hex(), 'onnxruntime' in sys.modules)"
    )
    model = embedders(chosen(embeddings="builtin-best")).primary
    assert model is not None

    vector, has_onnxruntime = without({"onnxruntime"}, code).split()

    mine = np.frombuffer(bytes.fromhex(vector), "<f4")
    assert has_onnxruntime == "False"
    assert mine @ np.frombuffer(model.query("Where does the cat sleep?"), "<f4") > 0.98


def test_a_model_without_a_card_gets_one_that_does_no_harm() -> None:
    card = card_of("openai:local:24:1")

    assert card.emb_id == "openai:local:24:1"
    assert (card.weights.dense, card.weights.sparse) == (0.8, 1.0)
    assert card.weights_for(mostly_cjk=True).sparse > card.weights_for(mostly_cjk=False).sparse


@pytest.mark.slow  # each encoder reads hundreds of texts again
@pytest.mark.parametrize("embeddings", BUILTIN)
@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_built_in_card_says_what_is_measured(embeddings: str, language: str) -> None:
    from infra.cards import measure

    found = embedders(chosen(embeddings=embeddings))
    assert found.primary is not None

    measured = measure(found.primary, language).cosines
    card = found.card.cosines_for(mostly_cjk=language == "ja")

    for name in ("mean", "deviation", "floor", "join"):
        np.testing.assert_allclose(getattr(card, name), getattr(measured, name), atol=0.011)
    assert card.at(2) == pytest.approx(card.mean + 2 * card.deviation)
    assert card.at(99) == 1
