"""A client that knows a URL alone: it registers, sends its owner to a browser, and calls."""

import hashlib
import http.client
import json
import secrets
from base64 import urlsafe_b64encode
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from playwright.sync_api import Page, Route

NAME = "Garden planner"
CALLBACK = "http://127.0.0.1:9/callback"  # nobody listens: the browser's answer is taken there


class Client:
    """A public client on this machine."""

    def __init__(self, base: str) -> None:
        self.base = base
        self._path = "/mcp"
        registered = self._post(
            "/register",
            json.dumps(
                {
                    "client_name": NAME,
                    "redirect_uris": [CALLBACK],
                    "token_endpoint_auth_method": "none",
                    "grant_types": ["authorization_code", "refresh_token"],
                }
            ),
            "application/json",
        )
        self._id = registered[1]["client_id"]
        self._verifier = secrets.token_urlsafe(48)
        self.token = ""

    def at(self, being_id: str) -> "Client":
        """Call a Being by its own address from now on, as a token wants it."""
        self._path = f"/mcp/{being_id}"
        return self

    def address(self) -> str:
        """Return where the owner is sent."""
        challenge = urlsafe_b64encode(hashlib.sha256(self._verifier.encode()).digest())
        return f"{self.base}/authorize?" + urlencode(
            {
                "response_type": "code",
                "client_id": self._id,
                "redirect_uri": CALLBACK,
                "code_challenge": challenge.rstrip(b"=").decode(),
                "code_challenge_method": "S256",
                "resource": f"{self.base}/mcp",
                "scope": "mcp:read mcp:write",
                "state": "s",
            }
        )

    def listen(self, page: Page) -> list[str]:
        """Take what a page brings to the callback; the list is filled then."""
        heard: list[str] = []

        def answer(route: Route) -> None:
            heard.append(route.request.url)
            route.fulfill(status=200, content_type="text/plain", body="You can close this.")

        page.route(f"{CALLBACK}*", answer)
        return heard

    def redeem(self, callback: str) -> None:
        """Turn the code of the callback into a token."""
        [code] = parse_qs(urlsplit(callback).query)["code"]
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "client_id": self._id,
            "redirect_uri": CALLBACK,
            "code_verifier": self._verifier,
            "resource": f"{self.base}/mcp",
        }
        status, answer = self._post(
            "/token", urlencode(fields), "application/x-www-form-urlencoded"
        )
        assert status == 200, answer
        self.token = answer["access_token"]

    def call(self, tool: str, **arguments: Any) -> tuple[int, dict[str, Any]]:
        """Call a tool; return the status and the result, empty where there is none."""
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        }
        status, answer = self._post(self._path, json.dumps(message), "application/json")
        return status, answer.get("result", {}) if isinstance(answer, dict) else {}

    def _post(self, path: str, body: str, kind: str) -> tuple[int, Any]:
        connection = http.client.HTTPConnection(urlsplit(self.base).netloc, timeout=60)
        headers = {"content-type": kind, "accept": "application/json, text/event-stream"}
        headers["mcp-protocol-version"] = "2025-11-25"
        if path == self._path:
            headers["authorization"] = f"Bearer {self.token}"
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        read = answer.read()
        connection.close()
        return answer.status, json.loads(read or b"null")
