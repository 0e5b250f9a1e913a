"""Lambda: the policy evaluator, for enforcement points elsewhere.

It loads nothing but the standard library, because proxies wait for its first answer.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from nacre import __version__

Event = Mapping[str, Any]
Handler = Callable[[Event, object], dict[str, Any]]


def policy_handler() -> Handler:
    """Return the handler of the evaluator function.

    It answers that it is there and gives no decision: an enforcement point that finds
    none has to deny. Callers that the authorizer did not vouch for get 401.
    """

    def handle(event: Event, _context: object) -> dict[str, Any]:
        front = event.get("requestContext") or {}
        said = (front.get("authorizer") or {}).get("lambda") or {}
        if said.get("auth") != "ok":
            return _reply(401, {"error": "invalid_token"})
        return _reply(200, {"status": "ok", "function": "policy_evaluator", "version": __version__})

    return handle


def _reply(status: int, body: Mapping[str, str]) -> dict[str, Any]:
    headers = {"content-type": "application/json", "cache-control": "no-store"}
    return {"statusCode": status, "headers": headers, "body": json.dumps(body)}
