"""An application that is made when somebody first asks for it."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nacre.protocol.http.asgi import AsgiApp
from nacre.web.lazy_app import LateApp

SHARED = Path(__file__).parents[2] / "shared"


async def ask(app: AsgiApp) -> list[Any]:
    sent: list[Any] = []

    async def receive() -> Any:
        raise AssertionError("nobody reads")

    async def send(message: Any) -> None:
        sent.append(message)

    await app({"type": "http"}, receive, send)
    return sent


class Maker:
    """Makes an application that says which one it is; fails as often as it is told."""

    def __init__(self, failures: int = 0) -> None:
        self.made = 0
        self._failures = failures

    def __call__(self) -> AsgiApp:
        self.made += 1
        number = self.made
        if number <= self._failures:
            raise RuntimeError("not yet")

        async def app(_scope: Any, _receive: Any, send: Any) -> None:
            await send({"type": "said", "by": number})

        return app


def test_it_is_made_once_however_many_ask_at_once() -> None:
    make = Maker()

    async def several() -> list[Any]:
        app = LateApp(make)
        return list(await asyncio.gather(*(ask(app) for _ in range(5))))

    LateApp(make)
    assert make.made == 0
    assert asyncio.run(several()) == [[{"type": "said", "by": 1}]] * 5
    assert make.made == 1


def test_after_a_failure_it_is_made_anew() -> None:
    make = Maker(failures=1)

    async def twice() -> list[Any]:
        app = LateApp(make)
        with pytest.raises(RuntimeError):
            await ask(app)
        return await ask(app)

    assert asyncio.run(twice()) == [{"type": "said", "by": 2}]


def test_a_server_that_only_speaks_mcp_loads_nothing_of_the_pages() -> None:
    program = (
        "import sys, nacre.cli.serve.serve\n"
        "print([name for name in ('fastapi', 'starlette', 'jinja2', 'pydantic', 'mangum')"
        " if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PATH": os.defpath, "PYTHONPATH": str(SHARED)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout == "[]\n", done.stderr
