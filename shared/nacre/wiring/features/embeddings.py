"""The models that turn texts into vectors, chosen by NACRE_EMBEDDINGS.

The first text loads numpy, onnxruntime or openai. The files of an ONNX folder are read before
that, because the hash of its weights is the id of its vectors.
"""

from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.adapters.embeddings.builtin_models import (
    BEST,
    BUILTIN,
    ENGLISH,
    Combination,
    TableKind,
)
from nacre.being.memory.search.embedding_cards import LEXICAL, card_of
from nacre.core.errors import ConfigurationError
from nacre.core.lazy_dataclasses import dataclass
from nacre.ports.vectors.embedder import Card, Embedder, TokenSimilarity, Vector
from nacre.wiring.settings import Settings

if TYPE_CHECKING:
    from nacre.adapters.embeddings.english_encoder import EnglishEncoder
    from nacre.adapters.embeddings.static_embedder import StaticTable

DEFAULT = "builtin"
OPENAI_MODEL = "text-embedding-3-small"
OPENAI_URL = "https://api.openai.com/v1"
# Models with a published vector size; all others need NACRE_EMBEDDING_DIMENSIONS.
_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}


@dataclass(frozen=True, slots=True)
class Embedders:
    """An embedding model, a token comparison, and the card that tells a search how to use them."""

    primary: Embedder | None
    tokens: TokenSimilarity | None
    card: Card


def embedders(settings: Settings, *, key: Callable[[], str] = str) -> Embedders:
    """Return the embedders that the settings choose; raise ConfigurationError if they are wrong.

    If no setting holds the API key of an endpoint, `key` returns it when the first text arrives.
    """
    chosen = settings.embeddings
    if chosen == "none":
        return Embedders(primary=None, tokens=None, card=LEXICAL)
    if chosen in BUILTIN:
        if not _is_installed(BUILTIN[chosen]):
            raise ConfigurationError(
                f"NACRE_EMBEDDINGS: {chosen} needs the data wheel nacre-mcp-english; "
                "in the clone: make setup, or pip install '.[best]'"
            )
        return _builtin(BUILTIN[chosen])
    primary = _openai(settings, key) if chosen == "openai" else _onnx(chosen)
    return Embedders(primary, tokens=_builtin(ENGLISH).tokens, card=card_of(primary.emb_id))


def builtin_embedder(emb_id: str) -> Embedder | None:
    """Return the built-in embedder with this id, so that an old index can still be searched."""
    for kind in BUILTIN.values():
        if kind.emb_id == emb_id and _is_installed(kind):
            return _builtin(kind).primary
    return None


def gives_way(emb_id: str, configured: str) -> bool:
    """Return whether the index of an embedding is rebuilt automatically.

    A built-in one gives way to the default, which has changed since version 0.1.0, and to
    `builtin-best`. Endpoints and folders cost money or time, so only the owner changes to or from
    them, and to a table.
    """
    automatic = {BUILTIN[DEFAULT].emb_id, BEST.emb_id}
    return (
        emb_id != configured
        and configured in automatic
        and emb_id in {kind.emb_id for kind in BUILTIN.values()}
    )


def _is_installed(kind: Combination | TableKind) -> bool:
    is_extra = isinstance(kind, Combination) and kind.english is not None
    return not is_extra or find_spec("nacre_english") is not None


class _LazyEmbedder:
    """An Embedder that loads its model when the first text arrives; its id and size are known."""

    def __init__(self, emb_id: str, dimension: int, make: Callable[[], Embedder]) -> None:
        self.emb_id = emb_id
        self.dimension = dimension
        self._make = cache(make)

    def documents(self, texts: Sequence[str]) -> list[Vector]:
        return self._make().documents(texts)

    def query(self, text: str) -> Vector:
        return self._make().query(text)


class _LazyTokenSimilarity:
    """A TokenSimilarity that loads its table when the first query arrives."""

    def __init__(self, make: Callable[[], TokenSimilarity]) -> None:
        self._make = cache(make)

    def score(self, query: str, texts: Sequence[str]) -> list[float | None]:
        return self._make().score(query, texts)


def _builtin(kind: Combination | TableKind) -> Embedders:
    @cache
    def table() -> "StaticTable":
        from nacre.adapters.embeddings.static_embedder import StaticTable

        return StaticTable(kind if isinstance(kind, TableKind) else kind.table)

    def embedder() -> Embedder:
        if isinstance(kind, TableKind):
            from nacre.adapters.embeddings.static_embedder import StaticEmbedder

            return StaticEmbedder(table())
        from nacre.adapters.embeddings.combined_embedder import CombinedEmbedder
        from nacre.adapters.embeddings.multilingual_encoder import MultilingualEncoder

        if kind.english is None:
            return CombinedEmbedder(kind, MultilingualEncoder(), table())
        return CombinedEmbedder(kind, MultilingualEncoder(), table(), _english_encoder())

    def tokens() -> TokenSimilarity:
        from nacre.adapters.embeddings.static_embedder import StaticTokenSimilarity

        return StaticTokenSimilarity(table())

    return Embedders(
        primary=_LazyEmbedder(kind.emb_id, kind.dimension, embedder),
        tokens=_LazyTokenSimilarity(tokens),
        card=card_of(kind.emb_id),
    )


def _english_encoder() -> "EnglishEncoder":
    """Return the English encoder, run by onnxruntime if it is installed."""
    from nacre.adapters.embeddings.english_encoder import EnglishEncoder

    if find_spec("onnxruntime") is None:
        from nacre.adapters.embeddings.english_layers import with_numpy

        return EnglishEncoder(with_numpy)
    from nacre.adapters.embeddings.english_session import with_onnxruntime

    return EnglishEncoder(with_onnxruntime)


def _onnx(chosen: str) -> Embedder:
    from nacre.adapters.embeddings.onnx_folder import OnnxFolder

    if find_spec("onnxruntime") is None:
        raise ConfigurationError(
            "NACRE_EMBEDDINGS: an ONNX model needs onnxruntime; "
            "in the clone: make setup, or pip install '.[onnx]'"
        )
    folder = OnnxFolder(Path(chosen.removeprefix("onnx:")).expanduser())
    folder.check()

    def embedder() -> Embedder:
        from nacre.adapters.embeddings.onnx_embedder import OnnxEmbedder

        return OnnxEmbedder(folder)

    return _LazyEmbedder(folder.emb_id, folder.dimension, embedder)


def _openai(settings: Settings, key: Callable[[], str]) -> Embedder:
    if find_spec("openai") is None:
        raise ConfigurationError(
            "NACRE_EMBEDDINGS: an endpoint needs the openai package; "
            "in the clone: make setup, or pip install '.[openai]'"
        )
    model = settings.embedding_model or OPENAI_MODEL
    dimension = settings.embedding_dimensions or _DIMENSIONS.get(model)
    if dimension is None:
        raise ConfigurationError(
            f"NACRE_EMBEDDING_DIMENSIONS: not set, and the size of '{model}' is not known here; "
            "set it to the number of dimensions of that model's vectors"
        )

    def embedder() -> Embedder:
        from nacre.adapters.openai.embedder import OpenAIEmbedder
        from nacre.wiring.outgoing import outgoing_of

        return OpenAIEmbedder(
            model,
            dimension,
            key=lambda: settings.embedding_api_key.reveal() or key(),
            base_url=settings.embedding_base_url or OPENAI_URL,
            outgoing=outgoing_of(settings),
        )

    return _LazyEmbedder(f"openai:{model}:{dimension}:1", dimension, embedder)
