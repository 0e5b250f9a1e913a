"""A server's process with rights: what it gets, and the command that starts it with them."""

import marshal
import os
import shutil
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import CodeType
from typing import Any, Self

from nacre.core.errors import ConfigurationError, InvalidInputError
from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.firewall.confine.landlock import check_support, handled, masks
from nacre.firewall.confine.policy_rights import DNS, check_own, code_rights, policy_rights
from nacre.firewall.confine.rights import GAPS, Access, Port, Rights, Root
from nacre.firewall.confine.runtimes import Runtime, program_roots, runtime_of
from nacre.firewall.confine.seccomp import Machine, program
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import Surroundings

PACKAGES = ("npx", "uvx")  # programs that fetch a package and run it
# Both come from an unnamed file that this process has written.
_LAUNCHER = """\
import marshal, sys
with open(int(sys.argv[1]), "rb") as file:
    code, plan = marshal.load(file)
launch = {"__name__": "launch"}
exec(code, launch)
launch["main"](plan)
"""
_MACHINES: Mapping[str, Machine] = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "arm64"}
# What a program needs to find its files and speak its owner's language; nothing of it is secret.
_USUAL = frozenset(["HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TZ", "USER"])
_TEMPORARY = ("TMPDIR", "TMP", "TEMP")
_BY_TCP = {"RES_OPTIONS": "use-vc"}  # glibc then looks up names over TCP
_CHUNK_BYTES = 1 << 16
_SECONDS = 2.0  # to wait for the last lines of standard error


@dataclass(frozen=True, slots=True)
class OwnerGrants:
    """Rights that the owner grants besides the rules, and the gaps that the owner accepts."""

    connect: tuple[int, ...] = ()
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    run: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    accept: tuple[str, ...] = ()

    def check(self) -> Self:
        """Raise InvalidInputError for a port or a gap that does not exist."""
        for number in self.connect:
            if not 0 < number < 65_536:
                raise InvalidInputError(f"--connect: {number} is not a port (1 to 65535)")
        for name in self.accept:
            if name not in GAPS:
                raise InvalidInputError(f"--accept: unknown gap '{name[:40]}' ({', '.join(GAPS)})")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server to confine: its name in rules, its command, and the place where it starts."""

    name: str
    command: tuple[str, ...]
    where: Surroundings
    environment: Mapping[str, str]
    cwd: Path
    home: Path
    grants: OwnerGrants = OwnerGrants()


def confined_rights(
    policy: Policy,
    server: Server,
    *,
    forbidden: Sequence[str],
    programs: Sequence[str] = (),
    packages: Path,
    tell: Callable[[str], None],
) -> tuple[Runtime, Rights]:
    """Return the whole command of a server, and its rights, each with the reason.

    `forbidden` are folders that no server gets, `programs` folders that none may change. Packages
    of npx and uvx are installed into a folder of their own below `packages`. Raise
    ConfigurationError if the server cannot be confined.
    """
    command = server.command
    grants = server.grants.check()
    if Path(command[0]).name in PACKAGES:
        from nacre.firewall.confine.packages import installed  # noqa: PLC0415 - few servers need it

        command = installed(command, packages, server.environment, tell, cwd=server.cwd)
    path = server.environment.get("PATH")
    runtime = runtime_of(command, path, server.home, server.cwd)
    named = (policy, server.name, server.where)
    gaps = grants.accept
    rights = policy_rights(*named, forbidden=forbidden, programs=programs, gaps=gaps)
    fetched = packages.resolve()
    code = [root for root in runtime.code if not Path(root.path).is_relative_to(fetched)]
    rights = rights.joined(code_rights(*named, code, forbidden=forbidden, gaps=gaps))
    own = [root for root in runtime.roots if root not in code]
    for option, access, folders in _declared(grants):
        declared = [_declared_root(option, access, folder, server) for folder in folders]
        for root in declared:
            check_own(root, forbidden, (*programs, *forbidden))
        own += declared
    for name in grants.run:
        own += program_roots(name, path, server.home)
    ports = [Port(number, "--connect") for number in grants.connect]
    if ports:
        ports.append(Port(DNS, "--connect: host names, looked up over TCP"))
    return runtime, Rights(tuple(own), tuple(ports)).joined(rights)


def _declared(grants: OwnerGrants) -> list[tuple[str, Access, tuple[str, ...]]]:
    return [("--read", "read", grants.read), ("--write", "write", grants.write)]


def _declared_root(option: str, access: Access, folder: str, server: Server) -> Root:
    try:
        place = (server.cwd / Path(folder).expanduser()).resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise InvalidInputError(f"{option}: {folder[:200]} does not exist") from error
    if place == Path("/"):
        raise InvalidInputError(f"{option}: / is every file; name a folder")
    return Root(str(place), access, option)


class ConfinedStart:
    """The start of a confined server: its command, environment and descriptors.

    `stderr` is a pipe whose text is copied to standard error: the server gets no descriptor of a
    terminal or a log file. `release` once the process runs, and `close` after its end, which
    removes its temporary folder.
    """

    def __init__(self, runtime: Runtime, rights: Rights, server: Server) -> None:
        self._folder = _new_folder()
        own = Root(str(self._folder), "write", "its temporary folder")
        rights = replace(rights, roots=(*rights.roots, own))
        self.environment = _environment(server, rights, str(self._folder))
        self.descriptors: tuple[int, ...] = ()
        reading, self.stderr = os.pipe()
        self._copying = threading.Thread(target=_copy, args=(reading,), daemon=True)
        self._copying.start()
        try:
            self.command = self._command(runtime, rights)
        except BaseException:
            self.close()
            raise

    def release(self) -> None:
        """Close the descriptors that the process has now."""
        for descriptor in (*self.descriptors, *([self.stderr] if self.stderr >= 0 else [])):
            os.close(descriptor)
        self.descriptors, self.stderr = (), -1

    def close(self) -> None:
        """Remove the temporary folder, and copy the last lines of standard error."""
        self.release()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._copying.join(_SECONDS)

    def _command(self, runtime: Runtime, rights: Rights) -> tuple[str, ...]:
        if sys.platform == "darwin":
            from nacre.firewall.confine.seatbelt import profile  # noqa: PLC0415 - not on Linux

            return ("/usr/bin/sandbox-exec", "-p", profile(rights), *runtime.command)
        plan = os.memfd_create("nacre-rights", os.MFD_CLOEXEC)
        self.descriptors = (plan,)
        with os.fdopen(os.dup(plan), "wb") as file:
            values = launch_plan(runtime.command, rights, self.environment)
            marshal.dump((_launcher(), values), file)
        os.lseek(plan, 0, os.SEEK_SET)
        self.environment = {}  # a variable could make the launcher load code before it is confined
        return (sys.executable, "-I", "-S", "-c", _LAUNCHER, str(plan))


def check_machine(rights: Rights) -> None:
    """Raise ConfigurationError if this system cannot enforce the rights."""
    if sys.platform == "darwin":
        if not Path("/usr/bin/sandbox-exec").exists():
            raise ConfigurationError("this macOS has no sandbox-exec; start without --confine")
        return
    if sys.platform != "linux":
        raise ConfigurationError("servers can be confined on Linux and macOS only")
    _machine()
    from nacre.firewall.confine.launch import abi  # noqa: PLC0415 - it loads the C library

    check_support(abi(), rights)


def launch_plan(
    command: Sequence[str], rights: Rights, environment: Mapping[str, str]
) -> dict[str, object]:
    """Return the plan of the launcher for this machine, as plain values."""
    from nacre.firewall.confine.launch import abi  # noqa: PLC0415 - it loads the C library

    version = abi()
    machine = _machine()
    ports = [port.number for port in rights.ports]
    return {
        "machine": machine,
        "handled": handled(version),
        "size": 24 if version >= 6 else 16 if version >= 4 else 8,
        "roots": [(root.path, *masks(root.access, version)) for root in rights.roots],
        "ports": ports if version >= 4 else [],
        "filter": program(machine, has_ports=bool(ports)),
        "command": list(command),
        "environment": dict(environment),
    }


def _launcher() -> CodeType:
    """Return the code of the launcher, which Python keeps compiled beside its source."""
    from nacre.firewall.confine import launch  # noqa: PLC0415 - it loads the C library

    loader: Any = launch.__loader__
    code: CodeType = loader.get_code(launch.__name__)
    return code


def _machine() -> Machine:
    name = os.uname().machine.lower()
    if name not in _MACHINES or sys.maxsize < 2**32:
        raise ConfigurationError(
            f"servers can be confined on x86-64 and arm64; this machine is {name}"
        )
    return _MACHINES[name]


def _new_folder() -> Path:
    """Make a folder for one process; the module `tempfile` is slow to load."""
    temporary = Path(os.environ.get("TMPDIR") or "/tmp")  # noqa: S108, TID251 - its name is random
    folder = temporary.resolve() / f"nacre-{os.urandom(12).hex()}"
    folder.mkdir(mode=0o700)
    return folder


def _environment(server: Server, rights: Rights, folder: str) -> dict[str, str]:
    """Return the environment: the usual names, those that the owner gives, and its own folder."""
    names = {name for name in server.environment if name in _USUAL or name.startswith("LC_")}
    names |= {name for name in server.grants.env if name in server.environment}
    variables = {name: server.environment[name] for name in sorted(names)}
    by_tcp = _BY_TCP if any(port.number == DNS for port in rights.ports) else {}
    return {**by_tcp, **variables, **dict.fromkeys(_TEMPORARY, folder)}


def _copy(reading: int) -> None:
    with os.fdopen(reading, "rb", buffering=0) as source:
        while chunk := source.read(_CHUNK_BYTES):
            unwritten = memoryview(chunk)
            with suppress(OSError):
                while unwritten:
                    unwritten = unwritten[os.write(2, unwritten) :]
