"""The names under which tools, prompts and resources of other servers are offered here.

A valid name stays as it is. An invalid one gets a digest of the original, so that it depends on
nothing else and no two names are equal.
"""

import hashlib
import re

from nacre.core.errors import InvalidInputError
from nacre.core.limits import MAX_TOOL_NAME
from nacre.core.own_server_name import OWN, is_own
from nacre.sdk.tool_names import check_server_name

PREFIX = "mcp__"
OWN_SCHEME = "nacre://"  # of this server's resources
OWN_SCHEMES = (OWN_SCHEME, "ui://nacre/")  # of its resources and its views
_MAX_SERVER = 48  # leaves room for a tool's name
_UNFIT = re.compile(r"[^A-Za-z0-9_.-]+")
_RUNS = re.compile(r"_{2,}")


def server_name(given_name: str) -> str:
    """Return the name of a server for rules, the audit and tools; raises InvalidInputError."""
    name = given_name.strip()
    if not name:
        raise InvalidInputError("a server needs a name")
    try:
        fits = len(name) <= _MAX_SERVER and check_server_name(name) == given_name
    except InvalidInputError:
        fits = False
    if not fits:
        plain = _RUNS.sub("_", _UNFIT.sub("_", name)).strip("_")[: _MAX_SERVER - 7].strip("_")
        name = f"{plain or 'server'}_{_digest(given_name)}"
    if is_own(name) or is_own(given_name):
        raise InvalidInputError(f"'{OWN}' is this server's own name; choose another one")
    return name


def alias_of(given_name: str) -> str:
    """Return the name that rules use for a server, or the given name if it is not allowed."""
    try:
        return server_name(given_name)
    except InvalidInputError:
        return given_name


def exposed_name(server: str, name: str) -> str:
    """Return `mcp__{server}__{name}`, at most as long as a tool's name may be."""
    room = MAX_TOOL_NAME - len(PREFIX) - len(server) - 2
    fits = len(name) <= room and _UNFIT.search(name) is None and name != ""
    if not fits:
        plain = _UNFIT.sub("_", name).strip("_")[: room - 7]
        name = f"{plain}_{_digest(name)}" if plain else _digest(name)
    return f"{PREFIX}{server}__{name}"


def server_of(exposed: str) -> str | None:
    """Return the server in an exposed name, None if no other server can have it."""
    if not exposed.startswith(PREFIX):
        return None
    server, separator, _ = exposed[len(PREFIX) :].partition("__")
    return server if separator and not is_own(server) else None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:6]
