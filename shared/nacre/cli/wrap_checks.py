"""What doctor looks at in the files of clients whose servers are wrapped."""

from collections.abc import Iterator
from pathlib import Path

from nacre.cli.finding import Finding
from nacre.cli.place import Place

_CHECK = "wrapped servers"


def check_wrapped(place: Place) -> Iterator[Finding]:
    """Look whether every wrapped server can be started."""
    from nacre.cli.wrap import missing_programs, open_place
    from nacre.gateway.client_servers import look

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
    for problem in problems:
        told = f"{problem.file}: {problem.reason}"
        yield Finding(_CHECK, "warn", told, f"repair the file of {problem.client.title}")
    if wrapped and not missing:
        yield Finding(_CHECK, "ok", f"{len(wrapped)} can be started")
