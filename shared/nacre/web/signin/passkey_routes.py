"""Routes of passkeys: challenges for the page's script, and the forms that it sends."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse, Response

from nacre.access.signin.cose import ALGORITHMS
from nacre.access.signin.passkeys import PasskeySignature, user_handle
from nacre.access.signin.webauthn import Site
from nacre.core.errors import ConflictError, InvalidInputError
from nacre.core.limits import PASSKEY_CHALLENGE_SECONDS
from nacre.web.forms import read_form
from nacre.web.page_session import (
    OwnForm,
    aside_secret,
    check_aside,
    check_origin,
    own_path,
    require_fresh_form,
)
from nacre.web.portal_parts import caller_address, portal_of
from nacre.web.rendering import headers
from nacre.web.signin.passkey_site import require_passkey_site
from nacre.web.signin.routes import account_page, enter, redirect, sign_in_page

routes = APIRouter()

FreshForm = Annotated[OwnForm, Depends(require_fresh_form)]
Fields = Annotated[dict[str, str], Depends(read_form)]
SiteHere = Annotated[Site, Depends(require_passkey_site)]
_MILLISECONDS = PASSKEY_CHALLENGE_SECONDS * 1000
_GONE = "This passkey's owner is unknown here."


@routes.post("/sign-in/passkey/challenge")
def ask_to_sign_in(request: Request, fields: Fields, site: SiteHere) -> Response:
    """Return the options with which the browser asks for a passkey to sign in."""
    check_origin(request)
    check_aside(request, fields.get("csrf", ""))
    challenge = portal_of(request).authority.sign_in.ask_passkey(
        "sign-in", browser=aside_secret(request), address=caller_address(request)
    )
    options = {
        "challenge": challenge,
        "rpId": site.host,
        "userVerification": "required",
        "timeout": _MILLISECONDS,
    }
    return _json(request, options)


@routes.post("/sign-in/passkey")
def sign_in_by_passkey(request: Request, fields: Fields, site: SiteHere) -> Response:
    """Open a session for the owner of a passkey."""
    check_origin(request)
    check_aside(request, fields.get("csrf", ""))
    then = own_path(fields.get("then", "/"))
    names = ("credential", "client_data", "data", "signature", "user")
    signature = PasskeySignature(*(fields.get(name, "") for name in names))
    try:
        owner = portal_of(request).authority.sign_in.by_passkey(
            signature, browser=aside_secret(request), address=caller_address(request), site=site
        )
        problem = _GONE
    except InvalidInputError as error:
        owner, problem = None, _sentence(error)
    if owner is None:
        portal_of(request).log.write("warning", "sign-in", outcome="refused")
        return sign_in_page(request, then, problem=problem, status=401)
    return enter(request, owner, then)


@routes.post("/account/passkeys/challenge")
def ask_to_add(request: Request, form: FreshForm, site: SiteHere) -> Response:
    """Return the options with which the browser creates a passkey."""
    ways, owner = portal_of(request).authority.sign_in, form.signed_in
    challenge = ways.ask_passkey("add", browser=owner.session, address=caller_address(request))
    options = {
        "challenge": challenge,
        "rp": {"id": site.host, "name": "Nacre"},
        "user": {"id": user_handle(owner.owner), "name": owner.owner, "displayName": owner.owner},
        "pubKeyCredParams": [{"type": "public-key", "alg": algorithm} for algorithm in ALGORITHMS],
        "authenticatorSelection": {"residentKey": "required", "userVerification": "required"},
        "excludeCredentials": [
            {"type": "public-key", "id": passkey.credential}
            for passkey in ways.passkeys.of_owner(owner.owner)
        ],
        "attestation": "none",
        "timeout": _MILLISECONDS,
    }
    return _json(request, options)


@routes.post("/account/passkeys")
def add_passkey(request: Request, form: FreshForm, site: SiteHere) -> Response:
    """Store a passkey that the browser has just created."""
    owner, fields = form.signed_in, form.fields
    try:
        portal_of(request).authority.sign_in.passkeys.add(
            owner.owner,
            fields.get("name", ""),
            fields.get("client_data", ""),
            fields.get("attestation", ""),
            browser=owner.session,
            site=site,
        )
    except (InvalidInputError, ConflictError) as error:
        return account_page(request, owner, problem=_sentence(error), status=400)
    return redirect(request, "/account")


@routes.post("/account/passkeys/remove")
def remove_passkey(request: Request, form: FreshForm) -> Response:
    """Remove one passkey and end the owner's other sessions."""
    authority, owner = portal_of(request).authority, form.signed_in
    authority.sign_in.passkeys.remove(owner.owner, form.fields.get("passkey", ""))
    authority.sessions.close_all(owner.owner, but=owner.session)
    return redirect(request, "/account")


def _json(request: Request, value: dict[str, Any]) -> Response:
    return JSONResponse(value, 200, dict(headers(request)))


def _sentence(error: Exception) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."
