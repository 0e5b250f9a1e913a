"""The form that asks a person about a call: its text, and the possible answers."""

from collections.abc import Mapping
from typing import Any

from nacre.core.limits import APPROVAL_MINUTES, MAX_SHOWN_ARGUMENT, MAX_SHOWN_ARGUMENTS
from nacre.firewall.approvals.approver import ApprovalRequest
from nacre.firewall.approvals.store import Lasting
from nacre.firewall.content.redaction import redact_for_audit
from nacre.protocol import strict_json
from nacre.protocol.large_calls import LargeArguments

ONCE = "allow once"
MINUTES = f"allow for {APPROVAL_MINUTES} minutes"
SESSION = "allow for this session"
TOOL = f"allow any call of this tool for {APPROVAL_MINUTES} minutes"
DENY = "deny"
_LASTING: Mapping[str, Lasting] = {
    ONCE: "once",
    MINUTES: "minutes",
    SESSION: "session",
    TOOL: "tool",
}


def question(request: ApprovalRequest, arguments: str, *, has_session: bool) -> dict[str, Any]:
    """Return the parameters of `elicitation/create`."""
    has_tool = request.tool_binding() is not None
    choices = [ONCE, MINUTES, *([SESSION] * has_session), *([TOOL] * has_tool), DENY]
    counts = "The answer counts for this call with these arguments"
    counts += ", unless you allow any call." if has_tool else "."
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
                    "description": counts,
                    "enum": choices,
                }
            },
            "required": ["decision"],
        },
    }


def chosen_duration(result: Mapping[str, Any]) -> Lasting | None:
    """Return how long an answered form allows the call; None if it does not allow it."""
    content = result.get("content")
    if result.get("action") != "accept" or not isinstance(content, Mapping):
        return None
    decision = content.get("decision")
    return _LASTING.get(decision) if isinstance(decision, str) else None


def shown_arguments(arguments: Mapping[str, Any]) -> str:
    """Return the arguments for a person to read, without secrets and invisible characters.

    Each argument is cut by itself, so that a long one cannot hide another.
    """
    if type(arguments) is LargeArguments and arguments.summary.shown is not None:
        return arguments.summary.shown
    clean: Mapping[str, Any] = redact_for_audit(arguments)
    parts = [
        f"{printable(_cut(name))}: {printable(_cut(_spelt(value)))}"
        for name, value in list(clean.items())[:MAX_SHOWN_ARGUMENTS]
    ]
    omitted = len(arguments) - MAX_SHOWN_ARGUMENTS
    if omitted > 0:
        parts.append(f"and {omitted} more")
    return ", ".join(parts) if parts else "none"


def printable(text: str) -> str:
    """Return the text with an escape in place of each invisible character."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in text)


def _spelt(value: Any) -> str:
    return strict_json.encode(value).decode("utf-8", "replace")


def _cut(text: str) -> str:
    if len(text) <= MAX_SHOWN_ARGUMENT:
        return text
    half = MAX_SHOWN_ARGUMENT // 2
    return f"{text[:half]} [{len(text) - 2 * half} characters] {text[-half:]}"
