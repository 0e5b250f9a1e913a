"""Memories for the pages to show, and what hostile people would put into them."""

from datetime import UTC, datetime
from typing import Any

from nacre.being.memory.conversations.captured_message import CapturedMessage
from nacre.being.memory.model.message_chain import ChatMessage
from nacre.being.memory.model.types import Node
from tests.being.memory.keeping import scene_draft
from tests.console.conftest import Desk

_CAPTURED_AT = datetime(2026, 7, 1, 9, tzinfo=UTC)
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</textarea><svg/onload=alert(1)>",
    "</title></style><script src=//evil.example></script>",
    "javascript:alert(1)",
    "{{ 73*73 }}{% for x in y %}",
    "&lt;b&gt; &amp;#x3c;script&amp;#x3e;",
    "‮txt.exe ﷽ ​ \u2066",
    "]]><!--",
    "\\u003cscript\\u003e",
)
"""Texts that would run, break out or mislead if a page did not escape them."""


def patrolled(desk: Desk, *actions: str, **fields: Any) -> list[Node]:
    """Let a patrol make memories of these events, and return them in their order."""
    memory, being = desk.own.mind.memory, desk.being
    for first in range(0, len(actions), 20):
        scenes = [scene_draft(action, **fields) for action in actions[first : first + 20]]
        memory.scenes.record(being, scenes)
    desk.own.call("trigger_patrol", messages=[])
    desk.own.work()
    found = {node.action: node for node in memory.nodes.page(being).nodes}
    return [found[action] for action in actions]


def conversed(desk: Desk, *texts: str) -> None:
    """Store a conversation."""
    roles = ("user", "assistant")
    said = [ChatMessage(roles[place % 2], text) for place, text in enumerate(texts)]
    desk.own.mind.memory.history.add(desk.being, said)


def captured(desk: Desk, *texts: str) -> list[str]:
    """Capture each text in a conversation of a project with that name; return their ids."""
    desk.own.mind.captured.keep(
        desk.being,
        [
            CapturedMessage(
                client=text[:200],
                session="s1",
                role="user",
                text=text,
                at=_CAPTURED_AT,
                project=text,
            )
            for text in texts
            if text.strip()
        ],
    )
    return [
        entry.conversation_id
        for entry in desk.own.mind.captured.conversations(desk.being).conversations
    ]
