"""Lambda: the policy evaluator, for enforcement points elsewhere.

What decides is loaded at the first call: until then nothing but this is, and the standard
library is all there ever is, because proxies wait for the answer.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

Event = Mapping[str, Any]
Handler = Callable[[Event, object], dict[str, Any]]
PATH = "/policy/evaluate"
REFUSED = b'{"decision":"deny","error":"invalid_token"}'


class Evaluating(Protocol):
    """Answers what a policy makes of a call; nacre.faces.evaluating has it."""

    def of_event(self, event: Event, being_id: str, token: str | None) -> tuple[int, bytes]:
        """Return the HTTP status and the body of the answer to an event of API Gateway."""
        ...

    def of_payload(self, event: object) -> dict[str, Any]:
        """Return the answer to a direct invocation."""
        ...


def policy_handler(evaluator: Callable[[], Evaluating]) -> Handler:
    """Return the handler of the evaluator function.

    Behind API Gateway callers that the authorizer did not vouch for get 401, and a token's
    own Being chooses the policy. Who may invoke the function directly is IAM's matter.
    """

    def handle(event: Event, _context: object) -> dict[str, Any]:
        if _is_direct(event):
            return evaluator().of_payload(event)
        front = event.get("requestContext") or {}
        said = (front.get("authorizer") or {}).get("lambda") or {}
        being_id, token = said.get("being_id"), said.get("token_id")
        if said.get("auth") != "ok" or not isinstance(being_id, str) or not being_id:
            return _reply(401, REFUSED)
        return _reply(*evaluator().of_event(event, being_id, token))

    return handle


def _is_direct(event: object) -> bool:
    """Tell whether somebody in the account is calling; every front says who it is."""
    return not isinstance(event, Mapping) or "requestContext" not in event


def _reply(status: int, body: bytes) -> dict[str, Any]:
    headers = {"content-type": "application/json", "cache-control": "no-store"}
    return {"statusCode": status, "headers": headers, "body": body.decode()}
