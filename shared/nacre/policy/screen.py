"""What a guard asks about the content of messages: who tries to instruct, and what is secret."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nacre.policy.policy import Policy

_SECRET_FIELD = re.compile(
    r"pass(?:word|phrase|wd|code)|secret|api[ _-]?key|access[ _-]?key|private[ _-]?key|token"
    r"|credential|\bpin\b|\bcvv|\bcvc|card[ _-]?number|\bssn\b|seed[ _-]?phrase",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Screened:
    """What became of a value: the same object, or another in its place.

    `objection` denies it, `doubt` asks for an approval, `note` is for the audit.
    """

    value: Any
    objection: str | None = None
    doubt: str | None = None
    note: str | None = None


class Screen:
    """Looks at content as the policy's sections say."""

    def asked(self, method: str, params: Any, policy: Policy) -> Screened:
        """Look at what a server asks of the client: sampling, elicitation."""
        del policy
        if not isinstance(params, Mapping):
            return Screened(params)
        if method == "elicitation/create" and _asks_for_secrets(params):
            return Screened(params, "Blocked by policy (a form may not ask for secrets)")
        if method == "sampling/createMessage" and params.get("includeContext") not in (
            None,
            "none",
        ):
            return Screened(params, doubt="The server asks for the conversation's context")
        return Screened(params)

    def result(self, result: Any, policy: Policy) -> Screened:
        """Look at what a server hands back."""
        del policy
        return Screened(result)

    def answer(self, result: Any, policy: Policy) -> Screened:
        """Look at what the client gives a server: answers to what it asked."""
        del policy
        return Screened(result)

    def definition(self, tool: Mapping[str, Any], policy: Policy) -> str | None:
        """Return what is wrong with a tool's definition."""
        del tool, policy
        return None


def _asks_for_secrets(params: Mapping[str, Any]) -> bool:
    """Tell whether a form has a field for what no form may ask: a URL is the way for that."""
    schema = params.get("requestedSchema")
    fields = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(fields, Mapping):
        return False
    return any(
        _SECRET_FIELD.search(
            f"{name} {each.get('title', '')}" if isinstance(each, Mapping) else name
        )
        for name, each in fields.items()
    )
