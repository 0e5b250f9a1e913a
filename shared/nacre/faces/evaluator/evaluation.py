"""The evaluator: the verdict of a policy for one call, or for several.

A call that cannot be decided is denied, and the answer says so.
"""

import json
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

from nacre.core.errors import InvalidInputError, NacreError, UnavailableError, UnknownProfileError
from nacre.core.limits import MAX_EVALUATED_CALLS
from nacre.core.logs import Log, log_at, where
from nacre.faces.aws_lambda.event_body import event_body
from nacre.firewall.analysis.sample_call import DescribedCall, decide, read_call
from nacre.firewall.content.digests import masked_name
from nacre.firewall.enforce.message import parse
from nacre.firewall.policies.stored_policy import Policies
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.profile import Profile

Event = Mapping[str, Any]


class Evaluator:
    """Evaluates one call or several under a policy."""

    def __init__(self, policies: Policies, log: Log) -> None:
        self._policies = policies
        self._log = log

    def evaluate(
        self, body: Any, being_id: str | None, *, token: str | None = None, profile: str = ""
    ) -> Any:
        """Return the verdict, as for a caller in a profile if one is given.

        Raises InvalidInputError for a body that describes no call, and UnknownProfileError.
        """
        started = perf_counter()
        several = body.get("calls") if isinstance(body, Mapping) and "calls" in body else None
        calls = [read_call(body, trusts_place=False)] if several is None else _calls(body)
        force = self._policies.of(being_id)
        within = force.policy.profile(profile) if profile else None
        decides = force.policy if within is None else within.policy
        verdicts = [_verdict(call, decides, within) for call in calls]
        policy = {
            "scope": force.scope,
            "version": force.version,
            "digest": decides.digest,
            "mode": decides.settings.mode,
        }
        milliseconds = round((perf_counter() - started) * 1000, 2)
        for call, verdict in zip(calls, verdicts, strict=True):
            self._log.count(
                "info",
                "policy",
                {"PolicyDenials": 1} if verdict["decision"] == "deny" else {},
                decision=verdict["decision"],
                rule=verdict["rule"],
                server=call.server[:100],
                name=masked_name(call.name)[:100],
                being=being_id,
                token=token,
                version=force.version,
                ms=milliseconds,
            )
        if several is None:
            return {**verdicts[0], "policy": policy}
        return {"calls": verdicts, "policy": policy}

    def answer(
        self, raw: bytes, being_id: str, token: str | None, profile: str = ""
    ) -> tuple[int, bytes]:
        """Return the HTTP status and the body of the answer to a request."""
        try:
            answer = 200, self.evaluate(parse(raw), being_id, token=token, profile=profile)
        except Exception as error:  # noqa: BLE001 - any failure must deny the call
            answer = self._failure(error)
        return answer[0], _encoded(answer[1])

    def of_event(
        self, event: Event, being_id: str, token: str | None, profile: str = ""
    ) -> tuple[int, bytes]:
        """Return the same for an event of API Gateway."""
        return self.answer(event_body(event), being_id, token, profile)

    def of_payload(self, event: object) -> dict[str, Any]:
        """Return the answer to a direct invocation: the payload is the body.

        It may name the Being whose policy is meant, because IAM has let the caller in.
        """
        try:
            body, being_id = _payload(event)
            answer: dict[str, Any] = self.evaluate(body, being_id)
        except Exception as error:  # noqa: BLE001 - any failure must deny the call
            return dict(self._failure(error)[1])
        return answer

    def _failure(self, error: Exception) -> tuple[int, Any]:
        text = "the call could not be decided; the log says why"
        status = 500
        if isinstance(error, NacreError):
            text = error.public or str(error)
            status = 400 if isinstance(error, InvalidInputError) else 503
            status = 404 if isinstance(error, UnknownProfileError) else status
        if status >= 500:
            detail = str(error) if isinstance(error, UnavailableError) else None
            self._log.write("error", "policy", error=where(error), said=detail)
        return status, {"decision": "deny", "rule": None, "text": text, "error": text}


def _encoded(answer: Any) -> bytes:
    return json.dumps(answer, ensure_ascii=True, separators=(",", ":")).encode()


def logged(
    policies: Callable[[Callable[[str], None]], Policies], level: str, stack: str
) -> Evaluator:
    """Return an evaluator that logs to standard error, messages of its policies too."""
    log = log_at(level, stack=stack)
    return Evaluator(policies(lambda message: log.write("warning", "policy", said=message)), log)


def _payload(event: object) -> tuple[dict[str, Any], str | None]:
    if not isinstance(event, Mapping):
        raise InvalidInputError("the payload must be a JSON object")
    being_id = event.get("being")
    if being_id is not None and not isinstance(being_id, str):
        raise InvalidInputError("'being' must be the id of a Being")
    return {key: value for key, value in event.items() if key != "being"}, being_id


def _calls(body: Mapping[str, Any]) -> list[DescribedCall]:
    calls = body["calls"]
    if len(body) > 1 or not isinstance(calls, list) or not 1 <= len(calls) <= MAX_EVALUATED_CALLS:
        raise InvalidInputError(
            f"'calls' stands alone and is a list of 1 to {MAX_EVALUATED_CALLS} calls"
        )
    return [read_call(call, trusts_place=False) for call in calls]


def _verdict(call: DescribedCall, policy: Policy, profile: Profile | None) -> dict[str, Any]:
    decision = decide(call, policy, profile)
    verdict: dict[str, Any] = {
        "decision": decision.action,
        "rule": decision.rule,
        "description": decision.description,
        "text": decision.text,
    }
    if call.expected is not None:
        verdict |= {"expected": call.expected, "as_expected": call.expected == decision.action}
    return verdict
