"""Count the calls that a link swapped between decision and use gets through.

`python -m tests.firewall.proxy.link_race [CALLS]` prints a table. A proxy decides where a path
leads before the server opens it. Another process that changes a link in between changes what is
opened. Only a server that confines itself stops that.
"""

import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.firewall.proxy.programs import ROOT
from tests.firewall.proxy.test_relative_paths import KEY, NOTES, Client, Home, client
from tests.scaffolding.third_party import NODE

SWAP = """
import os, sys
link, inside, outside = sys.argv[1:]
while True:
    for target in (inside, outside):
        os.symlink(target, link + ".new")
        os.replace(link + ".new", link)
"""
SERVERS = {
    "confines nothing": [
        *(sys.executable, "-I", "-S"),
        str(ROOT / "tests" / "firewall" / "proxy" / "rooted_server.py"),
    ],
    "server-filesystem": [
        str(NODE / ".bin" / "node"),
        str(NODE / ".bin" / "mcp-server-filesystem"),
    ],
}


def counted(
    home: Home, server: str, calls: int, *, swaps: bool, options: tuple[str, ...] = ()
) -> Counter[str]:
    """Return what came of reading through a link: leaked, read inside, or refused."""
    projects = home.user / "projects"
    (projects / "inside").mkdir()
    (projects / "inside" / "id_rsa").write_text(NOTES)
    link = projects / "swapped"
    link.symlink_to(home.user / ".ssh")
    root = home.user if server == "confines nothing" else projects
    line = [*SERVERS[server], str(root)]
    with client(home, line, "guide", *options, cwd="{home}", roots=()) as talk:
        swapping = subprocess.Popen(
            [
                *(sys.executable, "-I", "-S", "-c", SWAP),
                *(str(link), str(projects / "inside"), str(home.user / ".ssh")),
            ]
            if swaps
            else [sys.executable, "-I", "-S", "-c", "pass"]
        )
        try:
            return Counter(outcome(talk, link) for _ in range(calls))
        finally:
            swapping.kill()
            swapping.wait()


def outcome(talk: Client, link: Path) -> str:
    text = talk.call("read_text_file", path=f"{link}/id_rsa")
    return "leaked" if KEY in text else "read inside" if NOTES in text else "refused"


def main() -> None:
    """Print what came of the calls before each server."""
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    for server in SERVERS:
        with TemporaryDirectory() as folder:
            found = counted(Home(Path(folder).resolve()).make(), server, calls, swaps=True)
            print(server, dict(found))


if __name__ == "__main__":
    main()
