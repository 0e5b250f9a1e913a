"""Texts as vectors of an endpoint that speaks OpenAI's protocol."""

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
from nacre.adapters.openai.whole_body import BodyTooLateError, BodyTooLongError, whole_body
from nacre.core.errors import UnavailableError
from nacre.core.limits import (
    EMBEDDING_BATCH,
    EMBEDDING_RETRIES,
    EMBEDDING_SECONDS,
    MAX_EMBEDDING_ANSWER_BYTES,
    QUERY_EMBEDDING_SECONDS,
)
from nacre.ports.embedder import Vector

OPENAI_URL = "https://api.openai.com/v1"
_NO_VECTORS = "the embedding endpoint's answer holds no vector for each text"
_LATE = "it did not answer in time"
_UNREACHED = "it cannot be reached; see NACRE_EMBEDDING_BASE_URL"
_BATCH_BYTES = 256 * 1024  # OpenAI takes 300,000 tokens at once; a token is a byte or more


class OpenAIEmbedder:
    """An Embedder over an endpoint; the key is asked for with the first text.

    The SDK repeats a request after a 429, a 5xx or a dropped line, with growing, uneven
    pauses. Whatever goes wrong, the key and the texts stay out of the error.
    """

    def __init__(
        self, model: str, dimension: int, *, key: Callable[[], str], base_url: str = OPENAI_URL
    ) -> None:
        self._model = model
        self._key = key
        self._base_url = base_url
        # Some servers refuse the parameter, and others ignore it; see _answer.
        self._asks_dimension = True
        self.emb_id = f"openai:{model}:{dimension}:1"
        self.dimension = dimension

    def probe(self) -> int:
        """Return how long the endpoint's vectors are, whatever was asked for."""
        try:
            self._vectors(["probe"], self._patient)
        except WrongDimensionError as error:
            return error.found
        return self.dimension

    def documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text, in their order."""
        return self._vectors(texts, self._patient)

    def query(self, text: str) -> Vector:
        """Return the vector of a query; somebody waits, so it gives up early."""
        return self._vectors([text], self._hurried)[0]

    def _vectors(self, texts: Sequence[str], client: openai.OpenAI) -> list[Vector]:
        found: dict[int, Vector] = {}
        read = [(place, text) for place, raw in enumerate(texts) if (text := embeddable(raw))]
        for batch in _batches(read):
            vectors = self._answer([text for _, text in batch], client)
            found |= dict(zip((place for place, _ in batch), vectors, strict=True))
        nothing = bytes(4 * self.dimension)
        return [found.get(place, nothing) for place in range(len(texts))]

    def _answer(self, texts: list[str], client: openai.OpenAI) -> list[Vector]:
        try:
            answer = self._asked(texts, client)
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            if not self._asks_dimension:
                raise _unavailable(error) from None
            # A model of one size only may refuse to be asked; its answer is measured anyway.
            self._asks_dimension = False
            answer = self._asked_again(texts, client)
        except openai.OpenAIError as error:
            raise _unavailable(error) from None
        return self._checked(answer, len(texts))

    def _asked_again(self, texts: list[str], client: openai.OpenAI) -> Any:
        try:
            return self._asked(texts, client)
        except openai.OpenAIError as error:
            self._asks_dimension = True
            raise _unavailable(error) from None

    def _asked(self, texts: list[str], client: openai.OpenAI) -> Any:
        for may_break in (True, False):
            try:
                return json.loads(self._body(texts, client))
            except (openai.OpenAIError, UnavailableError):
                raise
            except (ValueError, RecursionError):
                raise UnavailableError(_NO_VECTORS) from None
            except Exception as error:  # noqa: BLE001  the SDK's HTTP library has errors of its own
                # The SDK repeats what breaks off before the body, and leaves the rest to us.
                if "Timeout" in type(error).__name__:
                    raise UnavailableError(_told(_LATE)) from None
                if not may_break:
                    raise UnavailableError(_told(_UNREACHED)) from None
        raise AssertionError("the last attempt returns or raises")

    def _body(self, texts: list[str], client: openai.OpenAI) -> bytes:
        size = self.dimension if self._asks_dimension else openai.omit
        seconds = client.timeout
        assert isinstance(seconds, float)
        ask = client.embeddings.with_streaming_response.create
        with ask(model=self._model, input=texts, dimensions=size) as response:
            try:
                return whole_body(
                    response.iter_bytes(),
                    most=MAX_EMBEDDING_ANSWER_BYTES,
                    end=time.monotonic() + seconds,
                    monotonic=time.monotonic,
                )
            except BodyTooLongError:
                raise UnavailableError(
                    _told(f"its answer is longer than {MAX_EMBEDDING_ANSWER_BYTES} bytes")
                ) from None
            except BodyTooLateError:
                raise UnavailableError(_told(_LATE)) from None

    def _checked(self, answer: Any, count: int) -> list[Vector]:
        try:
            told = sorted(answer["data"], key=itemgetter("index"))
            rows = [_row(one["embedding"]) for one in told]
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
            api_key=self._key() or "none",  # local servers need none, and the SDK insists
            base_url=self._base_url,
            timeout=EMBEDDING_SECONDS,
            max_retries=EMBEDDING_RETRIES,
        )

    @cached_property
    def _hurried(self) -> openai.OpenAI:
        return self._patient.with_options(timeout=QUERY_EMBEDDING_SECONDS, max_retries=1)


def _batches(read: list[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """Yield texts in requests of bounded number and size."""
    batch: list[tuple[int, str]] = []
    size = 0
    for place, text in read:
        length = len(text.encode())
        if batch and (len(batch) == EMBEDDING_BATCH or size + length > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append((place, text))
        size += length
    if batch:
        yield batch


def _unavailable(error: openai.OpenAIError) -> UnavailableError:
    """Return what went wrong, without the answer's own words: they may repeat the key."""
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
            reason = _LATE
        case openai.APIConnectionError():
            reason = _UNREACHED
        case _:
            reason = "its answer was not understood"
    return UnavailableError(_told(reason))


def _told(reason: str) -> str:
    return f"the embedding endpoint is no help now: {reason}"


def _row(embedding: Any) -> Any:
    """Return the numbers of a vector; the SDK asks for their bytes, which some endpoints give."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4")
    return embedding
