"""Lambda: the policy evaluator, for enforcement points elsewhere.

What decides is loaded at the first call: until then nothing but this is, and the standard
library is all there ever is, because proxies wait for the answer.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nacre.faces.evaluator.evaluation import Evaluator, Policies

Event = Mapping[str, Any]
Handler = Callable[[Event, object], dict[str, Any]]
PATH = "/policy/evaluate"
REFUSED = b'{"decision":"deny","error":"invalid_token"}'


Tell = Callable[[str], None]
Making = Callable[[Tell], "Policies"]
"""Makes the policies; they tell what their owner should know."""


def policy_handler(policies: Making, log_level: str = "INFO", stack: str = "") -> Handler:
    """Return the handler of the evaluator function.

    Behind API Gateway callers that the authorizer did not vouch for get 401, and a token's
    own Being chooses the policy. Who may invoke the function directly is IAM's matter.
    """

    @cache
    def evaluator() -> "Evaluator":
        from nacre.faces.evaluator import evaluation  # noqa: PLC0415 - the first call pays, not the start

        return evaluation.logged(policies, log_level, stack)

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
