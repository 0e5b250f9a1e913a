"""HTTP requests of the official Python client, answered by a Lambda handler in this process."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2

from tests.scaffolding.lambda_events import Event, LambdaContext, Sent, body_of


class LambdaTransport(httpx2.AsyncBaseTransport):
    """Turns each request into an event and each answer of the handler into a response."""

    def __init__(
        self, handler: Callable[[Event, Any], Event], event_of: Callable[[Sent], Event]
    ) -> None:
        self._handler = handler
        self._event_of = event_of
        self.requests: list[Sent] = []
        # A thread of its own without an event loop, one event at a time: as in Lambda.
        self._environment = ThreadPoolExecutor(1)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer one request."""
        sent = Sent(
            method=request.method,
            target=request.url.raw_path.decode(),
            headers=dict(request.headers),
            body=await request.aread(),
        )
        self.requests.append(sent)
        result = await asyncio.get_running_loop().run_in_executor(
            self._environment, self._handler, self._event_of(sent), LambdaContext()
        )
        return httpx2.Response(
            result["statusCode"], headers=result.get("headers"), content=body_of(result)
        )

    async def aclose(self) -> None:
        """Let the thread end."""
        self._environment.shutdown()
