"""Which AWS calls each function makes: a proxy for each of them before a cloud on loopback."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any
from urllib.parse import unquote, urlsplit

_SERVICE = re.compile(r"Credential=[^/]+/[^/]+/[^/]+/([a-z0-9]+)/aws4_request")
_OWN = {"connection", "content-length", "keep-alive", "transfer-encoding"}  # of each connection
_OF_WRITE = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
}
_OF_OBJECT = {"GET": "GetObject", "HEAD": "GetObject", "PUT": "PutObject", "DELETE": "DeleteObject"}
_PATIENCE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that IAM decides on: an action, what it is done to, and whose items it meets."""

    name: str  # as a policy names it: dynamodb:GetItem
    resource: str  # a table, or one with /index/NAME; a queue, a key, bucket/*, or a parameter
    leading: str = ""  # the partition key, where an item store is asked


class Recorder:
    """What was done by whom."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._actions: dict[str, set[Action]] = {}
        self.endpoints: dict[str, str] = {}

    def note(self, function: str, actions: Sequence[Action]) -> None:
        """Remember what a function did."""
        with self._guard:
            self._actions.setdefault(function, set()).update(actions)

    def of(self, function: str) -> set[Action]:
        """Return everything that a function did."""
        with self._guard:
            return set(self._actions.get(function, ()))


@contextmanager
def recording(cloud: str, functions: Sequence[str]) -> Iterator[Recorder]:
    """Listen once for each function, and pass on what comes until the block ends."""
    recorder = Recorder()
    with ExitStack() as stack:
        for function in functions:
            server = _Proxy(("127.0.0.1", 0), _Handler)
            server.function, server.recorder = function, recorder
            server.behind = urlsplit(cloud).netloc
            Thread(target=server.serve_forever, daemon=True).start()
            stack.callback(server.server_close)
            stack.callback(server.shutdown)
            recorder.endpoints[function] = f"http://127.0.0.1:{server.server_port}"
        yield recorder


class _Proxy(ThreadingHTTPServer):
    daemon_threads = True
    function: str
    recorder: Recorder
    behind: str


class _Handler(BaseHTTPRequestHandler):
    server: _Proxy
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _pass_on(self) -> None:
        assert "transfer-encoding" not in self.headers, "a body of unknown length"
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _OWN}
        lower = {name.lower(): value for name, value in headers.items()}
        self.server.recorder.note(
            self.server.function, actions(self.command, self.path, lower, body)
        )
        connection = HTTPConnection(self.server.behind, timeout=_PATIENCE_SECONDS)
        try:
            connection.request(self.command, self.path, body, headers)
            response = connection.getresponse()
            answer = response.read()
        finally:
            connection.close()
        self.send_response_only(response.status, response.reason)
        for name, value in response.getheaders():
            if name.lower() not in _OWN:
                self.send_header(name, value)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _pass_on  # noqa: N815 - the library's names

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def actions(method: str, path: str, headers: Mapping[str, str], body: bytes) -> list[Action]:
    """Return what IAM would decide on for one request."""
    found = _SERVICE.search(headers.get("authorization", ""))
    service = found.group(1) if found else "s3"  # a presigned URL has no such header
    if service == "s3":
        bucket, _, key = unquote(urlsplit(path).path).lstrip("/").partition("/")
        name = _OF_OBJECT[method] if key else f"{method} of a bucket"
        return [Action(f"s3:{name}", f"{bucket}/*" if key else bucket)]
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
