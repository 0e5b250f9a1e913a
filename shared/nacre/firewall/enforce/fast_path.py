"""Fast path for the common case: an allowed call whose result contains no secret.

Both functions return None when the full check must run, and then have changed nothing.
"""

from typing import Any

from nacre.core.bounded_cache import BoundedCache
from nacre.firewall.audit.entry import AllowedCall, AuditEntry
from nacre.firewall.content.digests import masked_name, plain_arguments
from nacre.firewall.enforce import refusals
from nacre.firewall.enforce.announced_lists import ListRefresh
from nacre.firewall.enforce.conversation import Conversation, OpenRequest
from nacre.firewall.enforce.judge import Denied
from nacre.firewall.enforce.message import DECIDED_UP, LISTS, MAX_ID, OPENING
from nacre.firewall.enforce.pin_check import PinCheck
from nacre.firewall.enforce.verdicts import Answer, Forward
from nacre.firewall.rules.arguments.arguments import JsonNumber
from nacre.firewall.rules.evaluate import Engine
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import NO_PATHS, NOWHERE, Subject
from nacre.protocol.versions import META_VERSION, MODERN

# Exactly these members, so that none is misspelt.
_REQUEST = frozenset({"jsonrpc", "id", "method", "params"})
_RESPONSE = frozenset({"jsonrpc", "id", "result"})
_CALL = frozenset({"name", "arguments", "_meta"})
_RESULT = frozenset({"content", "structuredContent", "isError", "_meta", "resultType"})
_OTHERWISE_ANSWERED = LISTS | OPENING
_REMEMBERED = 1024
_MAX_NAME = 200


class FastPath:
    """Decides about the common messages of one conversation."""

    def __init__(
        self, conversation: Conversation, pin_check: PinCheck, list_refresh: ListRefresh
    ) -> None:
        self._conversation = conversation
        self._pin_check = pin_check
        self._list_refresh = list_refresh
        self._policy: Policy | None = None
        self._where = NOWHERE
        self._engine = Engine((), NOWHERE)
        self._reads_origins = False
        self._records: BoundedCache[tuple[str, int | None], tuple[AuditEntry, str]] = BoundedCache(
            _REMEMBERED
        )

    def call(self, raw: bytes, value: dict[str, Any]) -> Forward | Answer | None:
        """Decide about a call that a rule allows, and record it; None for any other message."""
        if value.keys() != _REQUEST or value["method"] != "tools/call":
            return None
        id_, params, conversation = value["id"], value["params"], self._conversation
        if not _is_plain(value["jsonrpc"], id_) or type(params) is not dict:
            return None
        name, arguments = params.get("name"), params.get("arguments")
        if type(name) is not str or type(arguments) is not dict or not _CALL.issuperset(params):
            return None
        if (
            len(name) > _MAX_NAME
            or conversation.up.problem(id_) is not None
            or not self._pin_check.has_no_objection(name)
            or not self._list_refresh.is_current("tools/call")
        ):
            return None
        plain = plain_arguments(arguments)
        if plain is None:
            return None
        judge = conversation.judge
        try:
            policy = judge.source.current()
            if policy is not self._policy or judge.where is not self._where:
                self._policy, self._where = policy, judge.where
                self._engine = policy.engine(judge.where)
                self._reads_origins = any(rule.reads_origins for rule in policy.rules)
                self._records.clear()
            decision = self._engine.decide(
                Subject(
                    "tool", name, judge.server, arguments, conversation.paths.get(name, NO_PATHS)
                )
            )
        except Exception:  # noqa: BLE001 - the full check fails too, and reports why
            return None
        if (
            decision.action != "allow"
            or policy.settings.mode != "enforce"
            # The full record names what the client has received.
            or (self._reads_origins and self._engine.reads_origins("tool", name, judge.server))
            or (policy.limits and judge.limits.may_count(policy, "tool", name, judge.server))
        ):
            return None
        rule = decision.rule
        common = self._records.get((name, rule)) or self._common_record(name, rule, policy)
        record = AllowedCall(*common, str(id_), *plain)
        audit = judge.record(record, policy, rule)
        meta = params.get("_meta")
        is_modern = type(meta) is dict and meta.get(META_VERSION) == MODERN
        if isinstance(audit, Denied):
            return Answer(refusals.denial("tools/call", id_, audit, is_modern=is_modern))
        conversation.up.add(OpenRequest("tools/call", id_, is_modern))
        return Forward(raw)

    def answer(self, raw: bytes, value: dict[str, Any]) -> Forward | None:
        """Decide about a result that can be forwarded unchanged; None for any other."""
        if value.keys() != _RESPONSE:
            return None
        id_, result, conversation = value["id"], value["result"], self._conversation
        if not _is_plain(value["jsonrpc"], id_) or type(result) is not dict:
            return None
        request = conversation.up.get(id_)
        if (
            request is None
            or request.method in _OTHERWISE_ANSWERED
            or not _RESULT.issuperset(result)
        ):
            return None
        if result.get("resultType") == "input_required":
            return None
        try:
            policy = conversation.judge.source.current()
            if policy.limits and request.call is not None:  # one may be about its size
                return None
            if not conversation.screen.passes(result, request.method, policy):
                return None
        except Exception:  # noqa: BLE001 - as above
            return None
        if request.method in DECIDED_UP:
            conversation.hand_over()
        conversation.up.take(id_)
        return Forward(raw)

    def _common_record(self, tool: str, rule: int | None, policy: Policy) -> tuple[AuditEntry, str]:
        """Return the record that a tool's allowed calls share, and its JSON members."""
        conversation = self._conversation
        entry = AuditEntry(
            outcome="allow",
            server=conversation.judge.server,
            method="tools/call",
            tool=masked_name(tool),
            rule=rule,
            policy=policy.digest,
            principal=conversation.principal,
            being=conversation.being,
        )
        record = self._records[tool, rule] = (entry, entry.spelled())
        return record


def _is_plain(version: object, id_: object) -> bool:
    """Tell whether a message has the usual version and a plain id."""
    if type(version) is not str or version != "2.0":
        return False
    if type(id_) is JsonNumber:
        return len(id_) <= MAX_ID and id_.isdigit()
    return type(id_) is str and 0 < len(id_) <= MAX_ID
