"""What a guard asks about the content of messages: who tries to instruct, and what is secret."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from nacre.policy.injection import said
from nacre.policy.injection_definitions import scan_definition
from nacre.policy.injection_places import mask_value, scan_value
from nacre.policy.policy import Policy
from nacre.policy.redaction import is_plain, redact
from nacre.policy.rewriting import numbers
from nacre.policy.sections import InjectionSection, Source

_KINDS: Mapping[str, Source] = {
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
}

_SECRET_FIELD = re.compile(
    r"pass(?:word|phrase|wd|code)|secret|api[ _-]?key|access[ _-]?key|private[ _-]?key|token"
    r"|credential|\bpin\b|\bcvv|\bcvc|card[ _-]?number|\bssn\b|seed[ _-]?phrase",
    re.IGNORECASE,
)


class Screened(NamedTuple):
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
        kind = _KINDS.get(method)
        if kind is None or not isinstance(params, Mapping):
            return Screened(params)
        if kind == "elicitation" and _asks_for_secrets(params):
            return Screened(params, "Blocked by policy (a form may not ask for secrets)")
        screened = _injection(params, kind, policy)
        if params.get("includeContext") not in (None, "none") and screened.objection is None:
            doubt = screened.doubt or "The server asks for the conversation's context"
            return screened._replace(doubt=doubt)
        return screened

    def passes(self, result: Any, policy: Policy) -> bool:
        """Tell at one look whether a result goes on as it is; most others do, too."""
        if _looks(policy.injection, "result"):
            return False
        return policy.secrets.action == "off" or is_plain(result, policy.secrets)

    def result(self, result: Any, policy: Policy) -> Screened:
        """Look at what a server hands back: first who instructs, then what is secret."""
        if not _looks(policy.injection, "result"):
            return _secrets(result, policy)
        screened = _injection(result, "result", policy)
        if screened.objection is not None or screened.doubt is not None:
            # A result is there already, so nobody can be asked whether it may be.
            return Screened(result, screened.objection or screened.doubt, note=screened.note)
        clean = _secrets(screened.value, policy)
        if screened.note is None:
            return clean
        return clean._replace(note=_joined(screened.note, clean.note))

    def answer(self, result: Any, policy: Policy) -> Screened:
        """Look at what the client gives a server: answers to what it asked."""
        return _secrets(result, policy)

    def definition(self, tool: Mapping[str, Any], policy: Policy) -> str | None:
        """Return what is wrong with a tool's definition."""
        if not _looks(policy.injection, "definition"):
            return None
        found = scan_definition(numbers(tool), section=policy.injection)
        return said(found) if found else None


def _looks(section: InjectionSection, kind: Source) -> bool:
    return section.action != "off" and kind in section.sources


def _injection(value: Any, kind: Source, policy: Policy) -> Screened:
    section = policy.injection
    if not _looks(section, kind):
        return Screened(value)
    plain = numbers(value)
    if section.action == "redact":
        masked, found = mask_value(plain, kind=kind, section=section)
        # Names of members cannot be masked, so what stands there is denied.
        left = scan_value(masked, kind=kind, section=section) if found else ()
        if left:
            return Screened(value, f"Blocked by policy ({said(left)})", note=said(left))
        return Screened(masked, note=said(found)) if found else Screened(value)
    found = scan_value(plain, kind=kind, section=section)
    if not found:
        return Screened(value)
    text = f"Blocked by policy ({said(found)})"
    if section.action == "prompt":
        return Screened(value, doubt=said(found), note=said(found))
    return Screened(value, text, note=said(found))


def _secrets(value: Any, policy: Policy) -> Screened:
    section = policy.secrets
    if section.action == "off":
        return Screened(value)
    clean = redact(value, section)
    if not clean.count:
        return Screened(value)
    note = f"{clean.count} secrets ({', '.join(clean.rules)[:200]})"
    if section.action == "deny":
        return Screened(value, f"Blocked by policy (it holds {note})", note=note)
    return Screened(clean.value, note=f"{note} taken out")


def _joined(*notes: str | None) -> str | None:
    return "; ".join(note for note in notes if note) or None


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
