"""Servers of this machine that run with the rights of the policy."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.core.errors import InvalidInputError
from nacre.firewall.confine.confined_server import (
    ConfinedStart,
    Server,
    Wishes,
    check_machine,
    confined_rights,
)
from nacre.wiring.features.policies import policy_path

if TYPE_CHECKING:
    from nacre.firewall.confine.rights import Rights
    from nacre.firewall.confine.runtimes import Runtime
    from nacre.firewall.rules.policy import Policy
    from nacre.firewall.rules.rule import Surroundings
    from nacre.wiring.settings import Settings

_PACKAGES = "confined"


def confined_start(
    settings: "Settings",
    policy: "Policy",
    name: str,
    command: Sequence[str],
    where: "Surroundings",
    wishes: Wishes,
    *,
    environment: Mapping[str, str] | None = None,
    cwd: str = "",
) -> ConfinedStart:
    """Return the start of a server that this machine confines.

    Raise ConfigurationError if it cannot.
    """
    server = _server(name, command, where, wishes, environment, cwd)
    runtime, rights = rights_of(settings, policy, server)
    check_machine(rights)
    return ConfinedStart(runtime, rights, server)


def explained_rights(
    settings: "Settings",
    policy: "Policy",
    name: str,
    command: Sequence[str],
    where: "Surroundings",
    wishes: Wishes,
) -> tuple["Runtime", "Rights"]:
    """Return the rights that a server would start with, and its runtime."""
    return rights_of(settings, policy, _server(name, command, where, wishes))


def rights_of(settings: "Settings", policy: "Policy", server: Server) -> tuple["Runtime", "Rights"]:
    """Return the rights of a server, which never has Nacre's own files."""
    data = Path(settings.data_folder).expanduser().absolute()
    rules = policy_path(settings)[0].expanduser().absolute()
    forbidden = list(dict.fromkeys([str(data), str(rules), str(_default_rules(rules))]))
    return confined_rights(
        policy, server, forbidden=forbidden, packages=data / _PACKAGES, tell=_tell
    )


def ports_in(texts: Sequence[str]) -> tuple[int, ...]:
    """Return the ports of `--connect`."""
    for text in texts:
        if not (text.isascii() and text.isdigit()):
            raise InvalidInputError(f"--connect: '{text[:40]}' is not a port (1 to 65535)")
    return tuple(map(int, texts))


def _default_rules(rules: Path) -> Path:
    """Return the folder of the rules if it is Nacre's own, else the file."""
    return rules.parent if rules.parent.name == "nacre" else rules


def _server(
    name: str,
    command: Sequence[str],
    where: "Surroundings",
    wishes: Wishes,
    environment: Mapping[str, str] | None = None,
    cwd: str = "",
) -> Server:
    return Server(
        name=name,
        command=tuple(command),
        where=where,
        environment=dict(os.environ) if environment is None else environment,
        cwd=Path(cwd or Path.cwd()),
        home=Path.home(),
        wishes=wishes,
    )


def _tell(text: str) -> None:
    sys.stderr.write(f"nacre: {text}\n")
