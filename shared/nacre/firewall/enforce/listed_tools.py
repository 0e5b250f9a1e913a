"""Lists that a server gives: recorded, pinned, and without what nobody may use."""

from collections.abc import Mapping
from typing import Any

from nacre.core.errors import MalformedMessageError
from nacre.firewall.content.digests import digest
from nacre.firewall.enforce.conversation import Asked, Conversation
from nacre.firewall.enforce.json_spans import without_elements
from nacre.firewall.enforce.message import Wire, parse
from nacre.firewall.enforce.pin_check import Trust
from nacre.firewall.enforce.rewrite import rewritten
from nacre.firewall.pins import INSTRUCTIONS, PinKind
from nacre.firewall.rules.arguments.argument_names import path_arguments
from nacre.firewall.rules.policy import Policy
from nacre.protocol.http.headers import annotated

LIST_OF: Mapping[str, tuple[str, PinKind, str]] = {
    "tools/list": ("tools", "tool", "name"),
    "resources/list": ("resources", "resource", "uri"),
    "resources/templates/list": ("resourceTemplates", "template", "uriTemplate"),
    "prompts/list": ("prompts", "prompt", "name"),
}
"""The member that holds a list, the kind of its items, and what names each of them."""


class Listing:
    """Looks at the lists of one conversation."""

    def __init__(self, talk: Conversation, trust: Trust) -> None:
        self._talk = talk
        self._trust = trust

    def filtered(self, asked: Asked, wire: Wire) -> bytes:
        """Return the list as the client may see it: the same bytes, or less of them."""
        member, kind, key = LIST_OF[asked.method]
        listed = wire.result.get(member)
        if type(listed) is not list:
            raise MalformedMessageError(f"the answer to {asked.method} holds no list")
        policy = self._talk.judge.policy()
        sound = [each for each in listed if _is_named(each, key)]
        flagged = self._flagged(sound, key, policy)
        if kind == "tool":
            self._keep_schemas(sound)
        refused = self._trust.refused(
            kind,
            sound,
            flagged,
            is_first_page=cursor_of(asked) is None,
            is_last_page=wire.result.get("nextCursor") is None,
        )
        gone = {
            place
            for place, each in enumerate(listed)
            if not _is_named(each, key)
            or each[key] in refused
            or (kind == "tool" and not self._may_be_called(each["name"], policy))
        }
        known = digest(listed)
        is_changed = self._talk.seen.setdefault(asked.method, known) != known
        self._talk.seen[asked.method] = known
        self._record(
            asked.method,
            {
                "listed": len(listed),
                "sha256": known,
                "changed": is_changed,
                "removed": len(gone),
                "waiting": sorted(refused)[:20],
            },
        )
        if not self._talk.enforces():
            return wire.raw
        raw = wire.raw
        kept = [each for place, each in enumerate(listed) if place not in gone]
        if gone:
            raw = without_elements(raw, ("result", member), gone)
            if parse(raw)["result"] != {**wire.result, member: kept}:
                raise MalformedMessageError("the list cannot be shortened safely")
        return self._described(asked.method, member, {**wire.result, member: kept}, raw, policy)

    def opening(self, asked: Asked, wire: Wire) -> bytes:
        """Return what a server says of itself, without instructions that wait for its owner."""
        policy = self._talk.judge.policy()
        text = wire.result.get(INSTRUCTIONS)
        given = [{INSTRUCTIONS: text}] if type(text) is str and text else []
        problem = self._talk.screen.definition(given[0], policy) if given else None
        flagged = {} if problem is None else {INSTRUCTIONS: problem}
        waits = self._trust.refused("instructions", given, flagged)
        # What is no text is no instruction either, and is looked at with the rest.
        rest = {
            name: each for name, each in wire.result.items() if not given or name != INSTRUCTIONS
        }
        screened = self._talk.screen.described(rest, asked.method, policy)
        if screened.objection is not None:
            raise MalformedMessageError(screened.objection)
        if screened.note is not None or waits:
            note = "the server's instructions wait for its owner" if waits else None
            said = "; ".join(each for each in (note, screened.note) if each)
            self._talk.judge.note("note", asked.method, sender="server", note=said)
        secrets = self._talk.screen.listed(
            {INSTRUCTIONS: text} if given and not waits else {}, policy
        )
        if not self._talk.enforces():
            return wire.raw
        if screened.value is rest and not waits and secrets.note is None:
            return wire.raw
        return rewritten(wire.raw, ("result",), {**screened.value, **secrets.value})

    def _described(
        self, method: str, member: str, result: dict[str, Any], raw: bytes, policy: Policy
    ) -> bytes:
        """Return the list without the secrets in it, and without what instructs around it."""
        items = {member: result[member]}
        secrets = self._talk.screen.listed(items, policy)
        rest = {name: each for name, each in result.items() if name != member}
        around = self._talk.screen.described(rest, method, policy)
        for screened in (secrets, around):
            if screened.objection is not None:
                raise MalformedMessageError(screened.objection)
            if screened.note is not None:
                self._talk.judge.note("note", method, sender="server", note=screened.note)
        if secrets.value is items and around.value is rest:
            return raw
        return rewritten(raw, ("result",), {**around.value, **secrets.value})

    def _may_be_called(self, tool: str, policy: Policy) -> bool:
        engine = policy.engine(self._talk.judge.where)
        return engine.may_pass("tool", tool, self._talk.judge.server)

    def _flagged(self, items: list[Any], key: str, policy: Policy) -> dict[str, str]:
        found: dict[str, str] = {}
        for each in items:
            problem = self._talk.screen.definition(each, policy)
            if problem is not None:
                found[each[key]] = problem
        return found

    def _keep_schemas(self, tools: list[Any]) -> None:
        for each in tools:
            schema = each.get("inputSchema")
            self._talk.paths[each["name"]] = path_arguments(schema)
            if type(schema) is dict and any(annotated(schema)):
                self._talk.schemas[each["name"]] = schema

    def _record(self, method: str, fields: dict[str, Any]) -> None:
        self._talk.judge.note("note", method, sender="server", fields=fields)


def cursor_of(asked: Asked) -> Any:
    """Return where the page of a list begins that was asked for; None for the first one."""
    return asked.call.subject.arguments.get("cursor") if asked.call else None


def _is_named(value: Any, key: str) -> bool:
    return type(value) is dict and type(value.get(key)) is str and bool(value[key])
