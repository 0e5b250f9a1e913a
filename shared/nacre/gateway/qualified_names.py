"""What the tools, prompts and resources of other servers are called here.

A name that fits stays as it is. One that does not gets a digest of what it was, so that it
depends on nothing but itself and no two meet.
"""

import hashlib
import re

from nacre.core.errors import InvalidInputError
from nacre.core.limits import MAX_TOOL_NAME
from nacre.core.own_server_name import OWN, is_own
from nacre.sdk.tool_names import check_server_name

PREFIX = "mcp__"
OWN_SCHEME = "nacre://"  # of our own resources
_LONGEST_SERVER = 48  # leaves room for a tool's name
_UNFIT = re.compile(r"[^A-Za-z0-9_.-]+")
_RUNS = re.compile(r"_{2,}")


def server_name(written: str) -> str:
    """Return the name of a server for rules, the audit and tools; raises InvalidInputError."""
    name = written.strip()
    if not name:
        raise InvalidInputError("a server needs a name")
    try:
        fits = len(name) <= _LONGEST_SERVER and check_server_name(name) == written
    except InvalidInputError:
        fits = False
    if not fits:
        plain = _RUNS.sub("_", _UNFIT.sub("_", name)).strip("_")[: _LONGEST_SERVER - 7].strip("_")
        name = f"{plain or 'server'}_{_digest(written)}"
    if is_own(name) or is_own(written):
        raise InvalidInputError(f"'{OWN}' is this server's own name; choose another one")
    return name


def alias_of(written: str) -> str:
    """Return the name that rules use for a server; the name itself where none can have it."""
    try:
        return server_name(written)
    except InvalidInputError:
        return written


def exposed_name(server: str, name: str) -> str:
    """Return `mcp__{server}__{name}`, at most as long as a tool's name may be."""
    room = MAX_TOOL_NAME - len(PREFIX) - len(server) - 2
    fits = len(name) <= room and _UNFIT.search(name) is None and name != ""
    if not fits:
        plain = _UNFIT.sub("_", name).strip("_")[: room - 7]
        name = f"{plain}_{_digest(name)}" if plain else _digest(name)
    return f"{PREFIX}{server}__{name}"


def server_of(exposed: str) -> str | None:
    """Return the server that a name belongs to by its form, None where no server can be it."""
    if not exposed.startswith(PREFIX):
        return None
    server, separator, _ = exposed[len(PREFIX) :].partition("__")
    return server if separator and not is_own(server) else None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:6]
