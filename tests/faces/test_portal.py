import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from nacre.faces.portal import portal_handler


@pytest.fixture(autouse=True)
def loop() -> Iterator[None]:
    """Give Mangum the loop that it would otherwise make, set and never close."""
    made = asyncio.new_event_loop()
    asyncio.set_event_loop(made)
    yield
    asyncio.set_event_loop(None)
    made.close()


def get(path: str) -> dict[str, Any]:
    request = {"method": "GET", "path": path, "protocol": "HTTP/1.1", "sourceIp": "203.0.113.1"}
    return portal_handler()(
        {
            "version": "2.0",
            "routeKey": f"GET {path}",
            "rawPath": path,
            "rawQueryString": "",
            "headers": {"host": "localhost"},
            "requestContext": {"http": request, "stage": "$default"},
            "isBase64Encoded": False,
        },
        None,
    )


def test_it_says_what_this_is_and_where_mcp_is_spoken() -> None:
    answer = get("/")

    assert answer["statusCode"] == 200
    assert json.loads(answer["body"])["mcp"] == "/mcp"


def test_it_says_that_it_is_alive() -> None:
    assert json.loads(get("/healthz")["body"])["status"] == "ok"


@pytest.mark.parametrize(
    "path", ["/.well-known/oauth-protected-resource", "/docs", "/openapi.json", "/redoc"]
)
def test_there_is_nothing_else(path: str) -> None:
    assert get(path)["statusCode"] == 404
