"""Texts as vectors of an endpoint that speaks OpenAI's protocol."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import openai

from nacre.adapters.vector_rules import WrongDimensionError, embeddable, packed
from nacre.errors import UnavailableError
from nacre.limits import (
    EMBEDDING_BATCH,
    EMBEDDING_RETRIES,
    EMBEDDING_SECONDS,
    QUERY_EMBEDDING_SECONDS,
)
from nacre.ports.embedder import Vector

OPENAI_URL = "https://api.openai.com/v1"
_NO_VECTORS = "the embedding endpoint's answer holds no vector for each text"
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
        size = self.dimension if self._asks_dimension else openai.omit
        try:
            return client.embeddings.create(model=self._model, input=texts, dimensions=size)
        except (AttributeError, TypeError, ValueError):  # what the SDK makes of a foreign body
            raise UnavailableError(_NO_VECTORS) from None

    def _checked(self, answer: Any, count: int) -> list[Vector]:
        try:
            rows = [one.embedding for one in sorted(answer.data, key=lambda one: one.index)]
            lengths = {len(row) for row in rows}
            numbers = np.array(rows, np.float32) if len(lengths) == 1 else None
        except (AttributeError, TypeError, ValueError):
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
            reason = "it did not answer in time"
        case openai.APIConnectionError():
            reason = "it cannot be reached; see NACRE_EMBEDDING_BASE_URL"
        case _:
            reason = "its answer was not understood"
    return UnavailableError(f"the embedding endpoint is no help now: {reason}")
