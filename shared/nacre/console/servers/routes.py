"""The pages of other MCP servers and of their tools that wait for review."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from nacre.access.signin.browser_sessions import BrowserSession
from nacre.console.control_access import Keeper, KeepersForm, control_of
from nacre.console.frame import show_owner
from nacre.console.servers.server_list import offers, pinned, trust
from nacre.core.errors import ConflictError, InvalidInputError, NotFoundError
from nacre.firewall.approvals.form import printable
from nacre.web.forms import query_fields
from nacre.web.signin.routes import redirect

routes = APIRouter(prefix="/servers")

_TOOL = "tool-"


@routes.get("")
def show_servers(request: Request, owner: Keeper) -> Response:
    """Show every server that is configured here or used through a proxy."""
    control = control_of(request)
    return show_owner(
        request,
        owner,
        "servers/servers.html",
        here="servers",
        offers=offers(control.table(), control.servers()),
        is_laptop=control.is_laptop,
    )


@routes.get("/tools")
def show_tools(request: Request, owner: Keeper) -> Response:
    """Show one server's tools, trusted ones and those that wait for review."""
    return _tools(request, owner, query_fields(request).get("server", ""))


@routes.post("/trust")
def trust_tools(request: Request, form: KeepersForm) -> Response:
    """Trust tools as they were shown."""
    server = form.fields.get("server", "")
    reviewed: dict[str, str] = {}
    for name, value in form.fields.items():
        if name.startswith(_TOOL):
            mark, _, tool = value.partition(" ")
            reviewed[tool] = mark
    try:
        if not reviewed:
            raise InvalidInputError("choose the tools to trust")  # noqa: TRY301 - shown below
        trust(control_of(request).table(), server, reviewed)
    except InvalidInputError as error:
        return _tools(request, form.signed_in, server, problem=str(error))
    except (NotFoundError, ConflictError) as error:
        return _tools(request, form.signed_in, server, problem=str(error), status=409)
    return redirect(request, "/servers?said=trusted")


def _tools(
    request: Request,
    owner: BrowserSession,
    server: str,
    *,
    problem: str | None = None,
    status: int | None = None,
) -> Response:
    tools = pinned(control_of(request).table(), server)
    return show_owner(
        request,
        owner,
        "servers/server_tools.html",
        here="servers",
        status=status,
        problem=problem,
        server=server,
        server_shown=printable(server),
        waiting=[tool for tool in tools if tool.state != "trusted"],
        trusted=[tool for tool in tools if tool.state == "trusted"],
    )
