"""What doctor looks at in the files of clients whose servers are wrapped."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.cli.being_options import Place
from nacre.cli.finding import Finding

if TYPE_CHECKING:
    from nacre.firewall.wrap.client_servers import Found

_CHECK = "wrapped servers"


def check_wrapped(place: Place) -> Iterator[Finding]:
    """Look whether every wrapped server can be started."""
    from nacre.cli.wrap.wrap import missing_programs, open_place
    from nacre.firewall.wrap.client_servers import look

    if not (Path(place.folder()).expanduser() / "wrap").is_dir():
        return
    opened = open_place(place, "doctor")
    found, problems = look(opened.files, opened.records, opened.machine)
    missing = missing_programs(found)
    wrapped = [each for each in found if each.server.proxy is not None]
    for each in wrapped:
        if each.server.proxy is not None and each.server.proxy.program[0] in missing:
            told = f"{each.server.name} of {each.client.title} starts a nacre that is gone"
            yield Finding(_CHECK, "fail", told, "run 'nacre wrap --all'")
    lost = [each for each in wrapped if _is_lost(each)]
    for each in lost:
        name = f"{each.server.name} of {each.client.title}"
        told = f"{name} starts {_inner(each)!r}, which is not here"
        yield Finding(_CHECK, "fail", told, f"install it, or correct it in {each.file}")
    for problem in problems:
        told = f"{problem.file}: {problem.reason}"
        yield Finding(_CHECK, "warn", told, f"repair the file of {problem.client.title}")
    if wrapped and not missing and not lost:
        yield Finding(_CHECK, "ok", f"{len(wrapped)} can be started")


def _inner(found: "Found") -> str:
    """Return the program that a wrapped server's proxy starts, or nothing."""
    proxy = found.server.proxy
    return proxy.inner[0] if proxy is not None and proxy.inner else ""


def _is_lost(found: "Found") -> bool:
    """Tell whether the program is neither at its path nor, for a plain name, on the PATH."""
    program = _inner(found)
    if not program or program.startswith(("$", "%", "~")) or "{" in program:
        return False  # the client fills it in
    return shutil.which(program) is None
