"""What a folder says about the sentence encoder in it: weights, words, prefixes, pooling.

Read are the files that sentence-transformers publishes; `nacre.json` wins over them:
{"query_prefix": "", "document_prefix": "", "pooling": "mean" or "cls", "max_tokens": 512}
"""

import hashlib
import json
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from nacre.adapters.embeddings.word_pieces import WordPieces
from nacre.core.errors import ConfigurationError

_MODELS = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
_MOST_TOKENS = 512  # BERT's own window
_MARKS = ("[CLS]", "[SEP]", "[PAD]", "[UNK]")


@dataclass(frozen=True, slots=True)
class Manners:
    """How a model wants its texts and how its answer becomes one vector."""

    query_prefix: str = ""
    document_prefix: str = ""
    pooling: str = "mean"
    max_tokens: int = _MOST_TOKENS

    @property
    def version(self) -> str:
        """Return eight digits that change when vectors would."""
        said = json.dumps([self.query_prefix, self.document_prefix, self.pooling, self.max_tokens])
        return f"{zlib.crc32(said.encode()):08x}"


# Families whose prefix and pooling are known, by a word of the folder's or the model's name.
_FAMILIES = {
    "arctic": Manners(
        query_prefix="Represent this sentence for searching relevant passages: ", pooling="cls"
    ),
    "e5": Manners(query_prefix="query: ", document_prefix="passage: "),
    "bge": Manners(
        query_prefix="Represent this sentence for searching relevant passages: ", pooling="cls"
    ),
}


class OnnxFolder:
    """A folder with a sentence encoder; a file that lacks or is not understood is named."""

    def __init__(self, path: Path) -> None:
        self.path = path
        found = [path / name for name in _MODELS if (path / name).is_file()]
        if not found:
            raise ConfigurationError(
                f"NACRE_EMBEDDINGS: there is no {' or '.join(_MODELS)} in '{path}'"
            )
        self.model = found[0]
        self.dimension = self._dimension()
        self.manners = self._manners()

    @cached_property
    def emb_id(self) -> str:
        """Return the id of these weights and manners, wherever the folder lies."""
        with self.model.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return f"onnx:{digest[:16]}:{self.dimension}:{self.manners.version}"

    def check(self) -> None:
        """Raise ConfigurationError where the words are not ones that can be read."""
        self._vocabulary()

    def word_pieces(self) -> tuple[WordPieces, dict[str, int]]:
        """Return what cuts texts, and the ids of the marks that BERT sets around them."""
        vocabulary = self._vocabulary()
        marks = {mark: vocabulary[mark] for mark in _MARKS}
        return WordPieces(vocabulary, unknown=marks["[UNK]"]), marks

    def _vocabulary(self) -> dict[str, int]:
        tokenizer = self._json("tokenizer.json")
        if tokenizer:
            model = tokenizer.get("model", {})
            lower = (tokenizer.get("normalizer") or {}).get("lowercase", True)
            pieces = model.get("vocab") if model.get("type") == "WordPiece" else None
        else:
            lower = self._json("tokenizer_config.json").get("do_lower_case", True)
            pieces = self._listed_pieces()
        if not isinstance(pieces, dict) or not lower or not set(_MARKS) <= set(pieces):
            raise ConfigurationError(
                f"NACRE_EMBEDDINGS: '{self.path}' needs the lower-case WordPiece vocabulary of a "
                "BERT model, as tokenizer.json or vocab.txt"
            )
        return {str(piece): int(number) for piece, number in pieces.items()}

    def _listed_pieces(self) -> dict[str, int]:
        try:
            lines = (self.path / "vocab.txt").read_text(encoding="utf-8").split("\n")
        except FileNotFoundError:
            return {}
        return {piece.rstrip("\r"): place for place, piece in enumerate(lines) if piece}

    def _dimension(self) -> int:
        size = self._json("config.json").get("hidden_size")
        if not isinstance(size, int) or size < 1:
            raise ConfigurationError(
                f"NACRE_EMBEDDINGS: config.json in '{self.path}' does not say hidden_size"
            )
        return size

    def _manners(self) -> Manners:
        names = f"{self.path.name} {self._json('config.json').get('_name_or_path', '')}".lower()
        known = next((m for family, m in _FAMILIES.items() if family in names), Manners())
        prompts = self._json("config_sentence_transformers.json").get("prompts") or {}
        pooling = self._json("1_Pooling/config.json")
        longest = self._json("sentence_bert_config.json").get("max_seq_length")
        said = {
            "query_prefix": prompts.get("query", known.query_prefix),
            "document_prefix": prompts.get(
                "document", prompts.get("passage", known.document_prefix)
            ),
            "pooling": known.pooling,
            "max_tokens": min(longest or _MOST_TOKENS, _MOST_TOKENS),
        }
        if pooling:
            said["pooling"] = "cls" if pooling.get("pooling_mode_cls_token") else "mean"
        said |= self._json("nacre.json")
        return self._checked(said)

    def _checked(self, said: dict[str, Any]) -> Manners:
        try:
            manners = Manners(**said)
        except TypeError:
            raise ConfigurationError(
                f"NACRE_EMBEDDINGS: nacre.json in '{self.path}' has a name that is not one of "
                "query_prefix, document_prefix, pooling, max_tokens"
            ) from None
        texts = (manners.query_prefix, manners.document_prefix)
        if (
            not all(isinstance(text, str) for text in texts)
            or manners.pooling not in ("mean", "cls")
            or type(manners.max_tokens) is not int
            or not 8 <= manners.max_tokens <= 8192
        ):
            raise ConfigurationError(
                f"NACRE_EMBEDDINGS: in '{self.path}' a prefix is no text, pooling is neither "
                "mean nor cls, or max_tokens is not a number from 8 to 8192"
            )
        return manners

    def _json(self, name: str) -> dict[str, Any]:
        try:
            content = json.loads((self.path / name).read_bytes())
        except FileNotFoundError:
            return {}
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise ConfigurationError(
                f"NACRE_EMBEDDINGS: {name} in '{self.path}' is not a JSON object"
            )
        return content
