"""The folder of a sentence encoder: its weights, its vocabulary and its options.

It reads the files that sentence-transformers publishes; `nacre.json` overrides them:
{"query_prefix": "", "document_prefix": "", "pooling": "mean" or "cls", "max_tokens": 512}
"""

import hashlib
import json
import zlib
from functools import cached_property
from pathlib import Path
from typing import Any

from nacre.adapters.embeddings.word_pieces import WordPieces
from nacre.core.errors import ConfigurationError
from nacre.core.lazy_dataclasses import dataclass

_MODELS = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
_MAX_TOKENS = 512  # BERT's window
_MARKS = ("[CLS]", "[SEP]", "[PAD]", "[UNK]")


@dataclass(frozen=True, slots=True)
class EncoderOptions:
    """The prefixes of texts, their length, and how the output becomes one vector."""

    query_prefix: str = ""
    document_prefix: str = ""
    pooling: str = "mean"
    max_tokens: int = _MAX_TOKENS

    @property
    def version(self) -> str:
        """A hash of eight digits that changes when vectors would."""
        values = json.dumps(
            [self.query_prefix, self.document_prefix, self.pooling, self.max_tokens]
        )
        return f"{zlib.crc32(values.encode()):08x}"


# Families with known prefixes and pooling, by a word in the name of the folder or the model.
_FAMILIES = {
    "arctic": EncoderOptions(
        query_prefix="Represent this sentence for searching relevant passages: ", pooling="cls"
    ),
    "e5": EncoderOptions(query_prefix="query: ", document_prefix="passage: "),
    "bge": EncoderOptions(
        query_prefix="Represent this sentence for searching relevant passages: ", pooling="cls"
    ),
}


class OnnxFolder:
    """A folder with a sentence encoder; errors name the file that is missing or malformed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        models = [path / name for name in _MODELS if (path / name).is_file()]
        if not models:
            raise ConfigurationError(
                f"NACRE_EMBEDDINGS: there is no {' or '.join(_MODELS)} in '{path}'"
            )
        self.model = models[0]
        self.dimension = self._dimension()
        self.options = self._options()

    @cached_property
    def emb_id(self) -> str:
        """The id of these weights and options, wherever the folder is."""
        with self.model.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return f"onnx:{digest[:16]}:{self.dimension}:{self.options.version}"

    def check(self) -> None:
        """Raise ConfigurationError if the vocabulary cannot be read."""
        self._vocabulary()

    def word_pieces(self) -> tuple[WordPieces, dict[str, int]]:
        """Return the tokenizer, and the ids of the marks that BERT sets around texts."""
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

    def _options(self) -> EncoderOptions:
        names = f"{self.path.name} {self._json('config.json').get('_name_or_path', '')}".lower()
        family_options = next(
            (m for family, m in _FAMILIES.items() if family in names), EncoderOptions()
        )
        prompts = self._json("config_sentence_transformers.json").get("prompts") or {}
        pooling = self._json("1_Pooling/config.json")
        max_tokens = self._json("sentence_bert_config.json").get("max_seq_length")
        values = {
            "query_prefix": prompts.get("query", family_options.query_prefix),
            "document_prefix": prompts.get(
                "document", prompts.get("passage", family_options.document_prefix)
            ),
            "pooling": family_options.pooling,
            "max_tokens": min(max_tokens or _MAX_TOKENS, _MAX_TOKENS),
        }
        if pooling:
            values["pooling"] = "cls" if pooling.get("pooling_mode_cls_token") else "mean"
        values |= self._json("nacre.json")
        return self._checked(values)

    def _checked(self, values: dict[str, Any]) -> EncoderOptions:
        try:
            options = EncoderOptions(**values)
        except TypeError:
            raise ConfigurationError(
                f"NACRE_EMBEDDINGS: nacre.json in '{self.path}' has a name that is not one of "
                "query_prefix, document_prefix, pooling, max_tokens"
            ) from None
        texts = (options.query_prefix, options.document_prefix)
        if (
            not all(isinstance(text, str) for text in texts)
            or options.pooling not in ("mean", "cls")
            or type(options.max_tokens) is not int
            or not 8 <= options.max_tokens <= 8192
        ):
            raise ConfigurationError(
                f"NACRE_EMBEDDINGS: in '{self.path}' a prefix is not a string, pooling is neither "
                "mean nor cls, or max_tokens is not a number from 8 to 8192"
            )
        return options

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
