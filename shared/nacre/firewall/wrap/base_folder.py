"""Where a server's relative paths begin, as far as its command line shows."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePosixPath, PureWindowsPath

from nacre.firewall.rules.arguments.base_folders import NONE
from nacre.firewall.rules.arguments.readings import normal

# Programs that run a package on this machine. A container or another machine has its own
# folders, and what a shell makes of its arguments is not known: those are left out.
_RUNNERS = re.compile(
    r"(?:npx|npm|pnpm|yarn|bun|bunx|node|deno|uv|uvx|python[0-9.]*|cmd|env)(?:\.exe|\.cmd)?$",
    re.IGNORECASE,
)
_FILESYSTEM = re.compile(
    r"(?:.*[/\\])?(?:@modelcontextprotocol[/\\]server-filesystem(?:@[^/\\]*)?"
    r"(?:[/\\]dist[/\\]index\.js)?|mcp-server-filesystem(?:\.cmd|\.exe)?)",
)
_FOLDERS = frozenset({"--directory", "--cwd", "--root", "--workdir"})
_UNKNOWN = re.compile(r"[$%{]|^~[^/\\]")


@dataclass(frozen=True, slots=True)
class ProposedBase:
    """Folders from which a server resolves relative paths.

    They are `certain` where the server is known to resolve its paths there, and otherwise
    a proposal that its owner has to confirm.
    """

    folders: tuple[str, ...] = ()
    is_certain: bool = False


def proposed_base(line: Sequence[str], cwd: str = "", home: str = "") -> ProposedBase:
    """Return the bases of the server that a command line starts; `cwd` is its entry's, if any."""
    program = re.split(r"[/\\]", line[0])[-1] if line else ""
    is_itself = bool(line) and _FILESYSTEM.fullmatch(line[0]) is not None
    if not is_itself and not _RUNNERS.fullmatch(program):
        return ProposedBase()
    for place, word in enumerate(line):
        if _FILESYSTEM.fullmatch(word):
            # It tries its folders in turn, and each may hold the path.
            folders = [_absolute(each, cwd, home) for each in line[place + 1 :]]
            if folders and all(folders):
                return ProposedBase(tuple(dict.fromkeys(folders)), is_certain=True)
            return ProposedBase()
    named = [after for before, after in pairwise(line) if before in _FOLDERS]
    parted = [word.partition("=") for word in line]
    named += [folder for option, equals, folder in parted if equals and option in _FOLDERS]
    folders = [_absolute(each, cwd, home) for each in named or [cwd]]
    return ProposedBase(tuple(dict.fromkeys(folders)) if all(folders) else ())


def with_certain(
    declared: Sequence[str], proposed: ProposedBase, home: str = ""
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the declared bases with the certain ones joined to them, and which those are.

    An allow has to match under every base, so one that is left out would open what lies below
    it. `none` gives way to them: the server does open files.
    """
    bases = tuple(declared)
    if not bases or not proposed.is_certain:
        return bases, ()
    if bases == (NONE,):
        return proposed.folders, proposed.folders
    known = {_normal(each, home) for each in bases}
    missing = tuple(each for each in proposed.folders if _normal(each, home) not in known)
    return (*bases, *missing), missing


def joined_note(missing: Sequence[str]) -> str:
    """Say which bases were joined to the declared ones, and what that means."""
    return (
        f"its arguments say that relative paths begin at {', '.join(missing)} as well; an allow "
        "has to match from there too"
    )


def _normal(folder: str, home: str) -> str:
    if home and (folder == "~" or folder.startswith(("~/", "~\\"))):
        folder = f"{home}{folder[1:]}"
    return normal(folder.replace("\\", "/"))


def _absolute(folder: str, cwd: str, home: str) -> str:
    """Return a folder as an absolute path; nothing where that is not known."""
    if not folder or folder.startswith("-") or _UNKNOWN.search(folder):
        return ""
    if folder == "~" or folder.startswith(("~/", "~\\")):
        return f"{home}{folder[1:]}" if home else ""
    if _is_absolute(folder):
        return folder
    return f"{cwd.rstrip('/')}/{folder}" if _is_absolute(cwd) and "$" not in cwd else ""


def _is_absolute(folder: str) -> bool:
    return PurePosixPath(folder).is_absolute() or PureWindowsPath(folder).is_absolute()
