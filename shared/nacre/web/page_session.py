"""Sessions of pages: the cookie, and the check that a form is the owner's own (CSRF)."""

import hmac
import secrets

from fastapi import Depends, Request
from fastapi.responses import Response

from nacre.access.signin.browser_sessions import BrowserSession, NewSession, csrf_of
from nacre.core.errors import ForbiddenError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import FRESH_SIGN_IN_SECONDS, MAX_OWN_FORM_BYTES, SESSION_DAYS
from nacre.web.forms import form_within
from nacre.web.portal_parts import base_url, portal_of

_ASIDE = "sign-in"
_SESSION = "session"
_ASIDE_SECONDS = 3600
_CHANGED = (
    "this form was not sent from one of your pages, or the page is too old; go back, reload it "
    "and send it again"
)


class SignInNeededError(Exception):
    """The page needs a session; `then` is the page to return to after signing in."""

    def __init__(self, then: str) -> None:
        super().__init__("sign in first")
        self.then = then


def signed_in(request: Request) -> BrowserSession | None:
    """Return the session of the request, or None."""
    cookie = request.cookies.get(_cookie_name(request, _SESSION))
    return None if cookie is None else portal_of(request).authority.sessions.find(cookie)


def require_owner(request: Request) -> BrowserSession:
    """Return the session; raises SignInNeededError, which redirects to the sign-in page."""
    session = signed_in(request)
    if session is None:
        path, query = request.url.path, request.url.query
        readable = request.method in ("GET", "HEAD")
        raise SignInNeededError((f"{path}?{query}" if query else path) if readable else "/")
    return session


@dataclass(frozen=True, slots=True)
class OwnForm:
    """A form that the owner sent: the session and the fields."""

    signed_in: BrowserSession
    fields: dict[str, str]


async def require_form(request: Request, owner: BrowserSession = Depends(require_owner)) -> OwnForm:  # noqa: B008
    """Return the form of the owner who is signed in; raises ForbiddenError for anyone else's.

    The form carries `csrf`, or the request the header X-CSRF-Token, from a page of the session.
    """
    check_origin(request)
    fields = await form_within(request, MAX_OWN_FORM_BYTES)
    sent = request.headers.get("x-csrf-token") or fields.pop("csrf", "")
    fields.pop("csrf", None)
    if not _same(sent, owner.csrf):
        raise ForbiddenError(_CHANGED)
    return OwnForm(owner, fields)


def require_fresh_form(request: Request, form: OwnForm = Depends(require_form)) -> OwnForm:  # noqa: B008
    """Return the form of an owner who signed in recently; raises ForbiddenError otherwise."""
    if not portal_of(request).authority.sessions.is_fresh(form.signed_in):
        raise ForbiddenError(
            f"you signed in more than {FRESH_SIGN_IN_SECONDS // 60} minutes ago; sign in again on "
            "the page Account to change how you sign in"
        )
    return form


def check_origin(request: Request) -> None:
    """Raise ForbiddenError for a request that a page of another origin has sent.

    Our pages have no referrer, so a browser sends the origin `null` for them; the header
    Sec-Fetch-Site then decides. The form's CSRF text is checked in any case.
    """
    site = request.headers.get("sec-fetch-site", "same-origin")
    origin = request.headers.get("origin", "null")
    if site not in ("same-origin", "none") or origin.lower() not in ("null", base_url(request)):
        raise ForbiddenError("this web origin may not send forms here")


def keep_session(request: Request, answer: Response, opened: NewSession) -> None:
    """Set the session cookie."""
    _set(request, answer, _SESSION, opened.cookie, SESSION_DAYS * 86_400)
    _set(request, answer, _ASIDE, "", 0)


def drop_session(request: Request, answer: Response) -> None:
    """Remove the session cookie."""
    _set(request, answer, _SESSION, "", 0)


def aside_secret(request: Request) -> str:
    """Return the secret of a browser without a session, or a new one."""
    secret = request.cookies.get(_cookie_name(request, _ASIDE), "")
    return secret if 20 <= len(secret) <= 100 else secrets.token_urlsafe(32)


def keep_aside(request: Request, answer: Response, secret: str) -> None:
    """Set the cookie that binds the sign-in form to the browser."""
    _set(request, answer, _ASIDE, secret, _ASIDE_SECONDS)


def check_aside(request: Request, sent: str) -> None:
    """Raise ForbiddenError unless the sign-in form is this browser's own."""
    secret = request.cookies.get(_cookie_name(request, _ASIDE), "")
    if not secret or not _same(sent, csrf_of(secret)):
        raise ForbiddenError(_CHANGED)


def own_path(path: str) -> str:
    """Return the path if it is one of ours, else the path of the first page."""
    plain = path.isascii() and path.isprintable() and "\\" not in path and len(path) <= 8000
    return path if plain and path.startswith("/") and not path.startswith("//") else "/"


def _same(sent: str, expected: str) -> bool:
    return hmac.compare_digest(sent.encode("utf-8", "surrogatepass"), expected.encode())


def _set(request: Request, answer: Response, name: str, value: str, seconds: int) -> None:
    answer.set_cookie(
        _cookie_name(request, name),
        value,
        max_age=seconds,
        path="/",
        secure=_is_secure(request),
        httponly=True,
        samesite="lax",
    )


def _is_secure(request: Request) -> bool:
    return base_url(request).startswith("https://")


def _cookie_name(request: Request, name: str) -> str:
    """Return the cookie's name: bound to the host over TLS, else to the port.

    Cookies of one host are shared among its ports, and two servers may run on one machine.
    """
    if _is_secure(request):
        return f"__Host-nacre-{name}"
    return f"nacre-{request.url.port or 80}-{name}"
