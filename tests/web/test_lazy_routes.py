"""Routes that are added when somebody first asks for one of them."""

import asyncio
from typing import Any

import pytest
from fastapi import FastAPI

from nacre.web.portal import LateRoutes


def asked(app: LateRoutes, path: str, method: str = "GET") -> int:
    """Return the status of the answer to a request."""
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [],
        "root_path": "",
    }
    asyncio.run(app(scope, receive, send))
    return int(sent[0]["status"])


def early() -> FastAPI:
    app = FastAPI(openapi_url=None)

    @app.get("/early")
    def page() -> str:
        return "early"

    return app


def test_late_routes_come_with_the_first_request_for_something_else() -> None:
    added = []

    def add(app: FastAPI) -> None:
        added.append("late")
        app.get("/late")(lambda: "late")
        app.post("/early")(lambda: "another method")

    late = LateRoutes(early(), [add])

    assert (asked(late, "/early"), added) == (200, [])
    assert (asked(late, "/early", "POST"), added) == (200, ["late"])
    assert [asked(late, path) for path in ("/late", "/early", "/nowhere")] == [200, 200, 404]
    assert added == ["late"]


def test_what_could_not_be_added_is_tried_again() -> None:
    tries = []

    def add(app: FastAPI) -> None:
        tries.append("once more")
        if len(tries) == 1:
            raise ImportError("not now")
        app.get("/late")(lambda: "late")

    late = LateRoutes(early(), [add])

    with pytest.raises(ImportError):
        asked(late, "/late")
    assert asked(late, "/late") == 200
