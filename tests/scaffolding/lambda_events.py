"""HTTP requests as the events that API Gateway and function URLs make of them, and back."""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

Event = dict[str, Any]
BEING = "11111111-1111-4111-8111-111111111111"
# What the authorizer says of a caller that may do everything.
FULL_ACCESS = {
    "auth": "ok",
    "kind": "bto",
    "token_id": "tok_1",
    "being_id": BEING,
    "scopes": "mcp:read mcp:write",
    "client": "",
    "resource": "https://nacre.example/mcp",
}


@dataclass(frozen=True, slots=True)
class Sent:
    """One HTTP request."""

    method: str = "POST"
    target: str = "/mcp"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def raw_query(self) -> str:
        return urlsplit(self.target).query

    @property
    def lower_headers(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.headers.items()}


def http_api_event(sent: Sent, authorizer: Mapping[str, str] | None = FULL_ACCESS) -> Event:
    """Return the event of an HTTP API, payload version 2.0."""
    event: Event = {
        "version": "2.0",
        "routeKey": f"{sent.method} /mcp",
        "rawPath": sent.path,
        "rawQueryString": sent.raw_query,
        "headers": sent.lower_headers,
        "requestContext": {
            "accountId": "123456789012",
            "apiId": "api",
            "domainName": "api.execute-api.eu-central-1.amazonaws.com",
            "http": {
                "method": sent.method,
                "path": sent.path,
                "protocol": "HTTP/1.1",
                "sourceIp": "203.0.113.1",
                "userAgent": sent.lower_headers.get("user-agent", ""),
            },
            "requestId": "request-1",
            "routeKey": f"{sent.method} /mcp",
            "stage": "$default",
            "time": "18/Nov/2026:12:00:00 +0000",
            "timeEpoch": 1795003200000,
        },
        **_body(sent),
    }
    if sent.raw_query:
        event["queryStringParameters"] = dict(parse_qsl(sent.raw_query))
    if authorizer is not None:
        event["requestContext"]["authorizer"] = {"lambda": dict(authorizer)}
    return event


def function_url_event(sent: Sent, authorizer: Mapping[str, str] | None = FULL_ACCESS) -> Event:
    """Return the event of a function URL: the same payload with other names in its context."""
    event = http_api_event(sent, authorizer)
    event["routeKey"] = event["requestContext"]["routeKey"] = "$default"
    event["requestContext"]["domainName"] = "url.lambda-url.eu-central-1.on.aws"
    return event


def rest_event(sent: Sent, authorizer: Mapping[str, str] | None = FULL_ACCESS) -> Event:
    """Return the event of a REST API, payload version 1.0."""
    query = dict(parse_qsl(sent.raw_query)) or None
    event: Event = {
        "resource": "/mcp",
        "path": sent.path,
        "httpMethod": sent.method,
        "headers": dict(sent.headers),
        "multiValueHeaders": {name: [value] for name, value in sent.headers.items()},
        "queryStringParameters": query,
        "multiValueQueryStringParameters": query and {k: [v] for k, v in query.items()},
        "pathParameters": None,
        "stageVariables": None,
        "requestContext": {
            "resourcePath": "/mcp",
            "httpMethod": sent.method,
            "path": f"/prod{sent.path}",
            "stage": "prod",
            "requestId": "request-1",
            "identity": {"sourceIp": "203.0.113.1", "userAgent": None},
        },
        **_body(sent),
    }
    if authorizer is not None:
        event["requestContext"]["authorizer"] = dict(authorizer)
    return event


EVENT_SHAPES: dict[str, Callable[[Sent], Event]] = {
    "http-api": http_api_event,
    "rest-api": rest_event,
    "function-url": function_url_event,
}


def _body(sent: Sent) -> Event:
    kind = sent.lower_headers.get("content-type", "")
    # API Gateway passes text on as it is and everything else as base64.
    if not sent.body:
        return {"isBase64Encoded": False} if sent.method == "GET" else _text("")
    if kind.startswith(("text/", "application/json")):
        try:
            return _text(sent.body.decode("utf-8"))
        except UnicodeDecodeError:
            pass
    return {"body": base64.b64encode(sent.body).decode(), "isBase64Encoded": True}


def _text(body: str) -> Event:
    return {"body": body, "isBase64Encoded": False}


def body_of(result: Event) -> bytes:
    """Return the body of a handler's answer."""
    body = str(result.get("body") or "")
    return base64.b64decode(body) if result.get("isBase64Encoded") else body.encode()


class LambdaContext:
    """What the runtime passes beside the event."""

    aws_request_id = "request-1"
    function_name = "mcp_http"
    memory_limit_in_mb = 1024

    def get_remaining_time_in_millis(self) -> int:
        return 29_000
