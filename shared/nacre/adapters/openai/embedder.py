"""Vectors of texts from an endpoint that speaks OpenAI's protocol."""

import base64
import json
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np
import openai

from nacre.adapters.embeddings.vector_rules import WrongDimensionError, embeddable, packed
from nacre.adapters.openai.endpoint_client import endpoint_client
from nacre.adapters.openai.faults import whole_body
from nacre.core.errors import UnavailableError
from nacre.core.limits import (
    EMBEDDING_BATCH,
    EMBEDDING_RETRIES,
    EMBEDDING_SECONDS,
    MAX_EMBEDDING_ANSWER_BYTES,
    QUERY_EMBEDDING_SECONDS,
)
from nacre.http_client.outgoing import DIRECT, Outgoing
from nacre.ports.vectors.embedder import Vector

OPENAI_URL = "https://api.openai.com/v1"
_NO_VECTORS = "the embedding endpoint's answer holds no vector for each text"
_TIMEOUT = "it did not answer in time"
_UNREACHED = "it cannot be reached; see NACRE_EMBEDDING_BASE_URL"
_BATCH_BYTES = 256 * 1024  # OpenAI accepts 300,000 tokens at once; a token has at least a byte


class OpenAIEmbedder:
    """An Embedder over an endpoint; the first text reads the key.

    The SDK retries a request after 429, 5xx or a dropped connection, with growing, random pauses.
    Errors never contain the key or the texts.
    """

    def __init__(
        self,
        model: str,
        dimension: int,
        *,
        key: Callable[[], str],
        base_url: str = OPENAI_URL,
        outgoing: Outgoing = DIRECT,
    ) -> None:
        self._model = model
        self._key = key
        self._base_url = base_url
        self._outgoing = outgoing
        # Some servers refuse this parameter, and others ignore it; see _answer.
        self._asks_dimension = True
        self.emb_id = f"openai:{model}:{dimension}:1"
        self.dimension = dimension

    def probe(self) -> int:
        """Return the dimension of the endpoint's vectors."""
        try:
            self._vectors(["probe"], self._patient)
        except WrongDimensionError as error:
            return error.actual
        return self.dimension

    def documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text, in order."""
        return self._vectors(texts, self._patient)

    def query(self, text: str) -> Vector:
        """Return the vector of a query, with a short timeout because a client is waiting."""
        return self._vectors([text], self._hurried)[0]

    def _vectors(self, texts: Sequence[str], client: openai.OpenAI) -> list[Vector]:
        vector_at: dict[int, Vector] = {}
        readable = [(place, text) for place, raw in enumerate(texts) if (text := embeddable(raw))]
        for batch in _batches(readable):
            vectors = self._answer([text for _, text in batch], client)
            vector_at |= dict(zip((place for place, _ in batch), vectors, strict=True))
        zeros = bytes(4 * self.dimension)
        return [vector_at.get(place, zeros) for place in range(len(texts))]

    def _answer(self, texts: list[str], client: openai.OpenAI) -> list[Vector]:
        try:
            answer = self._request(texts, client)
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            if not self._asks_dimension:
                raise _unavailable(error) from None
            # A model with a fixed dimension may refuse the parameter; its answer is checked anyway.
            self._asks_dimension = False
            answer = self._request_without_dimension(texts, client)
        except openai.OpenAIError as error:
            raise _unavailable(error) from None
        return self._checked(answer, len(texts))

    def _request_without_dimension(self, texts: list[str], client: openai.OpenAI) -> Any:
        try:
            return self._request(texts, client)
        except openai.OpenAIError as error:
            self._asks_dimension = True
            raise _unavailable(error) from None

    def _request(self, texts: list[str], client: openai.OpenAI) -> Any:
        for may_break in (True, False):
            try:
                return json.loads(self._body(texts, client))
            except (openai.OpenAIError, UnavailableError):
                raise
            except (ValueError, RecursionError):
                raise UnavailableError(_NO_VECTORS) from None
            except Exception as error:  # noqa: BLE001  errors of the SDK's HTTP library
                # The SDK retries failures before the body, but not within it.
                if "Timeout" in type(error).__name__:
                    raise _no_answer(_TIMEOUT) from None
                if not may_break:
                    raise _no_answer(_UNREACHED) from None
        raise AssertionError("the last attempt returns or raises")

    def _body(self, texts: list[str], client: openai.OpenAI) -> bytes:
        size = self.dimension if self._asks_dimension else openai.omit
        seconds = client.timeout
        assert isinstance(seconds, float)
        ask = client.embeddings.with_streaming_response.create
        with ask(model=self._model, input=texts, dimensions=size) as response:
            too_long = f"its answer is longer than {MAX_EMBEDDING_ANSWER_BYTES} bytes"
            return whole_body(
                response.iter_bytes(),
                most=MAX_EMBEDDING_ANSWER_BYTES,
                too_long=_no_answer(too_long),
                end=time.monotonic() + seconds,
                too_late=_no_answer(_TIMEOUT),
                monotonic=time.monotonic,
            )

    def _checked(self, answer: Any, count: int) -> list[Vector]:
        try:
            entries = sorted(answer["data"], key=itemgetter("index"))
            rows = [_row(entry["embedding"]) for entry in entries]
            lengths = {len(row) for row in rows}
            numbers = np.array(rows, np.float32) if len(lengths) == 1 else None
        except (LookupError, TypeError, ValueError):
            numbers = None
        if numbers is None or len(numbers) != count:
            raise UnavailableError(_NO_VECTORS)
        return packed(numbers, dimension=self.dimension, model=f"'{self._model}'")

    @cached_property
    def _patient(self) -> openai.OpenAI:
        return openai.OpenAI(
            api_key=self._key() or "none",  # local servers need no key, but the SDK does
            base_url=self._base_url,
            timeout=EMBEDDING_SECONDS,
            max_retries=EMBEDDING_RETRIES,
            http_client=endpoint_client(self._outgoing, self._base_url),
        )

    @cached_property
    def _hurried(self) -> openai.OpenAI:
        return self._patient.with_options(timeout=QUERY_EMBEDDING_SECONDS, max_retries=1)


def _batches(texts: list[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """Yield the texts in batches of limited number and size."""
    batch: list[tuple[int, str]] = []
    size = 0
    for place, text in texts:
        length = len(text.encode())
        if batch and (len(batch) == EMBEDDING_BATCH or size + length > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append((place, text))
        size += length
    if batch:
        yield batch


def _unavailable(error: openai.OpenAIError) -> UnavailableError:
    """Return the error without the answer's own words: they may repeat the key."""
    match error:
        case openai.AuthenticationError() | openai.PermissionDeniedError():
            reason = "it refused the key; set NACRE_EMBEDDING_API_KEY"
        case openai.NotFoundError():
            reason = "it does not know the model or the path (404); see NACRE_EMBEDDING_MODEL"
        case openai.RateLimitError():
            reason = "it asks for patience (429)"
        case openai.APIStatusError():
            reason = f"it answered {error.status_code}"
        case openai.APITimeoutError():
            reason = _TIMEOUT
        case openai.APIConnectionError():
            reason = _UNREACHED
        case _:
            reason = "its answer was not understood"
    return _no_answer(reason)


def _no_answer(reason: str) -> UnavailableError:
    return UnavailableError(f"the embedding endpoint gives no usable answer now: {reason}")


def _row(embedding: Any) -> Any:
    """Return the numbers of a vector; the SDK asks for bytes, which some endpoints return."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4")
    return embedding
