"""Rendering of pages: Jinja templates, static files and a strict content policy."""

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from nacre import __version__
from nacre.web.portal_parts import base_url

PAGES = Path(__file__).with_name("pages")
STATIC = PAGES / "static"

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

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


def page(request: Request, name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Render a template; `signed_in` among the values shows the owner's menu."""
    values.setdefault("signed_in", None)
    text = _templates().get_template(name).render(values)
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
    file = _files().get(name)
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


def static_url(name: str) -> str:
    """Return where a page finds a file of this version."""
    return f"/static/{name}?v={_files()[name][2]}"


@cache
def _files() -> Mapping[str, tuple[bytes, str, str]]:
    """Return the files by name: content, type, and the mark of this content."""
    files = {}
    for path in sorted(STATIC.iterdir()):
        if path.suffix in _TYPES:
            content = path.read_bytes()
            mark = hashlib.sha256(content).hexdigest()[:12]
            files[path.name] = (content, _TYPES[path.suffix], mark)
    return files


def _counted(count: int, singular: str, plural: str = "") -> str:
    """Return a count with its noun, as `counted` does, with commas between thousands."""
    # Imported late: the sign-in page does not need it.
    from nacre.being.memory.text.memory_text import counted  # noqa: PLC0415

    return f"{count:,}{counted(count, singular, plural).removeprefix(str(count))}"


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=FileSystemLoader([PAGES, PAGES.parents[1]]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals |= {"static": static_url, "version": __version__, "counted": _counted}
    return environment
