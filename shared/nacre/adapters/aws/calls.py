"""Calls to AWS, repeated where that is safe, with our errors."""

import time
from collections.abc import Callable, Mapping
from random import Random, SystemRandom
from types import MappingProxyType
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
        "TransactionConflictException",  # a transaction is just writing the item
        "TransactionInProgressException",
    }
)
# Perhaps done: only calls that may be done twice are repeated.
_UNCLEAR = frozenset(
    {"InternalError", "InternalFailure", "InternalServerError", "ServiceUnavailable"}
)
REFUSALS = ("AccessDeniedException", "UnrecognizedClientException", "ExpiredTokenException")
_CALLS = 8
_MAX_PAUSE = 2.0


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

    def call(self, operation: str, *, repeatable: bool, **parameters: Any) -> Any:
        """Call an operation; `repeatable` says that doing it twice is as good as once.

        Raises ClientError when AWS refuses for good, UnavailableError when it does not answer.
        """
        for attempt in range(_CALLS):
            if attempt:
                self.pause(attempt)
            try:
                return getattr(self._client, operation)(**parameters)
            except ClientError as error:
                last: Exception = error
                code = error_code(error)
                if code not in _REFUSED and not (repeatable and _is_unclear(error)):
                    raise
            except (ConnectTimeoutError, EndpointConnectionError) as error:
                last = error
            except HTTPClientError as error:
                last = error
                if not repeatable:
                    break
            except BotoCoreError as error:
                raise UnavailableError(f"AWS {operation}: {type(error).__name__}") from error
        raise unavailable(operation, last) from last

    def ask(
        self,
        operation: str,
        errors: Mapping[str, Exception | None] = MappingProxyType({}),
        *,
        repeatable: bool = True,
        **parameters: Any,
    ) -> Any:
        """Call an operation, and raise the error that `errors` has for AWS's code.

        Returns None for a code whose error is None; every other code raises UnavailableError.
        """
        try:
            return self.call(operation, repeatable=repeatable, **parameters)
        except ClientError as error:
            # SQS writes "AWS.SimpleQueueService.MessageNotInflight" for some codes.
            code = error_code(error).rpartition(".")[2]
            ours = errors.get(code, unavailable(operation, error))
            if ours is not None:
                raise ours from error
            return None

    def pause(self, attempt: int) -> None:
        """Wait before a repeat: longer each time, and for a random part of that."""
        self._sleep(self.rng.random() * min(_MAX_PAUSE, 0.05 * 2**attempt))


def _is_unclear(error: ClientError) -> bool:
    """Tell whether the call was perhaps done; a proxy before a service gives no error code."""
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return error_code(error) in _UNCLEAR or status >= 500


def error_code(error: ClientError) -> str:
    """Return AWS's word for an error."""
    return str(error.response.get("Error", {}).get("Code", ""))


def unavailable(operation: str, error: Exception) -> UnavailableError:
    """Return our error for one of AWS's, without its text, which may quote values."""
    reason = error_code(error) if isinstance(error, ClientError) else type(error).__name__
    return UnavailableError(f"AWS {operation} does not answer now ({reason})")
