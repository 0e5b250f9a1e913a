"""The usual call and its answer, in few steps: what the long way says of them, or nothing.

Most messages are calls that a rule allows, and results that hold no secret. Whatever is not
plainly one of these is left to the long way, and nothing has happened to it here.
"""

from typing import Any

from nacre.firewall.audit.entry import AllowedCall, AuditEntry
from nacre.firewall.content.digests import plain_arguments, shown_name
from nacre.firewall.enforce import refusals
from nacre.firewall.enforce.announced_lists import Relisting
from nacre.firewall.enforce.conversation import Asked, Conversation
from nacre.firewall.enforce.judge import Denied
from nacre.firewall.enforce.message import LISTS, MAX_ID, OPENING
from nacre.firewall.enforce.pin_check import Trust
from nacre.firewall.enforce.verdicts import Answer, Forward
from nacre.firewall.rules.arguments.arguments import JsonNumber
from nacre.firewall.rules.evaluate import Engine
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import NO_PATHS, NOWHERE, Subject
from nacre.protocol.versions import META_VERSION, MODERN

# Exactly these members, so that none is a misspelt one.
_REQUEST = frozenset({"jsonrpc", "id", "method", "params"})
_RESPONSE = frozenset({"jsonrpc", "id", "result"})
_CALL = frozenset({"name", "arguments", "_meta"})
_RESULT = frozenset({"content", "structuredContent", "isError", "_meta", "resultType"})
_OTHERWISE_ANSWERED = LISTS | OPENING
_REMEMBERED = 1024
_LONGEST_NAME = 200


class Usual:
    """Knows the usual messages of one conversation."""

    def __init__(self, talk: Conversation, trust: Trust, relisting: Relisting) -> None:
        self._talk = talk
        self._trust = trust
        self._relisting = relisting
        self._policy: Policy | None = None
        self._where = NOWHERE
        self._engine = Engine((), NOWHERE)
        self._records: dict[tuple[str, int | None], tuple[AuditEntry, str]] = {}

    def call(self, raw: bytes, value: dict[str, Any]) -> Forward | Answer | None:
        """Decide about a call that a rule allows, and record it; None for any other message."""
        if value.keys() != _REQUEST or value["method"] != "tools/call":
            return None
        id_, params, talk = value["id"], value["params"], self._talk
        if not _is_sound(value["jsonrpc"], id_) or type(params) is not dict:
            return None
        name, arguments = params.get("name"), params.get("arguments")
        if type(name) is not str or type(arguments) is not dict or not _CALL.issuperset(params):
            return None
        if (
            len(name) > _LONGEST_NAME
            or talk.up.problem(id_) is not None
            or not self._trust.has_no_objection(name)
            or not self._relisting.is_current("tools/call")
        ):
            return None
        plain = plain_arguments(arguments)
        if plain is None:
            return None
        judge = talk.judge
        try:
            policy = judge.source.current()
            if policy is not self._policy or judge.where is not self._where:
                self._policy, self._where = policy, judge.where
                self._engine = policy.engine(judge.where)
                self._records.clear()
            decision = self._engine.decide(
                Subject("tool", name, judge.server, arguments, talk.paths.get(name, NO_PATHS))
            )
        except Exception:  # noqa: BLE001 - the long way fails as well, and says of what
            return None
        if decision.action != "allow" or policy.settings.mode != "enforce":
            return None
        rule = decision.rule
        known = self._records.get((name, rule)) or self._known(name, rule, policy)
        record = AllowedCall(*known, str(id_), *plain)
        kept = judge.kept(record, policy, rule)
        meta = params.get("_meta")
        is_modern = type(meta) is dict and meta.get(META_VERSION) == MODERN
        if isinstance(kept, Denied):
            return Answer(refusals.denial("tools/call", id_, kept, is_modern=is_modern))
        talk.up.add(Asked("tools/call", id_, is_modern))
        return Forward(raw)

    def answer(self, raw: bytes, value: dict[str, Any]) -> Forward | None:
        """Decide about the result of a call that may go on as it is; None for any other."""
        if value.keys() != _RESPONSE:
            return None
        id_, result, talk = value["id"], value["result"], self._talk
        if not _is_sound(value["jsonrpc"], id_) or type(result) is not dict:
            return None
        asked = talk.up.asked(id_)
        if asked is None or asked.method in _OTHERWISE_ANSWERED or not _RESULT.issuperset(result):
            return None
        if result.get("resultType") == "input_required":
            return None
        try:
            if not talk.screen.passes(result, talk.judge.source.current()):
                return None
        except Exception:  # noqa: BLE001 - as above
            return None
        talk.up.take(id_)
        return Forward(raw)

    def _known(self, tool: str, rule: int | None, policy: Policy) -> tuple[AuditEntry, str]:
        """Return what the records of a tool's allowed calls have in common, and its spelling."""
        if len(self._records) >= _REMEMBERED:
            self._records.clear()
        talk = self._talk
        entry = AuditEntry(
            outcome="allow",
            server=talk.judge.server,
            method="tools/call",
            tool=shown_name(tool),
            rule=rule,
            policy=policy.digest,
            principal=talk.principal,
            being=talk.being,
        )
        found = self._records[tool, rule] = (entry, entry.spelled())
        return found


def _is_sound(version: object, id_: object) -> bool:
    """Tell whether both are what they mostly are; other ids are looked at by the long way."""
    if type(version) is not str or version != "2.0":
        return False
    if type(id_) is JsonNumber:
        return len(id_) <= MAX_ID and id_.isdigit()
    return type(id_) is str and 0 < len(id_) <= MAX_ID
