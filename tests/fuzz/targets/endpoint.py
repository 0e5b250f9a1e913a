"""HTTP requests: every one is answered, none as a fault of ours, and alike behind each front."""

import base64
import json

from nacre.core.coroutines import step
from nacre.core.errors import NacreError
from nacre.faces.aws_lambda.mcp_http import read_event
from nacre.protocol.context import Silence
from nacre.protocol.http.http_messages import HttpCall, HttpReply, HttpRequest
from tests.faces.evaluator.test_fuzz import answered
from tests.protocol.http.test_endpoint_rules import LOCAL, META, MODERN, endpoint

FRONTS = (endpoint(), endpoint(LOCAL))
STATUSES = frozenset((200, 202, 204, 400, 401, 403, 404, 405, 406, 413, 415, 503))
USUAL = {"authorization": "Bearer full", "content-type": "application/json", "host": "localhost"}
CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {
        "_meta": META,
        "name": "located",
        "arguments": {"region": "eu", "place": {"floor": 3}},
    },
}
HEAD = f"POST /mcp\nmcp-protocol-version: {MODERN}\nmcp-method: tools/call\nmcp-name: located\n"
LENGTH = 700
SEEDS = (
    b"",
    (HEAD + "mcp-param-region: eu\nmcp-param-floor: 3.0\n\n").encode() + json.dumps(CALL).encode(),
    (HEAD + "mcp-param-region: =?base64?ZXU=?=\nmcp-param-floor: 3\n\n").encode()
    + json.dumps(CALL).encode(),
    b'POST /mcp\naccept: */*\n\n{"jsonrpc":"2.0","id":"a","method":"ping"}',
    b'POST /mcp/abc?being_id=x\norigin: null\n\n{"jsonrpc":"2.0","id":1,"result":{}}',
    b"OPTIONS /mcp\norigin: https://app.example\naccess-control-request-headers: mcp-param-x\n\n",
    b"GET /mcp/\ncontent-type: text/plain\naccept: text/html;q=1\n\n",
    b'POST /mcp\nmcp-protocol-version: 2025-06-18\n\n{"jsonrpc":"2.0","method":"notifications/x"}',
    b'{"method":"tools/call","params":{"name":"read","arguments":{"path":"/srv/a"}},'
    b'"server":"files"}',
    b'{"method":"tools/call","params":{"name":"read","arguments":{"path":"srv/a"}},"server":"files"}',
    b'{"calls":[{"method":"resources/read","params":{"uri":"a"}}]}',
)


def one(data: bytes) -> None:
    """Take the input for a request: a line, headers, and what follows the empty line."""
    _evaluated(data)
    head, _, body = data.partition(b"\n\n")
    first, *lines = head.decode("latin-1").split("\n")
    method, _, target = first.partition(" ")
    path, _, query = target.partition("?")
    headers = dict(USUAL)
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip(" \t")
    fields = dict([query.partition("=")[::2]]) if query else {}
    request = HttpRequest(method, path, fields, headers, body)
    for front in FRONTS:
        said = []
        for content in (body, bytearray(body)):
            request.body = content
            done = front.begin(request)
            reply = step(done.run(Silence())) if isinstance(done, HttpCall) else done
            said.append((reply.status, type(reply.cause)))
            _check(reply)
        assert said[0] == said[1]
    _check_events(HttpRequest(method.upper(), path, fields, headers, body))


def _check(reply: HttpReply) -> None:
    assert reply.status in STATUSES, (reply.status, reply.cause)
    assert reply.cause is None or isinstance(reply.cause, NacreError) or reply.status == 200
    if reply.body:
        told = json.loads(reply.body)
        assert told["jsonrpc"] == "2.0"
        assert ("result" in told) != ("error" in told)
    for name, value in reply.headers:
        assert not set(name + value) & set("\r\n\0")


def _check_events(request: HttpRequest) -> None:
    """Check that the three fronts of Lambda hand over the same request."""
    body = {"body": base64.b64encode(bytes(request.body)).decode(), "isBase64Encoded": True}
    query = dict(request.query) or None
    several = {name: [value] for name, value in request.headers.items()}
    events = (
        {
            "rawPath": request.path,
            "requestContext": {"stage": "$default", "http": {"method": request.method}},
            "headers": dict(request.headers),
            "queryStringParameters": query,
            **body,
        },
        {
            "path": request.path,
            "httpMethod": request.method,
            "requestContext": {"stage": "prod"},
            "headers": None,
            "multiValueHeaders": several,
            "queryStringParameters": query,
            **body,
        },
    )
    for event in events:
        assert read_event(event) == request


def _evaluated(raw: bytes) -> None:
    status, answer = answered(raw)
    assert status in (200, 400)
    for verdict in answer.get("calls", [answer]):
        assert verdict["decision"] in ("allow", "prompt", "deny")
        assert verdict["decision"] == "deny" or status == 200
