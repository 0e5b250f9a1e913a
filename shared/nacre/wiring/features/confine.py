"""Servers of this machine that run with the rights of the policy."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.core.errors import InvalidInputError
from nacre.firewall.confine.confined_server import (
    PACKAGES,
    ConfinedStart,
    OwnerGrants,
    Server,
    check_machine,
    confined_rights,
)
from nacre.firewall.confine.policy_rights import policy_rights
from nacre.wiring.features.policies import policy_path

if TYPE_CHECKING:
    from nacre.firewall.confine.rights import Rights
    from nacre.firewall.confine.runtimes import Runtime
    from nacre.firewall.rules.policy import Policy
    from nacre.firewall.rules.rule import Surroundings
    from nacre.gateway.servers.config import ServerConfig
    from nacre.wiring.settings import Settings

_INSTALLED = "confined"


def confined_start(
    settings: "Settings",
    policy: "Policy",
    name: str,
    command: Sequence[str],
    where: "Surroundings",
    grants: OwnerGrants,
    *,
    environment: Mapping[str, str] | None = None,
    cwd: str = "",
) -> ConfinedStart:
    """Return the start of a server that this machine confines.

    Raise ConfigurationError if it cannot.
    """
    server = _server(name, command, where, grants, environment, cwd)
    runtime, rights = rights_of(settings, policy, server)
    check_machine(rights)
    return ConfinedStart(runtime, rights, server)


def confined_program(
    settings: "Settings",
    policy: "Policy",
    config: "ServerConfig",
    command: Sequence[str],
    where: "Surroundings",
    *,
    environment: Mapping[str, str],
    cwd: str,
) -> ConfinedStart:
    """Return the start of a program of the gateway, with the variables of its configuration."""
    confinement = config.confine
    assert confinement is not None
    grants = OwnerGrants(
        *(
            confinement.connect,
            confinement.read,
            confinement.write,
            confinement.run,
            tuple(config.env),
        ),
        accept=confinement.accept,
    )
    return confined_start(
        *(settings, policy, config.name, command, where, grants), environment=environment, cwd=cwd
    )


def explained_rights(
    settings: "Settings",
    policy: "Policy",
    name: str,
    command: Sequence[str],
    where: "Surroundings",
) -> "Rights":
    """Return the rights that a server would start with; nothing is installed for that.

    Without a command, and for packages, the needs of the runtime are left out.
    """
    if command and Path(command[0]).name not in PACKAGES:
        return rights_of(settings, policy, _server(name, command, where, OwnerGrants()))[1]
    from nacre.core.lazy_dataclasses import replace

    rights = policy_rights(
        *(policy, name, where), forbidden=_own_files(settings), programs=_own_programs()
    )
    note = "the runtime: what it needs to start is added to these, by its command"
    return replace(rights, unsaid=(*rights.unsaid, note))


def rights_of(settings: "Settings", policy: "Policy", server: Server) -> tuple["Runtime", "Rights"]:
    """Return the rights of a server, which never has Nacre's own files."""
    packages = Path(settings.data_folder).expanduser().absolute() / _INSTALLED
    return confined_rights(
        *(policy, server),
        forbidden=_own_files(settings),
        programs=_own_programs(),
        packages=packages,
        tell=_tell,
    )


def _own_files(settings: "Settings") -> list[str]:
    """Return Nacre's data, rules and list of servers, which no server gets."""
    data = Path(settings.data_folder).expanduser().absolute()
    rules = policy_path(settings)[0].expanduser().absolute()
    folder = rules.parent if rules.parent.name == "nacre" else rules
    places = [data, rules, folder]
    if settings.servers_file:
        places.append(Path(settings.servers_file).expanduser().absolute())
    return list(dict.fromkeys(map(str, places)))


def _own_programs() -> list[str]:
    """Return the folders of the code that runs unconfined, which no server may change."""
    package = Path(__file__).parents[2]
    return list(dict.fromkeys([str(package), sys.prefix, sys.base_prefix]))


def ports_in(texts: Sequence[str]) -> tuple[int, ...]:
    """Return the ports of `--connect`."""
    for text in texts:
        if not (text.isascii() and text.isdigit()):
            raise InvalidInputError(f"--connect: '{text[:40]}' is not a port (1 to 65535)")
    return tuple(map(int, texts))


def _server(
    name: str,
    command: Sequence[str],
    where: "Surroundings",
    grants: OwnerGrants,
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
        grants=grants,
    )


def _tell(text: str) -> None:
    sys.stderr.write(f"nacre: {text}\n")
