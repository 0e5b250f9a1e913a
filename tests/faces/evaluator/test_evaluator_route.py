"""`POST /policy/evaluate` of the laptop server."""

import asyncio
import io
import json
from collections.abc import MutableMapping
from typing import Any

import pytest

from nacre.core.errors import UnauthorizedError, UnavailableError
from nacre.core.limits import MAX_BODY_BYTES
from nacre.core.logs import Log
from nacre.faces.evaluator.evaluation import Evaluator
from nacre.faces.evaluator.evaluator_route import policy_endpoint
from nacre.faces.http.laptop_server import not_found
from nacre.firewall.policies.loader import load_policy
from nacre.firewall.policies.stored_policy import PolicyInForce
from nacre.protocol.http.allowed_origins import Fences
from nacre.protocol.http.asgi import Receive, Scope, Send
from nacre.protocol.principal import FULL, Principal

BEING = "0b5ad6a5-7a4f-4c6e-9a41-0f6f8b7d3c11"
POLICY = load_policy('[[rule]]\naction = "prompt"\ntool = "remove"\n', source="p.toml")
CALL = b'{"method": "tools/call", "params": {"name": "remove"}, "server": "files"}'


class Policies:
    def of(self, being_id: str | None) -> PolicyInForce:
        assert being_id == BEING
        return PolicyInForce(POLICY, "p.toml", 0)


def holder(authorization: str | None) -> Principal:
    if authorization == "Bearer any":
        raise UnavailableError("the store cannot be reached")
    if authorization != "Bearer good":
        raise UnauthorizedError("no", presented=authorization is not None)
    return Principal(subject="tok_1", being_id=BEING, scopes=FULL, client=None)


def ask(
    body: bytes = CALL,
    *,
    method: str = "POST",
    path: str = "/policy/evaluate",
    token: str | None = "good",
    host: str = "localhost",
    origin: str | None = None,
) -> tuple[int, dict[str, str], Any]:
    """Send one request, and return the status, the headers and the answer."""
    headers = {"host": host}
    headers |= {"authorization": f"Bearer {token}"} if token else {}
    headers |= {"origin": origin} if origin else {}
    scope: Scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    sent: list[MutableMapping[str, Any]] = []
    app = policy_endpoint(
        Evaluator(Policies(), Log("info", io.StringIO())),
        holder=holder,
        fences=Fences(hosts=frozenset({"localhost"}), origins=frozenset({"localhost"})),
        elsewhere=not_found,
    )

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async def run(receive: Receive, send: Send) -> None:
        await app(scope, receive, send)

    asyncio.run(run(receive, send))
    start, *parts = sent
    told = {name.decode(): value.decode() for name, value in start["headers"]}
    return start["status"], told, json.loads(b"".join(part["body"] for part in parts))


def test_a_call_gets_its_verdict() -> None:
    status, headers, answer = ask()

    assert (status, headers["content-type"]) == (200, "application/json")
    assert (answer["decision"], answer["rule"]) == ("prompt", 1)
    assert answer["policy"] == {
        "scope": "p.toml",
        "version": 0,
        "digest": POLICY.digest,
        "mode": "enforce",
    }


@pytest.mark.parametrize("token", [None, "bad"])
def test_only_who_has_a_token_is_answered(token: str | None) -> None:
    status, headers, answer = ask(token=token)

    assert (status, answer) == (401, {"decision": "deny", "error": "invalid_token"})
    assert headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    "foreign", [{"host": "evil.example"}, {"origin": "https://evil.example"}], ids=str
)
def test_foreign_names_and_pages_are_kept_out(foreign: dict[str, str]) -> None:
    status, _, answer = ask(**foreign)  # type: ignore[arg-type]  # none is the body

    assert (status, answer["decision"]) == (403, "deny")


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_there_is_nothing_but_post(method: str) -> None:
    status, headers, answer = ask(method=method)

    assert (status, headers["allow"], answer["decision"]) == (405, "POST", "deny")


def test_what_is_no_call_is_denied() -> None:
    assert ask(b"{")[::2][0] == 400
    assert ask(b" " * (MAX_BODY_BYTES + 1))[0] == 413


def test_other_paths_are_not_served() -> None:
    assert ask(path="/policy")[0] == 404


def test_while_the_store_does_not_answer_every_call_is_denied() -> None:
    status, headers, answer = ask(token="any")

    assert (status, headers["content-type"]) == (503, "application/json")
    assert answer == {"decision": "deny", "error": "unavailable"}
