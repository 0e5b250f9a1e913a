"""Where a server runs: started here, or at a URL that leads to this machine."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from nacre.adapters.files.real_paths import resolved
from nacre.firewall.rules.arguments.base_folders import NONE, declared
from nacre.firewall.rules.rule import NOWHERE, Surroundings


def on_this_machine() -> Surroundings:
    """Return the facts about a server that is started here.

    The folder that it is started in is no base: many servers resolve paths elsewhere.
    """
    return Surroundings(
        is_local=True,
        home=str(Path.home()),
        folds_case=sys.platform in ("darwin", "win32"),
        follow=resolved,
    )


def at_url(url: str) -> Surroundings:
    """Return the facts about a server at a URL."""
    try:
        return at_host(urlsplit(url).hostname or "")
    except ValueError:
        return NOWHERE


def at_host(host: str) -> Surroundings:
    """Return the facts about a server at a host: its links are known if that is this machine.

    Whose account it runs under is not known, so neither is what `~` means to it.
    """
    return on_this_machine()._replace(home=None) if is_this_machine(host) else NOWHERE


def is_this_machine(host: str) -> bool:
    """Tell whether a host is this machine, as far as its name or address shows it.

    A name of another kind is not looked up: that may take long.
    """
    import socket

    name = host.lower().rstrip(".")
    own = socket.gethostname().lower()
    if name == "localhost" or name.endswith(".localhost") or name in (own, f"{own}.local"):
        return True
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_DGRAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError, ValueError):
        return False
    return any(_is_own(family, address) for family, _, _, _, address in found)


def _is_own(family: int, address: tuple[Any, ...]) -> bool:
    """Tell whether an address is one of this machine: no other can be bound."""
    import socket

    try:
        with socket.socket(family, socket.SOCK_DGRAM) as bound:
            bound.bind(address)
    except OSError:
        return False
    return True


def with_bases(where: Surroundings, folders: Iterable[str]) -> Surroundings:
    """Return the facts with the folders of `--base`; `.` is the folder of this process."""
    absolute = [
        each if each == NONE else str(Path(each).expanduser().absolute()) for each in folders
    ]
    return declared(where, absolute, "--base")


def with_line(folders: Sequence[str], line: Sequence[str], cwd: str = "") -> list[str]:
    """Return declared bases, joined by those that a server's command line shows for certain."""
    from nacre.firewall.wrap.base_folder import proposed_base, with_certain

    home = str(Path.home())
    return list(with_certain(folders, proposed_base(line, cwd, home), home)[0])
