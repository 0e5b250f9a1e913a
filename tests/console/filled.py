"""Memories for the pages to show, and what hostile people would put into them."""

from typing import Any

from nacre.being.memory.model.message_chain import ChatMessage
from nacre.being.memory.model.types import Node
from tests.being.memory.keeping import scene_draft
from tests.console.conftest import Desk

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
