"""A Being's tools behind the Lambda face: every call is an event of an HTTP API."""

import json
from collections.abc import Mapping
from io import StringIO
from typing import Any

from nacre.being.application import Application
from nacre.core.clock import system_clock
from nacre.core.limits import LAMBDA_CALL_BYTES
from nacre.core.logs import Log
from nacre.faces.aws_lambda.mcp_http import mcp_handler
from nacre.protocol.dispatch.request_state import RequestStates
from nacre.sdk.tool_server import ToolServer
from tests.scaffolding.lambda_events import (
    FULL_ACCESS,
    LambdaContext,
    Sent,
    body_of,
    http_api_event,
)


class LambdaFace:
    """What a client reaches through API Gateway, the authorizer behind it."""

    def __init__(self, server: ToolServer) -> None:
        def no_keys() -> Any:
            raise AssertionError("no tool of a Being takes several rounds")

        self.log = StringIO()
        states = RequestStates(no_keys, system_clock)
        application = Application(server, states, call_bytes=LAMBDA_CALL_BYTES)
        self._handle = mcp_handler(application, log=Log(stream=self.log))

    def call(
        self, name: str, arguments: Mapping[str, Any], *, being_id: str, read_only: bool
    ) -> tuple[int, dict[str, Any]]:
        """Call a tool; return the HTTP status and the JSON-RPC answer."""
        params = {"name": name, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2025-11-25",
        }
        scopes = "mcp:read" if read_only else "mcp:read mcp:write"
        authorizer = {**FULL_ACCESS, "being_id": being_id, "scopes": scopes}
        event = http_api_event(Sent(headers=headers, body=json.dumps(message).encode()), authorizer)
        # What travels is JSON, so what cannot be said in it cannot be sent either.
        answer = self._handle(json.loads(json.dumps(event)), LambdaContext())
        return int(answer["statusCode"]), json.loads(body_of(answer))
