"""One record of the audit: the facts about one message, and their JSON."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

from nacre.core.lazy_dataclasses import dataclass, field, replace
from nacre.firewall.content.digests import json_writer, masked_name

Direction = Literal["client", "server", "none"]
Outcome = Literal["allow", "deny", "prompt", "pass", "reject", "drop", "note"]

_NAME = 200
_REQUEST = 80  # characters of an id, which the sender of the request chose
_encode = json_writer(sort_keys=False, ensure_ascii=True)
_text = json.encoder.encode_basestring_ascii


@dataclass(slots=True, kw_only=True)  # frozen, each would take three times as long to make
class AuditEntry:
    """The facts about one message; `fields` are further facts, never values of arguments."""

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
        """Return the facts that are not empty."""
        facts: dict[str, Any] = {"outcome": self.outcome}
        if self.server:
            facts["server"] = masked_name(self.server)
        facts["sender"] = self.sender
        facts["method"] = masked_name(self.method)[:_NAME]
        if self.tool:
            facts["tool"] = masked_name(self.tool)[:_NAME]
        if self.rule:
            facts["rule"] = self.rule
        if self.policy:
            facts["policy"] = self.policy[:16]
        if self.principal:
            facts["principal"] = masked_name(self.principal)
        if self.being:
            facts["being"] = masked_name(self.being)
        if self.request:
            facts["request"] = masked_name(self.request)[:_REQUEST]
        if self.arguments_sha256:
            facts["arguments_sha256"] = self.arguments_sha256
        if self.shape:
            facts["shape"] = self.shape
        if self.note:
            facts["note"] = masked_name(self.note)[:500]
        if not self.enforced:
            facts["enforced"] = False
        if self.fields:
            facts.update(_shown(self.fields))
        return facts

    def spelled(self) -> str:
        """Return the facts as members of a JSON object."""
        tool = self.tool
        is_long = len(self.method) > _NAME or (tool is not None and len(tool) > _NAME)
        if is_long or self.fields or self.note or not self.enforced:
            return _encode(self.facts())[1:-1]
        members = _beginning(
            *(self.outcome, self.server, self.sender, self.method, tool),
            *(self.rule, self.policy, self.principal, self.being),
        )
        if self.request:
            members = f'{members},"request":{_text(masked_name(self.request)[:_REQUEST])}'
        if self.arguments_sha256:
            members = f'{members},"arguments_sha256":{_text(self.arguments_sha256)}'
        return f'{members},"shape":{_encode(self.shape)}' if self.shape else members


def _shown(value: Any) -> Any:
    """Return a further fact with a mark in place of each secret; many come from a peer."""
    match value:
        case str():
            return masked_name(value)[:_NAME]
        case Mapping():
            return {masked_name(name)[:_NAME]: _shown(fact) for name, fact in value.items()}
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
    """Return the JSON members that all records of one tool share."""
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
    """The record of an allowed call: the facts that all calls of its tool share, and its own.

    `beginning` is the JSON of the shared facts; `shape` is JSON too.
    """

    known: AuditEntry
    beginning: str
    request: str
    arguments_sha256: str
    shape: str

    @property
    def being(self) -> str:
        """The Being whose chain it belongs to."""
        return self.known.being

    def whole(self) -> AuditEntry:
        """Return the same record as an AuditEntry."""
        return replace(
            self.known,
            request=self.request,
            arguments_sha256=self.arguments_sha256,
            shape=json.loads(self.shape),
        )

    def facts(self) -> dict[str, Any]:
        """Return the facts that are not empty."""
        return self.whole().facts()

    def spelled(self) -> str:
        """Return the facts as members of a JSON object."""
        members = (
            f'{self.beginning},"request":{_text(masked_name(self.request)[:_REQUEST])},'
            f'"arguments_sha256":"{self.arguments_sha256}"'
        )
        return members if self.shape == "{}" else f'{members},"shape":{self.shape}'


Record = AuditEntry | AllowedCall
