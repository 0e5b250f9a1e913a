"""What a person is shown before a call is approved, and what they may answer."""

from collections.abc import Mapping
from typing import Any

from nacre.core.limits import APPROVAL_MINUTES, MAX_SHOWN_ARGUMENT, MAX_SHOWN_ARGUMENTS
from nacre.firewall.approvals.approver import ApprovalRequest
from nacre.firewall.approvals.store import Lasting
from nacre.firewall.content.redaction import redact_for_audit
from nacre.protocol import strict_json

ONCE = "allow once"
MINUTES = f"allow for {APPROVAL_MINUTES} minutes"
SESSION = "allow for this session"
DENY = "deny"
_LASTING: Mapping[str, Lasting] = {ONCE: "once", MINUTES: "minutes", SESSION: "session"}


def question(request: ApprovalRequest, arguments: str, *, has_session: bool) -> dict[str, Any]:
    """Return the parameters of `elicitation/create`."""
    choices = [ONCE, MINUTES, *([SESSION] if has_session else []), DENY]
    subject = request.subject
    return {
        "mode": "form",
        "message": (
            f"{printable(request.decision.text)}\n\n"
            f"{subject.kind.capitalize()}: {printable(subject.name)}\n"
            f"Server: {printable(subject.server)}\nArguments: {arguments}"
        ),
        "requestedSchema": {
            "type": "object",
            "properties": {
                "decision": {
                    "type": "string",
                    "title": "May this call be made?",
                    "description": "The answer counts for this call with these arguments.",
                    "enum": choices,
                }
            },
            "required": ["decision"],
        },
    }


def chosen(result: Mapping[str, Any]) -> Lasting | None:
    """Return how long a form allows the call; None is a no, and so is what it does not offer."""
    content = result.get("content")
    if result.get("action") != "accept" or not isinstance(content, Mapping):
        return None
    decision = content.get("decision")
    return _LASTING.get(decision) if isinstance(decision, str) else None


def shown(arguments: Mapping[str, Any]) -> str:
    """Return the arguments for a person: each one cut by itself, nothing invisible, no secret.

    A long argument cannot push another one out of sight.
    """
    clean: Mapping[str, Any] = redact_for_audit(arguments)
    parts = [
        f"{printable(_cut(name))}: {printable(_cut(_spelt(value)))}"
        for name, value in list(clean.items())[:MAX_SHOWN_ARGUMENTS]
    ]
    rest = len(arguments) - MAX_SHOWN_ARGUMENTS
    if rest > 0:
        parts.append(f"and {rest} more")
    return ", ".join(parts) if parts else "none"


def printable(text: str) -> str:
    """Return a text in which every character shows: no control, no change of direction."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in text)


def _spelt(value: Any) -> str:
    return strict_json.encode(value).decode("utf-8", "replace")


def _cut(text: str) -> str:
    if len(text) <= MAX_SHOWN_ARGUMENT:
        return text
    half = MAX_SHOWN_ARGUMENT // 2
    return f"{text[:half]} [{len(text) - 2 * half} characters] {text[-half:]}"
