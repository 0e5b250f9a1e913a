"""The tools whose results are shown as views: text for the model, and HTML for the view.

Looking at a view does not count as a recall, like browsing the console.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from nacre.being.memory.model.fields import checked_name
from nacre.being.tools.tool_calls import caller, memory_tool
from nacre.console.approvals.inbox import Caller, Case, cases
from nacre.console.map.captions import captions
from nacre.console.map.chart import NO_GROUP, chart
from nacre.console.map.picture import drawn_clusters
from nacre.console.memories.memory_details import memory_view
from nacre.core.errors import ToolError
from nacre.core.lazy_dataclasses import dataclass
from nacre.protocol.context import Context
from nacre.protocol.holder import holder_of
from nacre.sdk.result import TextContent, ToolResult
from nacre.sdk.schema.field import Field
from nacre.sdk.tool import Tool
from nacre.sdk.tool_server import ToolServer
from nacre.web.templates import templates

if TYPE_CHECKING:
    from nacre.being.memory.services import MemoryServices
    from nacre.firewall.approvals.service import Desk
    from nacre.ports.items.table import Table

HTML = "nacre/view"
"""The member of a result's metadata with the HTML for the view; models do not read it."""

_LISTED = 24
_NODES_IN_TEXT = 20


@dataclass(frozen=True, slots=True)
class ViewParts:
    """The parts that views need; `address` returns that of the console, empty if unknown."""

    table: "Callable[[], Table]"
    memory_services: "Callable[[], MemoryServices]"
    approvals: "Callable[[], Desk]"
    address: Callable[[], str]


def view_server(parts: ViewParts) -> ToolServer:
    """Return the server of the tools."""
    server = ToolServer("nacre", "")
    for tool in (_show_map(parts), _show_memory(parts), _show_approvals(parts)):
        server.register_tool(tool.closed())
    return server


def _show_map(parts: ViewParts) -> Tool:
    @memory_tool(name="show_map", read_only=True, idempotent=True)
    async def show_map(
        cluster_id: Annotated[str | None, Field(description="Omit for the whole map")] = None,
        *,
        context: Context,
    ) -> ToolResult:
        """Show the user a map of all memories, or of one cluster, to look around and correct."""
        being_id = caller(context).being_id
        group = None if cluster_id is None else checked_name(cluster_id, "cluster_id")
        drawing = chart(parts.table(), being_id, group=group)
        if group and not drawing.islands:
            raise ToolError("there is no such cluster on the map; its memories may have moved")
        if group == NO_GROUP:
            text = "\n".join(dot.action for dot in drawing.islands[0].dots[:_NODES_IN_TEXT])
        else:
            text = parts.memory_services().queries.browse(
                being_id,
                cluster_id=group,
                limit=_NODES_IN_TEXT,
                counted=False,
                holder=holder_of(context),
            )
        return _result(
            text,
            "map_view.html",
            chart=drawing,
            drawn=drawn_clusters(drawing),
            group=group or "",
            forgotten=False,
            listed=_LISTED,
            captions=captions(drawing),
        )

    return show_map


def _show_memory(parts: ViewParts) -> Tool:
    @memory_tool(name="show_memory", read_only=True, idempotent=True)
    async def show_memory(
        node_id: Annotated[str, Field(description="The memory")], *, context: Context
    ) -> ToolResult:
        """Show the user one memory as a card, with its origin and forms to correct or hide it."""
        principal = caller(context)
        services = parts.memory_services()
        view = memory_view(parts.table(), services, principal.being_id, node_id)
        text = services.queries.browse(
            principal.being_id,
            node_id=node_id,
            limit=0,
            counted=False,
            holder=holder_of(context),
        )
        return _result(
            text,
            "memory_view.html",
            view=view,
            node=view.node,
            being_id=principal.being_id,
            may_write=principal.may_write,
            address=parts.address(),
        )

    return show_memory


def _show_approvals(parts: ViewParts) -> Tool:
    @memory_tool(name="show_approvals", read_only=True, idempotent=True)
    async def show_approvals(context: Context) -> ToolResult:
        """Show the user which calls of this client wait for the owner's approval."""
        subject = caller(context).subject
        # Other clients' calls are not this client's business.
        own = cases(parts.approvals().all(), {subject: Caller("this client", "")}, with_local=False)
        waiting = [case for case in own if case.state == "open"]
        text = "\n".join(map(_case_text, waiting)) or "No calls of this client wait for approval."
        return _result(text, "approvals_view.html", waiting=waiting, address=parts.address())

    return show_approvals


def _case_text(case: Case) -> str:
    return f"{case.name} of {case.server} waits for its owner: {case.why}"


def _result(text: str, name: str, **values: Any) -> ToolResult:
    html = templates().get_template(f"console/views/{name}").render(at=_place, **values)
    return ToolResult((TextContent(text),), meta={HTML: html})


def _place(*parts: str) -> str:
    """Return an address within a view, which its script turns into a call of a tool."""
    return f"#{'/'.join(parts)}"
