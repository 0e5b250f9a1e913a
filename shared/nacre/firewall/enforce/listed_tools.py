"""Lists of a server: recorded, compared with the pins, and without forbidden items."""

from collections.abc import Mapping
from typing import Any

from nacre.core.errors import MalformedMessageError
from nacre.firewall.content.digests import digest
from nacre.firewall.enforce.conversation import Conversation, OpenRequest
from nacre.firewall.enforce.json_edits import rewritten, without_elements
from nacre.firewall.enforce.message import Wire, parse
from nacre.firewall.enforce.pin_check import PinCheck
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
"""For each method: the member with the list, the kind of its items, and the key of their names."""


class ListFilter:
    """Filters the lists of one conversation."""

    def __init__(self, conversation: Conversation, pin_check: PinCheck) -> None:
        self._conversation = conversation
        self._pin_check = pin_check

    def filtered(self, request: OpenRequest, wire: Wire) -> bytes:
        """Return the list without the items that the client may not use."""
        member, kind, key = LIST_OF[request.method]
        listed = wire.result.get(member)
        if type(listed) is not list:
            raise MalformedMessageError(f"the answer to {request.method} holds no list")
        policy = self._conversation.judge.policy()
        named = [item for item in listed if _is_named(item, key)]
        flagged = self._flagged(named, key, policy)
        if kind == "tool":
            self._keep_schemas(named)
        refused = self._pin_check.refused(
            kind,
            named,
            flagged,
            is_first_page=cursor_of(request) is None,
            is_last_page=wire.result.get("nextCursor") is None,
        )
        gone = {
            place
            for place, item in enumerate(listed)
            if not _is_named(item, key)
            or item[key] in refused
            or (kind == "tool" and not self._may_be_called(item["name"], policy))
        }
        digest_of_list = digest(listed)
        is_changed = (
            self._conversation.seen.setdefault(request.method, digest_of_list) != digest_of_list
        )
        self._conversation.seen[request.method] = digest_of_list
        self._record(
            request.method,
            {
                "listed": len(listed),
                "sha256": digest_of_list,
                "changed": is_changed,
                "removed": len(gone),
                "waiting": sorted(refused)[:20],
            },
        )
        if not self._conversation.enforces():
            return wire.raw
        raw = wire.raw
        remaining = [item for place, item in enumerate(listed) if place not in gone]
        if gone:
            raw = without_elements(raw, ("result", member), gone)
            if parse(raw)["result"] != {**wire.result, member: remaining}:
                raise MalformedMessageError("the list cannot be shortened safely")
        return self._described(
            request.method, member, {**wire.result, member: remaining}, raw, policy
        )

    def opening(self, request: OpenRequest, wire: Wire) -> bytes:
        """Return a server's introduction, without instructions that wait for its owner."""
        policy = self._conversation.judge.policy()
        text = wire.result.get(INSTRUCTIONS)
        instructions = [{INSTRUCTIONS: text}] if type(text) is str and text else []
        problem = (
            self._conversation.screen.definition(instructions[0], policy) if instructions else None
        )
        flagged = {} if problem is None else {INSTRUCTIONS: problem}
        waits = self._pin_check.refused("instructions", instructions, flagged)
        # Instructions that are not a text are checked with the other members.
        others = {
            name: value
            for name, value in wire.result.items()
            if not instructions or name != INSTRUCTIONS
        }
        screened = self._conversation.screen.described(others, request.method, policy)
        if screened.objection is not None:
            raise MalformedMessageError(screened.objection)
        if screened.note is not None or waits:
            note = "the server's instructions wait for its owner" if waits else None
            notes = "; ".join(text for text in (note, screened.note) if text)
            self._conversation.judge.note("note", request.method, sender="server", note=notes)
        secrets = self._conversation.screen.listed(
            {INSTRUCTIONS: text} if instructions and not waits else {}, policy
        )
        if not self._conversation.enforces():
            return wire.raw
        if screened.value is others and not waits and secrets.note is None:
            return wire.raw
        return rewritten(wire.raw, ("result",), {**screened.value, **secrets.value})

    def _described(
        self, method: str, member: str, result: dict[str, Any], raw: bytes, policy: Policy
    ) -> bytes:
        """Return the list without secrets in it, and without instructions around it."""
        items = {member: result[member]}
        secrets = self._conversation.screen.listed(items, policy)
        others = {name: value for name, value in result.items() if name != member}
        around = self._conversation.screen.described(others, method, policy)
        for screened in (secrets, around):
            if screened.objection is not None:
                raise MalformedMessageError(screened.objection)
            if screened.note is not None:
                self._conversation.judge.note("note", method, sender="server", note=screened.note)
        if secrets.value is items and around.value is others:
            return raw
        return rewritten(raw, ("result",), {**around.value, **secrets.value})

    def _may_be_called(self, tool: str, policy: Policy) -> bool:
        engine = policy.engine(self._conversation.judge.where)
        return engine.may_pass("tool", tool, self._conversation.judge.server)

    def _flagged(self, items: list[Any], key: str, policy: Policy) -> dict[str, str]:
        problems: dict[str, str] = {}
        for item in items:
            problem = self._conversation.screen.definition(item, policy)
            if problem is not None:
                problems[item[key]] = problem
        return problems

    def _keep_schemas(self, tools: list[Any]) -> None:
        for tool in tools:
            schema = tool.get("inputSchema")
            self._conversation.paths[tool["name"]] = path_arguments(schema)
            if type(schema) is dict and any(annotated(schema)):
                self._conversation.schemas[tool["name"]] = schema

    def _record(self, method: str, fields: dict[str, Any]) -> None:
        self._conversation.judge.note("note", method, sender="server", fields=fields)


def cursor_of(request: OpenRequest) -> Any:
    """Return the cursor of a list request; None for the first page."""
    return request.call.subject.arguments.get("cursor") if request.call else None


def _is_named(value: Any, key: str) -> bool:
    return type(value) is dict and type(value.get(key)) is str and bool(value[key])
