"""What the tests of the tools that write share: a server over a memory, and its caller."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from nacre.being.merge_nodes import merge_nodes
from nacre.being.search_history import search_history
from nacre.being.trigger_patrol import trigger_patrol
from nacre.being.update_memory import update_memory
from nacre.being.update_notes import update_notes
from nacre.being.update_relation import update_relation
from nacre.errors import InvalidArgumentError
from nacre.protocol.context import Context
from nacre.protocol.principal import FULL, Principal
from nacre.tools.server import ToolServer
from tests.memory.keeping import Keeper


@dataclass(frozen=True)
class Served:
    """The tools of a memory, called as its Being."""

    kept: Keeper
    server: ToolServer
    scopes: frozenset[str] = FULL

    def text(self, tool: str, **arguments: Any) -> str:
        """Return the text of an answer; wrong arguments raise as at a face."""
        problem = self.server.check_arguments(tool, arguments)
        if problem is not None:
            raise InvalidArgumentError(problem)
        principal = Principal("t", being_id=self.kept.id, scopes=self.scopes)
        context = Context(principal=principal)
        answer = asyncio.run(self.server.call_tool(tool, arguments, context))
        assert "isError" not in answer
        [block] = answer["content"]
        text: str = block["text"]
        return text

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return an answer that is JSON."""
        answer: dict[str, Any] = json.loads(self.text(tool, **arguments))
        return answer


def serve(kept: Keeper, scopes: frozenset[str] = FULL) -> Served:
    """Return the tools over a memory."""
    server = ToolServer("test", "1")
    memory = kept.memory
    server.register_tool(update_notes(lambda: memory.noting).closed())
    server.register_tool(update_memory(lambda: memory.updates).closed())
    server.register_tool(update_relation(lambda: memory.relations).closed())
    server.register_tool(merge_nodes(lambda: memory.merges).closed())
    server.register_tool(search_history(lambda: memory.recounting).closed())
    server.register_tool(trigger_patrol(lambda: memory.recounting).closed())
    return Served(kept, server, scopes)


SCENE = {"action": "Ann fed the cat", "actors": ["Ann"], "when": ["2026-07-01"]}
