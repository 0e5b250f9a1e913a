"""Rollouts of Codex (0.20 to 0.120): JSON lines below `~/.codex/sessions`, once a JSON object."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from nacre.being.memory.conversations.captured_message import CapturedMessage
from nacre.being.memory.transfer.transcripts.parts import (
    NOT_A_RECORD,
    ROLES,
    Hints,
    LeftOut,
    joined,
    mapping,
    numbered,
    sequence,
    text_or_none,
    unknown_type,
    without_injected,
)
from nacre.being.memory.transfer.transcripts.times import first_time
from nacre.core.lazy_dataclasses import dataclass, field

CLIENT = "codex"

_ENVELOPES = frozenset(("session_meta", "response_item", "event_msg", "turn_context", "compacted"))
_ITEMS = frozenset(
    (
        "compaction",
        "custom_tool_call",
        "custom_tool_call_output",
        "function_call",
        "function_call_output",
        "ghost_snapshot",
        "image_generation_call",
        "local_shell_call",
        "reasoning",
        "tool_search_call",
        "tool_search_output",
        "web_search_call",
    )
)
_EVENTS = {"user_message": "user", "agent_message": "assistant"}
_TEXTS = ("input_text", "output_text", "text")
# Contexts that the program sends in the role of the person.
_PROGRAM = (
    "<environment_context>",
    "<user_instructions>",
    "<INSTRUCTIONS>",
    "<turn_aborted>",
    "<permissions instructions>",
    "<collaboration_mode>",
    "<skill>",
    "<subagent_notification>",
    "<user_shell_command>",
    "# AGENTS.md instructions",
)
_EARLY_ITEMS = 1000  # held until it is clear whether events repeat them


def recognizes(record: dict[str, object]) -> bool:
    """Return whether a record is of this format."""
    if "payload" in record:
        return record.get("type") in _ENVELOPES or record.get("type") == "world_state"
    return (
        record.get("record_type") == "state"
        or ("instructions" in record and "timestamp" in record and "id" in record)
        or ("session" in record and "items" in record)
    )


@dataclass(slots=True)
class _Session:
    """The facts of a session that its messages do not repeat."""

    session_id: str
    project: str | None
    started: datetime
    is_known: bool = False
    has_events: bool = False
    items: list[CapturedMessage] = field(default_factory=list)

    def describe(self, facts: dict[str, Any]) -> None:
        """Set the session's id, folder and start. In a fork, the facts of its origin come later."""
        if not self.is_known:
            self.session_id = text_or_none(facts.get("id")) or self.session_id
            self.started = first_time(facts.get("timestamp")) or self.started
            self.is_known = True
        self.project = text_or_none(facts.get("cwd")) or self.project

    def message(self, role: object, text: str, at: object, id_: object) -> CapturedMessage | None:
        """Return a message, or None if it is not from the user or the model."""
        text = without_injected(text)
        if str(role) not in ROLES or not text or text.startswith(_PROGRAM):
            return None
        return CapturedMessage(
            client=CLIENT,
            session=self.session_id,
            message_id=text_or_none(id_),
            role=ROLES[str(role)],
            text=text,
            at=first_time(at) or self.started,
            project=self.project,
        )


def read(values: Iterable[object], hints: Hints) -> Iterator[CapturedMessage | LeftOut]:
    """Yield the messages of a session in any of the three forms that rollouts have had.

    Events are preferred to the items that they repeat, as hooks read the events too.
    """
    session = _Session(hints.session, hints.project, hints.changed)
    for number, record in numbered(values):
        if record is None:
            yield LeftOut(number, NOT_A_RECORD)
        elif "items" in record and "session" in record:
            session.describe(mapping(record.get("session")))
            for item in sequence(record.get("items")):
                yield from _item(session, number, mapping(item), None)
        elif "payload" in record:
            yield from _envelope(session, number, record)
        elif "record_type" in record:
            continue
        elif "type" not in record and ("instructions" in record or "git" in record):
            session.describe(record)
        else:
            yield from _item(session, number, record, record.get("timestamp"))
    if not session.has_events:
        yield from session.items


def _envelope(
    session: _Session, number: int, record: dict[str, Any]
) -> Iterator[CapturedMessage | LeftOut]:
    kind, payload = record.get("type"), mapping(record.get("payload"))
    if kind in ("session_meta", "turn_context"):
        session.describe(payload if kind == "session_meta" else {"cwd": payload.get("cwd")})
    elif kind == "response_item":
        yield from _item(session, number, payload, record.get("timestamp"))
    elif kind == "event_msg":
        role = _EVENTS.get(str(payload.get("type")))
        if role is None:
            return
        session.has_events = True
        session.items.clear()
        text = text_or_none(payload.get("message")) or ""
        message = session.message(role, text, record.get("timestamp"), None)
        if message is not None:
            yield message
    elif kind not in _ENVELOPES and kind != "world_state":
        yield LeftOut(number, unknown_type(kind))


def _item(
    session: _Session, number: int, item: dict[str, Any], at: object
) -> Iterator[CapturedMessage | LeftOut]:
    kind = item.get("type", "message")
    if kind != "message":
        if kind not in _ITEMS:
            yield LeftOut(number, unknown_type(kind))
        return
    if session.has_events:
        return
    text = joined(item.get("content"), _TEXTS)
    message = session.message(item.get("role"), text, at, item.get("id"))
    if message is not None:
        session.items.append(message)
    if len(session.items) > _EARLY_ITEMS:
        yield from session.items
        session.items.clear()
