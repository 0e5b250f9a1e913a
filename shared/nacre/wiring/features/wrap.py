"""Wrapping servers in the configuration files of this machine's clients."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from nacre.adapters.files.config_files import LocalConfigFiles
from nacre.adapters.files.wrap_records import FolderWrapRecords
from nacre.core.clock import system_clock
from nacre.core.lazy_dataclasses import dataclass
from nacre.firewall.rules.arguments.base_folders import NONE
from nacre.firewall.wrap.client_formats import CLIENTS, Machine, managed_files
from nacre.firewall.wrap.command_line import Launcher
from nacre.firewall.wrap.connector import Connector
from nacre.firewall.wrap.hooks.connector import HookConnector
from nacre.firewall.wrap.wrapper import Wrapper
from nacre.ports.other_programs.config_files import ConfigFiles, WrapRecords
from nacre.wiring.data_folder import prepare_data_folder
from nacre.wiring.settings import Settings, user_policy_file
from nacre.wiring.user_folder import user_data_folder

_FOLDER = "wrap"
# What the official SDKs hand on to a server, of what places depend on.
_HANDED_ON = ("HOME", "APPDATA", "LOCALAPPDATA", "USERPROFILE")


@dataclass(frozen=True, slots=True)
class Wrapping:
    """The clients' files, the records of changes to them, and the wrapper that changes them."""

    files: ConfigFiles
    records: WrapRecords
    machine: Machine
    wrapper: Wrapper


def open_connector(place: Path, url: str, command: Sequence[str]) -> Connector:
    """Return the connector of this machine. Reading the state of clients creates no folder."""
    files, machine = _files_of_clients(place)
    records = FolderWrapRecords(place / _FOLDER / "connections")
    return Connector(files, records, machine, url=url, command=command, now=system_clock)


def open_hook_connector(place: Path, command: Sequence[str]) -> HookConnector:
    """Return the connector that puts hooks into the files of this machine's clients.

    A client may not have this process's environment, so another data folder than the usual one
    is named in the command.
    """
    if str(place) != user_data_folder() and os.name == "posix":
        command = ["env", f"NACRE_HOME={place}", *command]
    files, machine = _files_of_clients(place)
    records = FolderWrapRecords(place / _FOLDER / "hooks")
    return HookConnector(files, records, machine, command=command, now=system_clock)


def open_wrapping(
    folder: str,
    program: Sequence[str],
    policy: str = "",
    bases: Sequence[str] = (),
    *,
    confines: bool = False,
) -> Wrapping:
    """Return the parts that wrap servers; `program` starts this one, `policy` is a file of rules.

    `bases` are the folders from which the servers resolve relative paths, as declared.

    A proxy is started by a client, which may hand on little of this process's environment:
    what does not follow from the user alone is written into its command line.
    """
    place = prepare_data_folder(folder)
    settings = Settings.from_environment()
    handed_on = {name: os.environ[name] for name in _HANDED_ON if name in os.environ}
    usual = Settings.from_environment(handed_on).data_folder
    options: list[str] = []
    if place != Path(usual).expanduser().absolute():
        options += ["--data-dir", str(place)]
    rules = policy or settings.policy_file
    user_policy = user_policy_file()
    if not rules and user_policy != user_policy_file(handed_on) and Path(user_policy).exists():
        rules = user_policy
    if rules:
        options += ["--policy", str(Path(rules).expanduser().absolute())]
    files, machine = _files_of_clients(place)
    records = FolderWrapRecords(place / _FOLDER / "entries")
    folders = tuple(
        [base if base == NONE else str(Path(base).expanduser().absolute()) for base in bases]
    )
    launcher = Launcher(
        tuple(program),
        tuple(options),
        folders,
        str(Path.home()),
        starts_programs=machine.platform != "win32",
        confines=confines,
        refused=_refused() if confines else {},
    )
    wrapper = Wrapper(files, records, launcher, now=system_clock)
    return Wrapping(files, records, machine, wrapper)


def _refused() -> Mapping[str, str]:
    from nacre.firewall.confine.runtimes import REFUSED

    return REFUSED


def machine_of_clients() -> Machine:
    """Return the facts about this machine on which the places of clients' files depend."""
    return Machine(sys.platform, str(Path.home()), os.environ, str(Path.cwd()))


def _files_of_clients(place: Path) -> tuple[LocalConfigFiles, Machine]:
    machine = machine_of_clients()
    managed = [pattern for client in CLIENTS for pattern in managed_files(client, machine)]
    return LocalConfigFiles(place / _FOLDER, managed=managed, now=system_clock), machine
