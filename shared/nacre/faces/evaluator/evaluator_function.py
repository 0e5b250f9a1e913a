"""The Lambda function that evaluates the policy for enforcement points in other systems.

The evaluator is loaded at the first call, and needs only the standard library, because proxies
wait for the answer.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nacre.faces.evaluator.evaluation import Evaluator
    from nacre.firewall.policies.stored_policy import Policies

Event = Mapping[str, Any]
Handler = Callable[[Event, object], dict[str, Any]]
PATH = "/policy/evaluate"
REFUSED = b'{"decision":"deny","error":"invalid_token"}'


Tell = Callable[[str], None]
OpenPolicies = Callable[[Tell], "Policies"]
"""Opens the policies; they report problems to `Tell`."""


def policy_handler(policies: OpenPolicies, log_level: str = "INFO", stack: str = "") -> Handler:
    """Return the handler of the evaluator function.

    Behind API Gateway, callers that the authorizer did not accept get 401, and the token's Being
    decides which policy applies. IAM decides who may invoke the function directly.
    """

    @cache
    def evaluator() -> "Evaluator":
        from nacre.faces.evaluator import evaluation  # noqa: PLC0415 - the first call pays, not the start

        return evaluation.logged(policies, log_level, stack)

    def handle(event: Event, _context: object) -> dict[str, Any]:
        if _is_direct(event):
            return evaluator().of_payload(event)
        request_context = event.get("requestContext") or {}
        context = (request_context.get("authorizer") or {}).get("lambda") or {}
        being_id, token = context.get("being_id"), context.get("token_id")
        profile = context.get("profile", "")
        passes = "bound" if profile else "ok"  # as the authorizer says it
        if context.get("auth") != passes or not isinstance(being_id, str) or not being_id:
            return _reply(401, REFUSED)
        if not isinstance(profile, str):
            return _reply(401, REFUSED)
        return _reply(*evaluator().of_event(event, being_id, token, profile))

    return handle


def _is_direct(event: object) -> bool:
    """Tell whether the function was invoked directly, and not through API Gateway."""
    return not isinstance(event, Mapping) or "requestContext" not in event


def _reply(status: int, body: bytes) -> dict[str, Any]:
    headers = {"content-type": "application/json", "cache-control": "no-store"}
    return {"statusCode": status, "headers": headers, "body": body.decode()}
