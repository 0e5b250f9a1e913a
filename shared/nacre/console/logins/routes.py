"""The page of an owner's logins to other servers, and the browser's way back from them."""

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response

from nacre.console.visits import OwnerForm, OwnerPage, OwnerVisit
from nacre.core.errors import ForbiddenError, InvalidInputError, NotFoundError, UnavailableError
from nacre.firewall.approvals.form import printable
from nacre.gateway.calls.owner_logins import login_server
from nacre.gateway.catalogue.store import StoredCatalogue, ask_again
from nacre.gateway.login.logins import LoginServer
from nacre.gateway.login.registration import client_document
from nacre.gateway.servers.config import ServerConfig
from nacre.web.portal_parts import base_url
from nacre.web.rendering import headers

routes = APIRouter(prefix="/logins")

_BACK = "/logins/callback"
_DOCUMENT = "/logins/client.json"


@routes.get("")
def show_logins(at: OwnerPage) -> Response:
    """Show the servers that the owner can log in to, and their logins."""
    return _page(at, chosen=at.query.get("server", ""))


@routes.post("/begin")
def begin(sent: OwnerForm) -> Response:
    """Begin a login, and send the browser to the server's authorization server."""
    base, name = base_url(sent.request), sent.text("server")
    is_public = base.startswith("https://")
    try:
        begun = sent.control.logins().begin(
            sent.owner.owner,
            _server(sent, name),
            base + _BACK,
            document_url=base + _DOCUMENT if is_public else None,
        )
    except (InvalidInputError, UnavailableError, ForbiddenError, NotFoundError) as error:
        return _page(sent, chosen=name, problem=str(error))
    return RedirectResponse(begun.url, 303, dict(headers(sent.request)))


@routes.get("/callback")
def finish(at: OwnerPage) -> Response:
    """Finish the login of the owner who is signed in, and of nobody else."""
    try:
        server = at.control.logins().finish(at.owner.owner, at.query)
    except (InvalidInputError, UnavailableError, ForbiddenError) as error:
        return _page(at, problem=str(error))
    ask_again(StoredCatalogue(at.control.table), server)
    return at.redirect_to("/logins?said=logged-in")


@routes.post("/end")
def end(sent: OwnerForm) -> Response:
    """Remove a login, and revoke it at its server."""
    name = sent.text("server")
    try:
        sent.control.logins().log_out(sent.owner.owner, _server(sent, name))
    except (InvalidInputError, NotFoundError) as error:
        return _page(sent, chosen=name, problem=str(error))
    ask_again(StoredCatalogue(sent.control.table), name)
    return sent.redirect_to("/logins?said=logged-out")


@routes.get("/client.json")
def document(request: Request) -> Response:
    """Describe this server as an OAuth client, for authorization servers that read it here."""
    base = base_url(request)
    fields = client_document(base + _DOCUMENT, base + _BACK)
    return JSONResponse(dict(fields), 200, {"Cache-Control": "public, max-age=300"})


def _configs(at: OwnerVisit) -> dict[str, ServerConfig]:
    """Return the servers that take a login, by name; the first place with a name keeps it."""
    configs: dict[str, ServerConfig] = {}
    for listed in at.control.servers().values():
        for config in listed.servers:
            if config.takes_login:
                configs.setdefault(config.name, config)
    return configs


def _server(at: OwnerVisit, name: str) -> LoginServer:
    config = _configs(at).get(name)
    if config is None:
        raise NotFoundError("there is no server of this name that takes a login")
    return login_server(config, at.control.references())


def _page(at: OwnerVisit, *, chosen: str = "", problem: str | None = None) -> Response:
    logins = {login.server: login for login in at.control.logins().store.of_owner(at.owner.owner)}
    servers = [
        {"name": name, "where": printable(config.where()), "login": logins.get(name)}
        for name, config in sorted(_configs(at).items(), key=lambda pair: pair[0] != chosen)
    ]
    return at.show("logins/logins.html", here="logins", problem=problem, servers=servers)
