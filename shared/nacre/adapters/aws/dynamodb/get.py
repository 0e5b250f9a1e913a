"""One signed GetItem with the standard library alone.

The authorizer needs one read and nothing else; loading boto3 would take most of its start.
Answers are those of the full adapter, and a test compares the two.
"""

import hashlib
import hmac
import json
import ssl
import time
from base64 import b64decode
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import TYPE_CHECKING, Any, NamedTuple

from nacre.adapters.aws.dynamodb.attribute_values import decode_item
from nacre.core.errors import UnavailableError

if TYPE_CHECKING:
    from nacre.ports.items.table import Item

_TYPE = "application/x-amz-json-1.0"
_ATTEMPTS = 3
_TIMEOUT_SECONDS = 1.4  # three attempts fit into the authorizer's five seconds
_PAUSE_SECONDS = 0.05  # doubled each time; DynamoDB's throttling passes quickly


class Credentials(NamedTuple):
    """Credentials that sign requests; Lambda gives one set to each execution environment."""

    access_key_id: str
    secret_access_key: str
    session_token: str = ""

    def __repr__(self) -> str:
        return f"Credentials({self.access_key_id!r}, '***')"


class Response(NamedTuple):
    """An HTTP answer, read to its end so that the connection can be used again."""

    status: int
    body: bytes


class SignedGet:
    """Reads single items of one table, over one connection that stays open."""

    _target = "DynamoDB_20120810.GetItem"
    _purpose = "give an item of"

    def __init__(
        self,
        table: str,
        *,
        region: str,
        credentials: Credentials | Callable[[], Credentials],
        endpoint_url: str = "",
        clock: Callable[[], float] = time.time,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        scheme, _, host = endpoint_url.rstrip("/").partition("://")
        self._is_tls = scheme != "http"
        self._host = host or f"dynamodb.{region}.{_suffix(region)}"
        self._table = table
        self._region = region
        self._credentials = credentials
        self._clock = clock
        self._pause = pause
        self._connection: HTTPConnection | None = None
        self._signing: tuple[str, str, bytes] = ("", "", b"")

    def get(self, key: tuple[str, str]) -> "Item | None":
        """Return the item as last acknowledged, or None; raises UnavailableError."""
        pk, sk = key
        request = {
            "TableName": self._table,
            "Key": {"pk": {"S": pk}, "sk": {"S": sk}},
            "ConsistentRead": True,
        }
        raw = self._ask(json.dumps(request).encode()).get("Item")
        if raw is None:
            return None
        item = decode_item(raw)
        expires_at = item.get("expires_at")
        if isinstance(expires_at, int) and expires_at <= self._clock():
            return None
        return item

    def close(self) -> None:
        """Close the connection; the next read opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _ask(self, body: bytes, target: str = "") -> dict[str, Any]:
        reason = ""
        for attempt in range(_ATTEMPTS):
            if attempt:
                self._pause(_PAUSE_SECONDS * 2 ** (attempt - 1))
            try:
                response = self._send(body, target or self._target)
            except (OSError, HTTPException) as error:
                reason = type(error).__name__
                continue
            if response.status == 200:
                answer = _object(response.body)
                if answer is not None:
                    return answer
                reason = "its answer was not understood"
                continue
            reason = f"{response.status} {_kind(response.body)}"
            if not _is_passing(response):
                break
        raise UnavailableError(f"DynamoDB did not {self._purpose} {self._table}: {reason}")

    def _send(self, body: bytes, target: str) -> Response:
        headers = self._headers(body, target)
        idle, self._connection = self._connection, None
        if idle is not None:
            try:
                return self._over(idle, body, headers)
            except TimeoutError:
                raise
            except (OSError, HTTPException):
                pass  # the server closed it while it was idle, so try a new one
        return self._over(self._connect(), body, headers)

    def _over(self, connection: HTTPConnection, body: bytes, headers: dict[str, str]) -> Response:
        try:
            connection.request("POST", "/", body, headers)
            answer = connection.getresponse()
            response = Response(answer.status, answer.read())
        except (OSError, HTTPException):
            connection.close()
            raise
        self._connection = connection
        return response

    def _connect(self) -> HTTPConnection:
        if self._is_tls:
            context = ssl.create_default_context()
            return HTTPSConnection(self._host, timeout=_TIMEOUT_SECONDS, context=context)
        return HTTPConnection(self._host, timeout=_TIMEOUT_SECONDS)

    def _headers(self, body: bytes, target: str) -> dict[str, str]:
        """Return the headers of a request signed with Signature Version 4."""
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(self._clock()))
        headers = {"content-type": _TYPE, "host": self._host, "x-amz-date": stamp}
        credentials = self._credentials() if callable(self._credentials) else self._credentials
        if credentials.session_token:
            headers["x-amz-security-token"] = credentials.session_token
        headers["x-amz-target"] = target
        names = ";".join(headers)  # written above in alphabetical order, as the signature wants
        lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
        request = f"POST\n/\n\n{lines}\n{names}\n{hashlib.sha256(body).hexdigest()}"
        day = stamp[:8]
        scope = f"{day}/{self._region}/dynamodb/aws4_request"
        digest = hashlib.sha256(request.encode()).hexdigest()
        text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{digest}"
        signature = _hmac(self._signing_key(day, credentials.secret_access_key), text).hex()
        headers["authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={credentials.access_key_id}/{scope}, "
            f"SignedHeaders={names}, Signature={signature}"
        )
        return headers

    def _signing_key(self, day: str, secret: str) -> bytes:
        if self._signing[:2] != (day, secret):
            key = f"AWS4{secret}".encode()
            for part in (day, self._region, "dynamodb", "aws4_request"):
                key = _hmac(key, part)
            self._signing = (day, secret, key)
        return self._signing[2]


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256")


def _suffix(region: str) -> str:
    return "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"


def _is_passing(response: Response) -> bool:
    """Tell whether the same request may succeed in a moment."""
    return response.status >= 500 or _kind(response.body).startswith(
        ("Throttling", "ProvisionedThroughputExceeded", "RequestLimitExceeded")
    )


def _object(body: bytes) -> dict[str, Any] | None:
    """Return the JSON object of an answer; None for anything else, such as a proxy's page."""
    try:
        answer = json.loads(body, object_hook=_bytes)
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None


def _kind(body: bytes) -> str:
    """Return the name of DynamoDB's error, without its message."""
    try:
        kind = str(json.loads(body)["__type"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return "error"
    return kind.rpartition("#")[2]


def _bytes(pair: dict[str, Any]) -> dict[str, Any]:
    """Decode binary values, which travel as Base64 inside JSON, as botocore does."""
    if len(pair) == 1 and isinstance(pair.get("B"), str):
        return {"B": b64decode(pair["B"])}
    return pair
