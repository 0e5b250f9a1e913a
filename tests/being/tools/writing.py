"""What the tests of the tools that write share: a mind, called for texts and for JSON."""

import json
from dataclasses import dataclass
from typing import Any

from nacre.being.memory.repositories import Repositories
from nacre.ports.queue import Queue
from nacre.sdk.tool_server import ToolServer
from tests.being.memory.minds import Minded


@dataclass(frozen=True)
class Served:
    """The tools of a mind, called as its Being."""

    mind: Minded

    @property
    def being_id(self) -> str:
        return self.mind.being_id

    @property
    def memory(self) -> Repositories:
        return self.mind.mind.memory

    @property
    def queue(self) -> Queue:
        return self.mind.queue

    @property
    def server(self) -> ToolServer:
        return self.mind.server

    def text(self, tool: str, *, read_only: bool = False, **arguments: Any) -> str:
        """Return the text of an answer; wrong arguments raise RefusedError."""
        [block] = self.mind.call(tool, read_only=read_only, **arguments)["content"]
        text: str = block["text"]
        return text

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return an answer that is JSON."""
        answer: dict[str, Any] = json.loads(self.text(tool, **arguments))
        return answer


SCENE = {"action": "Ann fed the cat", "actors": ["Ann"], "when": ["2026-07-01"]}
