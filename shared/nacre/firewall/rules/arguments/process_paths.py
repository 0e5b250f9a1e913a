"""Paths that lead through a process, such as `/proc/self/cwd/x` or `/dev/fd/3/x`.

Only the process that opens such a path knows its target. From this process it has another
target, so nothing after the link is resolved.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

_MAX_LINKS = 40  # what Linux follows in one path
_THROUGH = re.compile(
    r"""
    /(?: proc/(?:self|thread-self|\d+) (?:/task/\d+)* /(?:cwd|root|exe|(?:fd|map_files)/NAME)
       | dev/(?:fd/NAME|stdin|stdout|stderr)
       | \.vol/NAME/NAME   # on macOS: a volume and the number of a file
    )(?:/+(?P<rest>.*))?
    """.replace("NAME", r"(?!\.\.?(?:/|$))[^/]+"),
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_OF_A_PROCESS = re.compile(r"/proc/(?:self|thread-self)", re.IGNORECASE)
# Links that exist on every Linux system, so they hold for other machines too.
_LINKS = {
    "/dev/fd": "/proc/self/fd",
    "/dev/stdin": "/proc/self/fd/0",
    "/dev/stdout": "/proc/self/fd/1",
    "/dev/stderr": "/proc/self/fd/2",
    "/proc/net": "self/net",
}
_OCTAL = re.compile(r"\\([0-7]{3})")


def rest_of(place: str) -> str | None:
    """Return the part of a path after the link of a process, or None without such a link."""
    # Nearly every path is ruled out by its first letters.
    if place[:1] != "/" or place[1:2] not in "pPdD.":
        return None
    through = _THROUGH.fullmatch(place)
    return None if through is None else through["rest"] or ""


def without_links(place: str) -> str:
    """Return an absolute path after following the links that every Linux system has."""
    return _walked(place, _no_link, ())


def resolved(place: str) -> str:
    """Return an absolute path after following its links, up to the first link of a process.

    Raise OSError if the links form a loop.
    """
    return _walked(place, _link, _process_mounts())


def _walked(place: str, readlink: Callable[[str], str], mounts: tuple[str, ...]) -> str:
    path, waiting, links = "", place.split("/")[::-1], 0
    while waiting:
        name = waiting.pop()
        if name in ("", "."):
            continue
        if name == "..":
            path = path.rpartition("/")[0]
            continue
        path = f"{path}/{name}"
        inside = _as_proc(path, mounts)
        if rest_of(inside) is not None:
            return "/".join([inside, *waiting[::-1]])
        if _OF_A_PROCESS.fullmatch(inside):
            continue  # its target is the process that reads it
        target = _LINKS.get(inside)
        if target is None:
            try:
                target = readlink(path)
            except (OSError, ValueError):  # not a link, or not there
                continue
        links += 1
        if links > _MAX_LINKS:
            raise OSError("too many links")
        path = "" if target.startswith("/") else path.rpartition("/")[0]
        waiting.extend(target.split("/")[::-1])
    return path or "/"


def _link(path: str) -> str:
    return Path(path).readlink().as_posix()


def _no_link(path: str) -> str:
    raise OSError(path)


def _as_proc(path: str, mounts: tuple[str, ...]) -> str:
    """Return a path below another mount of the process file system as one below `/proc`."""
    for mount in mounts:
        if path.startswith(mount):
            return f"/proc/{path[len(mount) :]}"
    return path


@cache
def _process_mounts() -> tuple[str, ...]:
    """Return the other mounts of the process file system on this machine, such as `/host/proc/`."""
    if not sys.platform.startswith("linux"):
        return ()
    try:
        with Path("/proc/self/mountinfo").open(encoding="utf-8", errors="surrogateescape") as file:
            return tuple(mounts_in(file))
    except OSError:
        return ()


def mounts_in(lines: Iterable[str]) -> Iterator[str]:
    """Yield the mounts among the lines of `mountinfo` that show all processes."""
    for line in lines:
        fields = line.split(" ")
        root, place, kind = fields[3], fields[4], fields[fields.index("-") + 1]
        if root == "/" and place != "/proc" and kind == "proc":
            yield f"{_OCTAL.sub(lambda escape: chr(int(escape[1], 8)), place)}/"
