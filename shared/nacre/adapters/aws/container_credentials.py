"""Credentials that the machine hands out over HTTP, for functions that start from a snapshot.

Such a function has no keys in its environment, because they would have expired by the time it
is restored. It has a URL to fetch them from instead.
"""

import json
import time
from collections.abc import Callable
from datetime import datetime
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from nacre.adapters.aws.dynamodb.get import Credentials
from nacre.core.errors import UnavailableError

_TIMEOUT_SECONDS = 1.4
_RENEW_SECONDS = 300  # before they run out


class ContainerCredentials:
    """Fetches credentials when there are none, and again before they run out."""

    def __init__(self, url: str, token: str, *, clock: Callable[[], float] = time.time) -> None:
        self._url = urlsplit(url)
        self._token = token
        self._clock = clock
        self._known: tuple[float, Credentials] | None = None

    def __call__(self) -> Credentials:
        """Return credentials that are valid for a while; raises UnavailableError without any."""
        if self._known is None or self._clock() >= self._known[0] - _RENEW_SECONDS:
            self._known = self._asked()
        return self._known[1]

    def _asked(self) -> tuple[float, Credentials]:
        connection = HTTPConnection(self._url.netloc, timeout=_TIMEOUT_SECONDS)
        try:
            connection.request("GET", self._url.path or "/", headers={"Authorization": self._token})
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != 200:
                raise UnavailableError(f"Lambda gave no credentials: {answer.status}")
            fields = json.loads(body)
            until = datetime.fromisoformat(str(fields["Expiration"]))
            return until.timestamp(), Credentials(
                str(fields["AccessKeyId"]), str(fields["SecretAccessKey"]), str(fields["Token"])
            )
        except (OSError, HTTPException, ValueError, KeyError) as error:
            raise UnavailableError(f"Lambda gave no credentials: {type(error).__name__}") from error
        finally:
            connection.close()
