"""Lists that a server gives: recorded, pinned, and without what nobody may call."""

from typing import Any

from nacre.errors import MalformedMessageError, NacreError
from nacre.policy.conversation import Asked, Conversation
from nacre.policy.digests import digest
from nacre.policy.policy import Policy
from nacre.policy.spans import without_elements
from nacre.policy.trust import Trust
from nacre.policy.wire import Wire, parse
from nacre.protocol.headers import annotated

_LIST_OF = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}


class Listing:
    """Looks at the lists of one conversation."""

    def __init__(self, talk: Conversation, trust: Trust) -> None:
        self._talk = talk
        self._trust = trust

    def filtered(self, asked: Asked, wire: Wire) -> bytes:
        """Return the list as the client may see it: the same bytes, or less of them."""
        listed = wire.result.get(_LIST_OF[asked.method])
        if type(listed) is not list:
            raise MalformedMessageError(f"the answer to {asked.method} holds no list")
        if asked.method == "tools/list":
            return self._tools(asked, wire, listed)
        known = digest(listed)
        is_changed = self._talk.seen.setdefault(asked.method, known) != known
        self._talk.seen[asked.method] = known
        self._record(asked.method, {"listed": len(listed), "sha256": known, "changed": is_changed})
        return wire.raw

    def _tools(self, asked: Asked, wire: Wire, listed: list[Any]) -> bytes:
        policy = self._talk.judge.policy()
        sound = [each for each in listed if _is_tool(each)]
        flagged = self._flagged(sound, policy)
        self._keep_schemas(sound)
        refused = self._refused(asked, wire, sound, flagged)
        engine = policy.engine(self._talk.judge.where)
        server = self._talk.judge.server
        self._trust.flag(refused & set(flagged), (each["name"] for each in sound))
        gone = {
            place
            for place, each in enumerate(listed)
            if not _is_tool(each)
            or each["name"] in refused
            or not engine.may_pass("tool", each["name"], server)
        }
        enforces = self._talk.enforces()
        self._record(
            asked.method,
            {
                "listed": len(listed),
                "sha256": digest(listed),
                "removed": len(gone),
                "waiting": sorted(name[:80] for name in refused)[:20],
            },
        )
        if not gone or not enforces:
            return wire.raw
        raw = without_elements(wire.raw, ("result", "tools"), gone)
        kept = [each for place, each in enumerate(listed) if place not in gone]
        if parse(raw)["result"] != {**wire.result, "tools": kept}:
            raise MalformedMessageError("the list cannot be shortened safely")
        return raw

    def _flagged(self, tools: list[Any], policy: Policy) -> dict[str, str]:
        found: dict[str, str] = {}
        for each in tools:
            problem = self._talk.screen.definition(each, policy)
            if problem is not None:
                found[each["name"]] = problem
        return found

    def _refused(
        self, asked: Asked, wire: Wire, tools: list[Any], flagged: dict[str, str]
    ) -> set[str]:
        """Return the names of the tools that wait for their owner."""
        settings = self._talk.judge.policy().settings
        cursor = asked.call.subject.arguments.get("cursor") if asked.call else None
        try:
            pins = self._trust.observe(
                tools,
                flagged,
                is_first_page=cursor is None,
                is_last_page=wire.result.get("nextCursor") is None,
            )
        except NacreError as error:
            self._talk.judge.tell(f"the pins cannot be kept: {error}")
            return {each["name"] for each in tools} if settings.pins == "quarantine" else set()
        if self._talk.pins is None or settings.pins == "off":
            return set(flagged)
        if settings.pins == "record":
            return {name for name in flagged if pins[name].state != "trusted"}
        return {name for name, pin in pins.items() if pin.state != "trusted"}

    def _keep_schemas(self, tools: list[Any]) -> None:
        for each in tools:
            schema = each.get("inputSchema")
            if type(schema) is dict and any(annotated(schema)):
                self._talk.schemas[each["name"]] = schema

    def _record(self, method: str, fields: dict[str, Any]) -> None:
        self._talk.judge.note("note", method, sender="server", fields=fields)


def _is_tool(value: Any) -> bool:
    return type(value) is dict and type(value.get("name")) is str and bool(value["name"])
