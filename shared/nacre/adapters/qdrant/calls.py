"""Calls to Qdrant: retries, timeouts and errors."""

import json
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from httpx import DecodingError, ReadTimeout, Response, SyncByteStream, TimeoutException
from qdrant_client import QdrantClient
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import (
    ApiException,
    ResponseHandlingException,
    UnexpectedResponse,
)

from nacre.adapters.httpx_options import httpx_options
from nacre.core.errors import NacreError, UnavailableError
from nacre.core.limits import MAX_QDRANT_ANSWER_BYTES, QDRANT_REST_SECONDS, QDRANT_SECONDS
from nacre.http_client.outgoing import DIRECT, Outgoing

Result = TypeVar("Result")

_PAUSES = (0.1, 0.4)  # before the second and the third attempt
_RETRYABLE_STATUSES = frozenset({408, 429, 500, 502, 503, 504})


class MissingCollectionError(NacreError):
    """The collection does not exist: it was never created, or somebody removed it."""


def connect(url: str, api_key: str = "", outgoing: Outgoing = DIRECT) -> QdrantClient:
    """Return a client over REST, which sends nothing before its first call."""
    return QdrantClient(
        url=url,
        api_key=api_key or None,
        timeout=QDRANT_SECONDS,
        check_compatibility=False,  # it would send another request, in another thread
        event_hooks={"response": [_limit_stream]},
        **httpx_options(outgoing, url),
    )


def not_understood(operation: str) -> UnavailableError:
    """Build the error for a malformed response of Qdrant, without quoting its body."""
    return UnavailableError(
        f"Qdrant's answer was not understood ({operation}); check NACRE_QDRANT_URL"
    )


def _limit_stream(response: Response) -> None:
    """Limit the size of a response, and the time for reading it."""
    if isinstance(response.stream, SyncByteStream):
        response.stream = _LimitedStream(response.stream, time.monotonic() + QDRANT_SECONDS)


class _LimitedStream(SyncByteStream):
    """A response body with limits for its size and time.

    The timeout of the client applies to each read, not to the whole body.
    """

    def __init__(self, stream: SyncByteStream, end: float) -> None:
        self._stream = stream
        self._end = end

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for piece in self._stream:
            size += len(piece)
            if size > MAX_QDRANT_ANSWER_BYTES:
                raise DecodingError("the answer is too long")
            if time.monotonic() >= self._end:
                raise ReadTimeout("the answer was not complete in time")
            yield piece

    def close(self) -> None:
        self._stream.close()


class QdrantCalls:
    """Runs operations of the client, with up to three attempts.

    After a timeout, all calls fail at once for a while, so that callers do not wait each time.
    A server that refuses connections is tried each time, because that takes half a second only.
    """

    def __init__(
        self,
        *,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sleep = sleep
        self._now = now
        self._paused_until = 0.0  # reads and writes are atomic, so no lock is needed

    def __call__(self, operation: str, action: Callable[[], Result]) -> Result:
        """Return the result of an action on the client, which may be repeated.

        Raises MissingCollectionError or UnavailableError. Neither quotes Qdrant's answer, which may
        contain a user's text.
        """
        seconds = self._paused_until - self._now()
        if seconds > 0:
            raise UnavailableError(
                f"Qdrant did not answer in time ({operation}); "
                f"the next attempt is in {seconds:.0f} s"
            )
        for pause in (*_PAUSES, None):
            try:
                return action()
            except (ApiException, ResourceExhaustedResponse) as error:
                failure, is_retryable = _translated(operation, error)
                if _was_slow(error):
                    self._paused_until = self._now() + QDRANT_REST_SECONDS
                if pause is None or not is_retryable:
                    raise failure from error
            except (json.JSONDecodeError, UnicodeDecodeError, RecursionError, AssertionError):
                # The client raises these for a body that is not Qdrant's.
                raise not_understood(operation) from None
            except ValueError as error:  # the client's local mode
                if " not found" in str(error):
                    raise MissingCollectionError("the collection does not exist") from None
                raise
            self._sleep(pause)
        raise AssertionError("the last attempt returns or raises")


def _translated(operation: str, error: Exception) -> tuple[NacreError, bool]:
    """Return the error to raise for an error of the client, and whether to try again."""
    if isinstance(error, ResponseHandlingException):
        failure = UnavailableError(
            f"Qdrant does not answer ({operation}: {type(error.source).__name__});"
            " check NACRE_QDRANT_URL and that the server runs"
        )
        # A slow server will not be faster at once.
        return failure, not _was_slow(error)
    status = error.status_code if isinstance(error, UnexpectedResponse) else 429
    if status == 404:
        return MissingCollectionError("the collection does not exist"), False
    if status in (401, 403):
        refusal = f"Qdrant refuses the API key ({operation}: {status}); check NACRE_QDRANT_API_KEY"
        return UnavailableError(refusal), False
    refusal = f"Qdrant cannot handle the request now ({operation}: {status})"
    return UnavailableError(refusal), status in _RETRYABLE_STATUSES


def _was_slow(error: Exception) -> bool:
    return isinstance(error, ResponseHandlingException) and isinstance(
        error.source, TimeoutException
    )
