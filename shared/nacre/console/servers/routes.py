"""The pages of other MCP servers and of their tools that wait for review."""

from fastapi import APIRouter
from fastapi.responses import Response

from nacre.console.servers.server_list import offers, pinned, trust
from nacre.console.visits import KeeperForm, KeeperPage, OwnerVisit
from nacre.core.errors import ConflictError, InvalidInputError, NotFoundError
from nacre.firewall.approvals.form import printable

routes = APIRouter(prefix="/servers")

_TOOL = "tool-"


@routes.get("")
def show_servers(at: KeeperPage) -> Response:
    """Show every server that is configured here or used through a proxy."""
    control = at.control
    return at.show(
        "servers/servers.html",
        here="servers",
        offers=offers(control.table(), control.servers(), control.clock()),
        is_laptop=control.is_laptop,
    )


@routes.get("/tools")
def show_tools(at: KeeperPage) -> Response:
    """Show one server's tools, trusted ones and those that wait for review."""
    return _tools(at, at.query.get("server", ""))


@routes.post("/trust")
def trust_tools(sent: KeeperForm) -> Response:
    """Trust tools as they were shown."""
    server = sent.fields.get("server", "")
    reviewed: dict[str, str] = {}
    for name, value in sent.fields.items():
        if name.startswith(_TOOL):
            mark, _, tool = value.partition(" ")
            reviewed[tool] = mark
    try:
        if not reviewed:
            raise InvalidInputError("choose the tools to trust")  # noqa: TRY301 - shown below
        trust(sent.control.table(), server, reviewed)
    except InvalidInputError as error:
        return _tools(sent, server, problem=str(error))
    except (NotFoundError, ConflictError) as error:
        return _tools(sent, server, problem=str(error), status=409)
    return sent.redirect_to("/servers?said=trusted")


def _tools(
    at: OwnerVisit,
    server: str,
    *,
    problem: str | None = None,
    status: int | None = None,
) -> Response:
    tools = pinned(at.control.table(), server)
    return at.show(
        "servers/server_tools.html",
        here="servers",
        status=status,
        problem=problem,
        server=server,
        server_shown=printable(server),
        waiting=[tool for tool in tools if tool.state != "trusted"],
        trusted=[tool for tool in tools if tool.state == "trusted"],
    )
