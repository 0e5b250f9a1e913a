"""The templates and the static files of pages, without a web framework."""

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from nacre import __version__

if TYPE_CHECKING:
    from nacre.being.memory.model.types import Node, Scene

PAGES = Path(__file__).with_name("pages")
STATIC = PAGES / "static"

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


def static_url(name: str) -> str:
    """Return where a page finds a file of this version."""
    return f"/static/{name}?v={static_files()[name][2]}"


@cache
def static_files() -> Mapping[str, tuple[bytes, str, str]]:
    """Return the static files by name: content, type, and the mark of this content."""
    files = {}
    for path in sorted(STATIC.iterdir()):
        if path.suffix in _TYPES:
            content = path.read_bytes()
            mark = hashlib.sha256(content).hexdigest()[:12]
            files[path.name] = (content, _TYPES[path.suffix], mark)
    return files


def _reported_by(memory: "Node | Scene") -> str:
    """Return the servers that reported a memory, as `reported_by` does."""
    from nacre.being.memory.text.reported import reported_by  # noqa: PLC0415 - as below

    return reported_by(memory)


def _counted(count: int, singular: str, plural: str = "") -> str:
    """Return a count with its noun, as `counted` does, with commas between thousands."""
    # Imported late: the sign-in page does not need it.
    from nacre.being.memory.text.memory_text import counted  # noqa: PLC0415

    return f"{count:,}{counted(count, singular, plural).removeprefix(str(count))}"


def _client_name(client: str) -> str:
    """Return the name of a client that people know."""
    from nacre.being.memory.conversations.client_names import (  # noqa: PLC0415 - as above
        client_name,
    )

    return client_name(client)


@cache
def templates() -> Environment:
    """Return the templates of all pages; each escapes the values that it is given."""
    environment = Environment(
        loader=FileSystemLoader([PAGES, PAGES.parents[1]]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals |= {"static": static_url, "version": __version__, "counted": _counted}
    environment.globals["reported_by"] = _reported_by
    environment.filters["client_name"] = _client_name
    return environment
