"""Which AWS calls each function makes: a proxy for each of them before a cloud on loopback."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.scaffolding.http_front import Answer, Answered, Asked, front, passed_on

_SERVICE = re.compile(r"Credential=[^/]+/[^/]+/[^/]+/([a-z0-9]+)/aws4_request")
_OF_WRITE = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
}
_OF_OBJECT = {"GET": "GetObject", "HEAD": "GetObject", "PUT": "PutObject", "DELETE": "DeleteObject"}


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that IAM decides on: an action, what it is done to, and whose items it meets."""

    name: str  # as a policy names it: dynamodb:GetItem
    resource: str  # a table, or one with /index/NAME; a queue, a key, bucket/*, or a parameter
    leading: str = ""  # the partition key, or the prefix of the names that are listed


class Recorder:
    """What was done by whom."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._actions: dict[str, set[Action]] = {}
        self._requests: dict[str, Counter[str]] = {}
        self.endpoints: dict[str, str] = {}

    def note(self, function: str, actions: Sequence[Action], request: str) -> None:
        """Remember what a function did, with one request of this name."""
        with self._guard:
            self._requests.setdefault(function, Counter())[request] += 1
            self._actions.setdefault(function, set()).update(actions)

    def of(self, function: str) -> set[Action]:
        """Return everything that a function did."""
        with self._guard:
            return set(self._actions.get(function, ()))

    def requests(self, function: str) -> Counter[str]:
        """Return how many requests of each name a function sent."""
        with self._guard:
            return Counter(self._requests.get(function, ()))


@contextmanager
def recording(cloud: str, functions: Sequence[str]) -> Iterator[Recorder]:
    """Listen once for each function, and pass on what comes until the block ends."""
    recorder, behind = Recorder(), urlsplit(cloud).netloc

    def noting(function: str) -> Answer:
        def answer(asked: Asked) -> Answered:
            lower = {name.lower(): value for name, value in asked.headers.items()}
            recorder.note(
                function,
                actions(asked.method, asked.path, lower, asked.body),
                lower.get("x-amz-target", asked.method),
            )
            return passed_on(asked, behind)

        return answer

    with ExitStack() as stack:
        for function in functions:
            address = stack.enter_context(front(noting(function)))
            recorder.endpoints[function] = f"http://{address}"
        yield recorder


def actions(method: str, path: str, headers: Mapping[str, str], body: bytes) -> list[Action]:
    """Return what IAM would decide on for one request."""
    found = _SERVICE.search(headers.get("authorization", ""))
    service = found.group(1) if found else "s3"  # a presigned URL has no such header
    if service == "s3":
        bucket, _, key = unquote(urlsplit(path).path).lstrip("/").partition("/")
        if key:
            return [Action(f"s3:{_OF_OBJECT[method]}", f"{bucket}/*")]
        query = parse_qs(urlsplit(path).query, keep_blank_values=True)
        if method == "GET" and "list-type" in query:
            return [Action("s3:ListBucket", bucket, query["prefix"][0])]
        if method == "POST" and "delete" in query:
            return [Action("s3:DeleteObject", f"{bucket}/*")]
        return [Action(f"s3:{method} of a bucket", bucket)]
    operation = headers["x-amz-target"].rpartition(".")[2]
    asked = json.loads(body)
    if service == "dynamodb":
        return list(_of_items(operation, asked))
    named = str(asked.get("QueueUrl") or asked.get("KeyId") or asked.get("Name") or "")
    # Decrypt need not name the key: the ciphertext does.
    resource = named.rpartition("/")[2] if service in ("sqs", "kms") else named
    return [Action(f"{service}:{operation}", resource)]


def _of_items(operation: str, asked: Mapping[str, Any]) -> Iterator[Action]:
    match operation:
        case "TransactWriteItems":
            for each in asked["TransactItems"]:
                [(kind, write)] = each.items()
                yield Action(f"dynamodb:{_OF_WRITE[kind]}", write["TableName"], _leading(write))
        case "TransactGetItems":
            for each in asked["TransactItems"]:
                get = each["Get"]
                yield Action("dynamodb:GetItem", get["TableName"], _leading(get))
        case "BatchGetItem":
            for table, wanted in asked["RequestItems"].items():
                for key in wanted["Keys"]:
                    yield Action("dynamodb:BatchGetItem", table, key["pk"]["S"])
        case _:
            index = asked.get("IndexName")
            table = str(asked.get("TableName", ""))
            resource = f"{table}/index/{index}" if index else table
            yield Action(f"dynamodb:{operation}", resource, _leading(asked))


def _leading(asked: Mapping[str, Any]) -> str:
    item = asked.get("Key") or asked.get("Item") or {}
    return str(item.get("pk", {}).get("S", ""))
