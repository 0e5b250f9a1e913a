"""One record of the audit: what happened to one message, and how it is spelled."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

from nacre.firewall.content.digests import shown_name
from nacre.firewall.content.json_writer import writer

Direction = Literal["client", "server", "none"]
Outcome = Literal["allow", "deny", "prompt", "pass", "reject", "drop", "note"]

_NAME = 200
_REQUEST = 80  # characters of an id, which the sender of the request chose
_encode = writer(sort_keys=False, ensure_ascii=True)
_text = json.encoder.encode_basestring_ascii


@dataclass(slots=True, kw_only=True)  # frozen, each would take three times as long to make
class AuditEntry:
    """What happened to one message; `fields` are further facts, none of them a value."""

    outcome: Outcome
    server: str
    method: str
    sender: Direction = "client"
    tool: str | None = None
    rule: int | None = None
    policy: str = ""
    principal: str = ""
    being: str = ""
    request: str | None = None
    arguments_sha256: str | None = None
    shape: Mapping[str, str] | None = None
    enforced: bool = True
    note: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)

    def facts(self) -> dict[str, Any]:  # noqa: C901 - a line for each of them
        """Return what the record says, without what is empty."""
        known: dict[str, Any] = {"outcome": self.outcome}
        if self.server:
            known["server"] = shown_name(self.server)
        known["sender"] = self.sender
        known["method"] = shown_name(self.method)[:_NAME]
        if self.tool:
            known["tool"] = shown_name(self.tool)[:_NAME]
        if self.rule:
            known["rule"] = self.rule
        if self.policy:
            known["policy"] = self.policy[:16]
        if self.principal:
            known["principal"] = shown_name(self.principal)
        if self.being:
            known["being"] = shown_name(self.being)
        if self.request:
            known["request"] = shown_name(self.request)[:_REQUEST]
        if self.arguments_sha256:
            known["arguments_sha256"] = self.arguments_sha256
        if self.shape:
            known["shape"] = self.shape
        if self.note:
            known["note"] = shown_name(self.note)[:500]
        if not self.enforced:
            known["enforced"] = False
        if self.fields:
            known.update(_shown(self.fields))
        return known

    def spelled(self) -> str:
        """Return what the record says as members of a JSON object."""
        tool = self.tool
        is_long = len(self.method) > _NAME or (tool is not None and len(tool) > _NAME)
        if is_long or self.fields or self.note or not self.enforced:
            return _encode(self.facts())[1:-1]
        said = _beginning(
            *(self.outcome, self.server, self.sender, self.method, tool),
            *(self.rule, self.policy, self.principal, self.being),
        )
        if self.request:
            said = f'{said},"request":{_text(shown_name(self.request)[:_REQUEST])}'
        if self.arguments_sha256:
            said = f'{said},"arguments_sha256":{_text(self.arguments_sha256)}'
        return f'{said},"shape":{_encode(self.shape)}' if self.shape else said


def _shown(value: Any) -> Any:
    """Return a further fact with a mark in place of each secret: many come from a peer."""
    match value:
        case str():
            return shown_name(value)[:_NAME]
        case Mapping():
            return {shown_name(name)[:_NAME]: _shown(fact) for name, fact in value.items()}
        case list() | tuple():
            return [_shown(fact) for fact in value]
        case _:
            return value


@lru_cache(maxsize=1024)
def _beginning(
    outcome: Outcome,
    server: str,
    sender: Direction,
    method: str,
    tool: str | None,
    rule: int | None,
    policy: str,
    principal: str,
    being: str,
) -> str:
    """Spell what the records of one tool have in common, which is most of them."""
    entry = AuditEntry(
        outcome=outcome,
        server=server,
        method=method,
        sender=sender,
        tool=tool,
        rule=rule,
        policy=policy,
        principal=principal,
        being=being,
    )
    return _encode(entry.facts())[1:-1]


@dataclass(slots=True)  # as above
class AllowedCall:
    """The record of a call that a rule allows: what all of its tool's say, and what differs.

    `beginning` is how the former is spelled; `shape` is spelled as well.
    """

    known: AuditEntry
    beginning: str
    request: str
    arguments_sha256: str
    shape: str

    @property
    def being(self) -> str:
        """Whose chain it belongs to."""
        return self.known.being

    def whole(self) -> AuditEntry:
        """Return the same record as any other."""
        return replace(
            self.known,
            request=self.request,
            arguments_sha256=self.arguments_sha256,
            shape=json.loads(self.shape),
        )

    def facts(self) -> dict[str, Any]:
        """Return what the record says, without what is empty."""
        return self.whole().facts()

    def spelled(self) -> str:
        """Return the facts as members of a JSON object."""
        said = (
            f'{self.beginning},"request":{_text(shown_name(self.request)[:_REQUEST])},'
            f'"arguments_sha256":"{self.arguments_sha256}"'
        )
        return said if self.shape == "{}" else f'{said},"shape":{self.shape}'


Record = AuditEntry | AllowedCall
