"""Calls to AWS: what is repeated, how long, and which error comes out at the end."""

import time
from collections.abc import Callable
from random import Random, SystemRandom
from typing import Any

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
)

from nacre.core.errors import UnavailableError

Sleep = Callable[[float], None]

# Refused before anything was done, so that any call may be repeated.
_REFUSED = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
        "TransactionInProgressException",
    }
)
# Perhaps done: only calls that may be done twice are repeated.
_UNCLEAR = frozenset(
    {"InternalError", "InternalFailure", "InternalServerError", "ServiceUnavailable"}
)
_CALLS = 8
_LONGEST_PAUSE = 2.0


class AwsCalls:
    """One client's operations, repeated with jitter while AWS asks to slow down.

    The client should not repeat by itself (`total_max_attempts=1`): it does not know
    which writes may be done twice.
    """

    def __init__(
        self, client: Any, *, sleep: Sleep = time.sleep, rng: Random | None = None
    ) -> None:
        self._client = client
        self._sleep = sleep
        self.rng = rng or SystemRandom()

    def call(self, operation: str, *, twice: bool, **parameters: Any) -> Any:
        """Call an operation; `twice` says that doing it twice is as good as once.

        Raises ClientError when AWS refuses for good, UnavailableError when it does not answer.
        """
        for done in range(_CALLS):
            if done:
                self.pause(done)
            try:
                return getattr(self._client, operation)(**parameters)
            except ClientError as error:
                last: Exception = error
                code = error_code(error)
                if code not in _REFUSED and not (twice and _is_unclear(error)):
                    raise
            except (ConnectTimeoutError, EndpointConnectionError) as error:
                last = error
            except HTTPClientError as error:
                last = error
                if not twice:
                    break
            except BotoCoreError as error:
                raise UnavailableError(f"AWS {operation}: {type(error).__name__}") from error
        raise unavailable(operation, last) from last

    def pause(self, done: int) -> None:
        """Wait before repeating, longer each time and never as long as the others."""
        self._sleep(self.rng.random() * min(_LONGEST_PAUSE, 0.05 * 2**done))


def _is_unclear(error: ClientError) -> bool:
    """Tell whether it was perhaps done; what stands before a service fails without its words."""
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return error_code(error) in _UNCLEAR or status >= 500


def error_code(error: ClientError) -> str:
    """Return AWS's word for an error."""
    return str(error.response.get("Error", {}).get("Code", ""))


def unavailable(operation: str, error: Exception) -> UnavailableError:
    """Return our error for one of AWS's, without its text, which may quote values."""
    what = error_code(error) if isinstance(error, ClientError) else type(error).__name__
    return UnavailableError(f"AWS {operation} does not answer now ({what})")
