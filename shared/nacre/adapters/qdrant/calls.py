"""Calls to Qdrant: what is repeated, how long, and which error comes out at the end."""

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

from nacre.core.errors import NacreError, UnavailableError
from nacre.core.limits import MAX_QDRANT_ANSWER_BYTES, QDRANT_REST_SECONDS, QDRANT_SECONDS

Result = TypeVar("Result")

_PAUSES = (0.1, 0.4)  # before the second and the third attempt
_NOT_NOW = frozenset({408, 429, 500, 502, 503, 504})


class MissingCollectionError(NacreError):
    """The collection is not there: never made, or somebody removed it."""


def connect(url: str, api_key: str = "") -> QdrantClient:
    """Return a client over REST, which does nothing before its first call."""
    return QdrantClient(
        url=url,
        api_key=api_key or None,
        timeout=QDRANT_SECONDS,
        check_compatibility=False,  # that would be a request more, in a thread of its own
        event_hooks={"response": [_bound]},
    )


def not_understood(what: str) -> UnavailableError:
    """Return that an answer is none, which says nothing of what is in it."""
    return UnavailableError(f"Qdrant's answer was not understood ({what}); check NACRE_QDRANT_URL")


def _bound(response: Response) -> None:
    """Let an answer that has begun be read within a bound of bytes and of time."""
    if isinstance(response.stream, SyncByteStream):
        response.stream = _Bounded(response.stream, time.monotonic() + QDRANT_SECONDS)


class _Bounded(SyncByteStream):
    """The client's time limit is for each read: a byte now and then would never meet it."""

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
                raise ReadTimeout("the answer did not come to its end in time")
            yield piece

    def close(self) -> None:
        self._stream.close()


class QdrantCalls:
    """Does what the client offers, in at most three attempts.

    A server that let one wait is left alone for a while: until then a call fails at once,
    so that whoever writes and reads does not wait each time. One that refuses the connection
    costs half a second and is asked each time.
    """

    def __init__(
        self,
        *,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sleep = sleep
        self._now = now
        self._rests_until = 0.0  # read and written whole, so threads need no lock

    def __call__(self, what: str, action: Callable[[], Result]) -> Result:
        """Return what an action on the client returns; it may be done more than once.

        Raises MissingCollectionError, or UnavailableError. Neither quotes Qdrant's answer,
        which may hold what a user wrote.
        """
        left = self._rests_until - self._now()
        if left > 0:
            raise UnavailableError(
                f"Qdrant did not answer in time ({what}); it is asked again in {left:.0f} s"
            )
        for pause in (*_PAUSES, None):
            try:
                return action()
            except (ApiException, ResourceExhaustedResponse) as error:
                failure, may_pass = _judged(what, error)
                if _was_slow(error):
                    self._rests_until = self._now() + QDRANT_REST_SECONDS
                if pause is None or not may_pass:
                    raise failure from error
            except (json.JSONDecodeError, UnicodeDecodeError, RecursionError, AssertionError):
                # What the client makes of a foreign body.
                raise not_understood(what) from None
            except ValueError as error:  # the client's own local mode
                if " not found" in str(error):
                    raise MissingCollectionError("the collection is not there") from None
                raise
            self._sleep(pause)
        raise AssertionError("the last attempt returns or raises")


def _judged(what: str, error: Exception) -> tuple[NacreError, bool]:
    """Return our error for one of the client's, and whether another attempt makes sense."""
    if isinstance(error, ResponseHandlingException):
        failure = UnavailableError(
            f"Qdrant does not answer ({what}: {type(error.source).__name__});"
            " check NACRE_QDRANT_URL and that the server runs"
        )
        # A server that lets one wait will not be faster at once.
        return failure, not _was_slow(error)
    status = error.status_code if isinstance(error, UnexpectedResponse) else 429
    if status == 404:
        return MissingCollectionError("the collection is not there"), False
    if status in (401, 403):
        refusal = f"Qdrant refuses the API key ({what}: {status}); check NACRE_QDRANT_API_KEY"
        return UnavailableError(refusal), False
    return UnavailableError(f"Qdrant cannot do it now ({what}: {status})"), status in _NOT_NOW


def _was_slow(error: Exception) -> bool:
    return isinstance(error, ResponseHandlingException) and isinstance(
        error.source, TimeoutException
    )
