"""Rendering of pages: Jinja templates, static files and a strict content policy."""

from collections.abc import Mapping
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from nacre.web.portal_parts import base_url
from nacre.web.templates import static_files, templates

# No inline script or style, nothing from elsewhere. `form-action` is left out: browsers apply
# it to where a form's answer redirects, which for a consent is the client's own address.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
"""The headers of every page."""


def page(request: Request, name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Render a template; `signed_in` among the values shows the owner's menu."""
    values.setdefault("signed_in", None)
    text = templates().get_template(name).render(values)
    return HTMLResponse(text, status, dict(headers(request)))


def headers(request: Request) -> Mapping[str, str]:
    """Return the headers of a page; over TLS, browsers are told to keep to it."""
    if base_url(request).startswith("https://"):
        return {**HEADERS, "Strict-Transport-Security": "max-age=31536000"}
    return HEADERS


def static_file(name: str, mark: str = "") -> Response:
    """Return a static file; browsers may cache it only under the mark of its content.

    During a deployment an old process may be asked for the files of a new one.
    """
    file = static_files().get(name)
    if file is None:
        return Response(status_code=404)
    content, kind, current_mark = file
    caching = {
        "Cache-Control": "public, max-age=31536000, immutable"
        if mark == current_mark
        else "no-cache",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(content, 200, caching, kind)
