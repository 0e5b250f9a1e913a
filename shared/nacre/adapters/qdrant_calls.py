"""Calls to Qdrant: what is repeated, how long, and which error comes out at the end."""

import time
from collections.abc import Callable
from typing import TypeVar

from httpx import TimeoutException
from qdrant_client import QdrantClient
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import (
    ApiException,
    ResponseHandlingException,
    UnexpectedResponse,
)

from nacre.errors import NacreError, UnavailableError
from nacre.limits import QDRANT_SECONDS

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
    )


def call(
    what: str, action: Callable[[], Result], *, sleep: Callable[[float], None] = time.sleep
) -> Result:
    """Return what an action on the client returns; it may be done more than once.

    Raises MissingCollectionError, or UnavailableError after at most three attempts. Neither
    quotes Qdrant's answer, which may hold what a user wrote.
    """
    for pause in (*_PAUSES, None):
        try:
            return action()
        except (ApiException, ResourceExhaustedResponse) as error:
            failure, may_pass = _judged(what, error)
            if pause is None or not may_pass:
                raise failure from error
        except ValueError as error:  # the client's own local mode
            if " not found" in str(error):
                raise MissingCollectionError("the collection is not there") from None
            raise
        sleep(pause)
    raise AssertionError("the last attempt returns or raises")


def _judged(what: str, error: Exception) -> tuple[NacreError, bool]:
    """Return our error for one of the client's, and whether another attempt makes sense."""
    if isinstance(error, ResponseHandlingException):
        failure = UnavailableError(
            f"Qdrant does not answer ({what}: {type(error.source).__name__});"
            " check NACRE_QDRANT_URL and that the server runs"
        )
        # A server that lets one wait will not be faster at once.
        return failure, not isinstance(error.source, TimeoutException)
    status = error.status_code if isinstance(error, UnexpectedResponse) else 429
    if status == 404:
        return MissingCollectionError("the collection is not there"), False
    if status in (401, 403):
        refusal = f"Qdrant refuses the API key ({what}: {status}); check NACRE_QDRANT_API_KEY"
        return UnavailableError(refusal), False
    return UnavailableError(f"Qdrant cannot do it now ({what}: {status})"), status in _NOT_NOW
