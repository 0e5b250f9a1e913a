"""The Being's own server: every tool, resource and prompt, loaded.

A test keeps `lists.json` equal to the lists of this server; run `python -m infra.own_lists` to
write the file again.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from nacre import __version__
from nacre.being.tools.capture_messages import capture_messages
from nacre.being.tools.get_current_time import get_current_time
from nacre.being.tools.memory_resources import add_context_resources, add_memory_prompt
from nacre.being.tools.reading_tools import (
    get_context,
    recall,
    recall_memory,
    search_history,
    search_memory,
)
from nacre.being.tools.trigger_patrol import trigger_patrol
from nacre.being.tools.writing_tools import (
    merge_nodes,
    update_memory,
    update_notes,
    update_relation,
)
from nacre.core.clock import Clock
from nacre.protocol.context import Context
from nacre.sdk.tool_server import ToolServer

if TYPE_CHECKING:
    from nacre.being.memory.services import MemoryServices
    from nacre.being.patrol.trigger import PatrolRequests


def own_server(
    memory: "Callable[[], MemoryServices]",
    clock: Clock,
    *,
    patrols: "Callable[[], PatrolRequests]",
    capabilities: Callable[[Context], list[dict[str, str]]],
) -> ToolServer:
    """Return the server; `being_server` describes the arguments."""
    server = ToolServer("nacre", __version__, title="Nacre")
    for tool in (
        recall(memory),
        get_context(memory, capabilities),
        recall_memory(memory),
        search_memory(memory),
        merge_nodes(memory),
        update_memory(memory),
        update_notes(memory),
        search_history(memory),
        update_relation(memory),
        trigger_patrol(patrols),
        get_current_time(clock),
    ):
        # An argument that is ignored looks to the model like a memory that forgets.
        server.register_tool(tool.closed())
    server.register_tool(capture_messages(memory).closed(), listed=False)
    add_context_resources(server, memory)
    add_memory_prompt(server)
    return server
