"""Names of tools, alone and qualified as `mcp__{server}__{tool}`."""

import re
from typing import NamedTuple

from nacre.core.errors import InvalidInputError
from nacre.core.limits import MAX_TOOL_NAME

_PREFIX = "mcp__"
_TOOL = re.compile(r"[A-Za-z0-9_.-]+")
# A server's name never holds, starts or ends with what separates it from the tool's.
_SERVER = re.compile(r"[A-Za-z0-9.-]+(_[A-Za-z0-9.-]+)*")


class QualifiedName(NamedTuple):
    """A tool and the server it lives on."""

    server: str
    tool: str


def check_tool_name(name: str) -> str:
    """Return the name of a tool, or raise InvalidInputError with the rules for such names."""
    if len(name) > MAX_TOOL_NAME or not _TOOL.fullmatch(name):
        raise InvalidInputError(
            f"{_shown(name)} is not a tool name: use 1 to {MAX_TOOL_NAME} "
            "letters, digits, '_', '-' or '.' of ASCII"
        )
    return name


def check_server_name(name: str) -> str:
    """Return the name of a server, or raise InvalidInputError with the rules for such names."""
    if len(name) > MAX_TOOL_NAME or not _SERVER.fullmatch(name):
        raise InvalidInputError(
            f"{_shown(name)} is not a server name: use 1 to {MAX_TOOL_NAME} letters, digits, "
            "'-' or '.' of ASCII, with single '_' between them"
        )
    return name


def qualified_name(server: str, tool: str) -> str:
    """Return `mcp__{server}__{tool}`, from which both names can be read again."""
    name = f"{_PREFIX}{check_server_name(server)}__{check_tool_name(tool)}"
    if len(name) > MAX_TOOL_NAME:
        raise InvalidInputError(
            f"{_shown(name)} has {len(name)} characters, at most {MAX_TOOL_NAME} are possible"
        )
    return name


def split_name(name: str) -> QualifiedName:
    """Return the server and the tool of a qualified name."""
    server, separator, tool = name.removeprefix(_PREFIX).partition("__")
    if not name.startswith(_PREFIX) or not separator or not server or not tool:
        raise InvalidInputError(f"{_shown(name)} is not of the form mcp__SERVER__TOOL")
    return QualifiedName(check_server_name(server), check_tool_name(tool))


def _shown(name: str) -> str:
    return repr(name if len(name) <= MAX_TOOL_NAME else f"{name[:MAX_TOOL_NAME]}...")
