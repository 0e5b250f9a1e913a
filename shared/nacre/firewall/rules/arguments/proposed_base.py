"""The base folders of a server's relative paths, as far as its command line shows them."""

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import PurePosixPath, PureWindowsPath

from nacre.core.lazy_dataclasses import dataclass
from nacre.firewall.rules.arguments.base_folders import NONE
from nacre.firewall.rules.arguments.readings import normal

# Programs that run a package on this machine. Containers and other machines have their own
# folders, and a shell may change its arguments, so those are left out.
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

    They are certain if the server is known to resolve its paths there. Otherwise they are a
    proposal that its owner has to confirm.
    """

    folders: tuple[str, ...] = ()
    is_certain: bool = False


def proposed_base(line: Sequence[str], cwd: str = "", home: str = "") -> ProposedBase:
    """Return the bases of the server that a command line starts; `cwd` is its entry's, if any."""
    program = re.split(r"[/\\]", line[0])[-1] if line else ""
    is_itself = bool(line) and _FILESYSTEM.fullmatch(line[0]) is not None
    if not is_itself and not _RUNNERS.fullmatch(program):
        return ProposedBase()
    for position, argument in enumerate(line):
        if _FILESYSTEM.fullmatch(argument):
            # It tries all its folders, and any of them may hold the path.
            folders = [_absolute(folder, cwd, home) for folder in line[position + 1 :]]
            if folders and all(folders):
                return ProposedBase(tuple(dict.fromkeys(folders)), is_certain=True)
            return ProposedBase()
    named = [after for before, after in pairwise(line) if before in _FOLDERS]
    pairs = [argument.partition("=") for argument in line]
    named += [folder for option, equals, folder in pairs if equals and option in _FOLDERS]
    folders = [_absolute(folder, cwd, home) for folder in named or [cwd]]
    return ProposedBase(tuple(dict.fromkeys(folders)) if all(folders) else ())


def with_certain(
    declared: Sequence[str], proposed: ProposedBase, home: str = ""
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the declared bases with the certain ones added, and the added ones alone.

    An allow has to match under every base, so a missing base would allow too much below it.
    Certain bases replace `none`, because the server does open files.
    """
    bases = tuple(declared)
    if not bases or not proposed.is_certain:
        return bases, ()
    if bases == (NONE,):
        return proposed.folders, proposed.folders
    present = {_normal(base, home) for base in bases}
    missing = tuple(base for base in proposed.folders if _normal(base, home) not in present)
    return (*bases, *missing), missing


def joined_note(missing: Sequence[str]) -> str:
    """Return a note about the bases that were added to the declared ones."""
    return (
        f"its arguments say that relative paths begin at {', '.join(missing)} as well; an allow "
        "has to match from there too"
    )


def _normal(folder: str, home: str) -> str:
    if home and (folder == "~" or folder.startswith(("~/", "~\\"))):
        folder = f"{home}{folder[1:]}"
    return normal(folder.replace("\\", "/"))


def _absolute(folder: str, cwd: str, home: str) -> str:
    """Return a folder as an absolute path, or an empty text if it is not known."""
    if not folder or folder.startswith("-") or _UNKNOWN.search(folder):
        return ""
    if folder == "~" or folder.startswith(("~/", "~\\")):
        return f"{home}{folder[1:]}" if home else ""
    if _is_absolute(folder):
        return folder
    return f"{cwd.rstrip('/')}/{folder}" if _is_absolute(cwd) and "$" not in cwd else ""


def _is_absolute(folder: str) -> bool:
    return PurePosixPath(folder).is_absolute() or PureWindowsPath(folder).is_absolute()
