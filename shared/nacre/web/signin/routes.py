"""The pages to sign in and out, and to manage passwords, passkeys and sessions."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response

from nacre.access.signin.browser_sessions import BrowserSession, csrf_of
from nacre.core.errors import InvalidInputError, NotFoundError
from nacre.core.limits import FRESH_SIGN_IN_SECONDS
from nacre.web.forms import query_fields, read_form
from nacre.web.page_session import (
    OwnForm,
    aside_secret,
    check_aside,
    check_origin,
    drop_session,
    keep_aside,
    keep_session,
    own_path,
    require_form,
    require_fresh_form,
    require_owner,
    signed_in,
)
from nacre.web.portal_parts import caller_address, portal_of
from nacre.web.rendering import headers, page
from nacre.web.signin.passkey_site import passkey_site

routes = APIRouter()

_NO_LINK = (
    "This link is not valid: it was used, is older than an hour, or is incomplete. "
    "Create a new one."
)
_NO_PASSWORD = "The name or the password is wrong."  # noqa: S105  a message
Owner = Annotated[BrowserSession, Depends(require_owner)]
Form = Annotated[OwnForm, Depends(require_form)]
FreshForm = Annotated[OwnForm, Depends(require_fresh_form)]


@routes.get("/sign-in")
def show_sign_in(request: Request) -> Response:
    """Show the sign-in page, or redirect an owner who has signed in already."""
    then = own_path(query_fields(request).get("then", "/"))
    if signed_in(request) is not None:
        # The secret of a link follows the #, which a browser keeps unless the redirect has another.
        return redirect(request, then if "#" in then else f"{then}#")
    return sign_in_page(request, then)


@routes.post("/sign-in")
def sign_in(request: Request, form: Annotated[dict[str, str], Depends(read_form)]) -> Response:
    """Open a session for a sign-in link or a password."""
    check_origin(request)
    check_aside(request, form.get("csrf", ""))
    then = own_path(form.get("then", "/"))
    ways = portal_of(request).authority.sign_in
    address = caller_address(request)
    if "secret" in form:
        # The part after the # of a link, or the secret alone.
        secret = form["secret"].strip().rpartition("#")[2]
        owner, problem = ways.by_link(secret, address=address), _NO_LINK
    else:
        name, password = form.get("owner", "").strip(), form.get("password", "")
        owner, problem = ways.by_password(name, password, address=address), _NO_PASSWORD
    if owner is None:
        portal_of(request).log.write("warning", "sign-in", outcome="refused")
        return sign_in_page(request, then, problem=problem, status=401)
    return enter(request, owner, then)


@routes.post("/sign-out")
def sign_out(request: Request, form: Form) -> Response:
    """End this session, or all of the owner's; `then` is the page to sign in for again."""
    sessions = portal_of(request).authority.sessions
    if form.fields.get("everywhere"):
        sessions.close_all(form.signed_in.owner)
    sessions.close(form.signed_in.session)
    then = form.fields.get("then")
    path = "/sign-in" if then is None else f"/sign-in?then={quote(own_path(then), safe='')}"
    answer = redirect(request, path)
    drop_session(request, answer)
    return answer


@routes.get("/account")
def show_account(request: Request, owner: Owner) -> Response:
    """Show how the owner signs in, and their sessions."""
    return account_page(request, owner)


@routes.post("/account/password")
def set_password(request: Request, form: FreshForm) -> Response:
    """Set, change or remove the password, and end the owner's other sessions."""
    authority, owner = portal_of(request).authority, form.signed_in
    passwords = authority.sign_in.passwords
    if form.fields.get("remove"):
        passwords.remove(owner.owner)
    else:
        password = form.fields.get("password", "")
        if password != form.fields.get("again", ""):
            return account_page(
                request, owner, problem="The two passwords do not match.", status=400
            )
        try:
            passwords.set(owner.owner, password)
        except InvalidInputError as error:
            return account_page(request, owner, problem=f"{error}.", status=400)
    authority.sessions.close_all(owner.owner, but=owner.session)
    return redirect(request, "/account")


@routes.post("/account/sessions/end")
def end_session(request: Request, form: Form) -> Response:
    """End one of the owner's sessions."""
    sessions = portal_of(request).authority.sessions
    session = form.fields.get("session", "")
    if session not in {
        open_session.session for open_session in sessions.of_owner(form.signed_in.owner)
    }:
        raise NotFoundError("that session has ended already")
    sessions.close(session)
    return redirect(request, "/account")


def enter(request: Request, owner: str, then: str) -> Response:
    """Open a session for an owner who has signed in, and redirect to a page."""
    opened = portal_of(request).authority.sessions.open(
        owner, browser=request.headers.get("user-agent", "")
    )
    portal_of(request).log.write("info", "sign-in", outcome="opened", owner=owner)
    answer = redirect(request, then)
    keep_session(request, answer, opened)
    return answer


def redirect(request: Request, path: str) -> RedirectResponse:
    """Return a redirect to a path."""
    return RedirectResponse(path, 303, dict(headers(request)))


def sign_in_page(
    request: Request, then: str, *, problem: str | None = None, status: int = 200
) -> Response:
    """Show the sign-in page, with the problem of the last attempt."""
    secret = aside_secret(request)
    answer = page(
        request,
        "sign_in.html",
        status=status,
        csrf=csrf_of(secret),
        then=then,
        problem=problem,
        command=portal_of(request).link_command,
        takes_passkeys=passkey_site(request) is not None,
    )
    keep_aside(request, answer, secret)
    return answer


def account_page(
    request: Request, owner: BrowserSession, *, problem: str | None = None, status: int = 200
) -> Response:
    """Show the owner's account, with the problem of the last form."""
    authority = portal_of(request).authority
    return page(
        request,
        "account.html",
        status=status,
        signed_in=owner,
        has_password=authority.sign_in.passwords.has(owner.owner),
        passkeys=authority.sign_in.passkeys.of_owner(owner.owner),
        takes_passkeys=passkey_site(request) is not None,
        sessions=authority.sessions.of_owner(owner.owner),
        is_fresh=authority.sessions.is_fresh(owner),
        minutes=FRESH_SIGN_IN_SECONDS // 60,
        problem=problem,
    )
