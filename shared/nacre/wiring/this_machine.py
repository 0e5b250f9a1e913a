"""The machine that a server runs on: this one, or an unknown one behind a URL."""

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

    Its start folder is not a base, because many servers resolve paths from another folder.
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
    """Return the facts about a server at a host; links can be followed if that is this machine.

    Its home is unknown, because it may run under another account.
    """
    return on_this_machine()._replace(home=None) if is_this_machine(host) else NOWHERE


def is_this_machine(host: str) -> bool:
    """Tell whether a host is this machine, as far as its name or address shows it.

    Other names are not looked up, because that may take long.
    """
    import socket

    name = host.lower().rstrip(".")
    hostname = socket.gethostname().lower()
    if (
        name == "localhost"
        or name.endswith(".localhost")
        or name in (hostname, f"{hostname}.local")
    ):
        return True
    try:
        addresses = socket.getaddrinfo(host, 0, type=socket.SOCK_DGRAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError, ValueError):
        return False
    return any(_is_own(family, address) for family, _, _, _, address in addresses)


def _is_own(family: int, address: tuple[Any, ...]) -> bool:
    """Tell whether an address belongs to this machine: only those can be bound."""
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
        folder if folder == NONE else str(Path(folder).expanduser().absolute())
        for folder in folders
    ]
    return declared(where, absolute, "--base")


def with_command_bases(folders: Sequence[str], line: Sequence[str], cwd: str = "") -> list[str]:
    """Return the declared bases, and those that are certain from a server's command line."""
    from nacre.firewall.rules.arguments.proposed_base import proposed_base, with_certain

    home = str(Path.home())
    return list(with_certain(folders, proposed_base(line, cwd, home), home)[0])
