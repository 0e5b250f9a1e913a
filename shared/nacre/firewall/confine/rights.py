"""The rights of a confined server: roots, ports, and what the kernel cannot enforce."""

from typing import Literal

from nacre.core.lazy_dataclasses import dataclass

Access = Literal["read", "write", "run", "list", "device"]

# The gaps that an owner may accept by name, each with what remains open.
GAPS = {
    "denies": "files that a deny rule names inside an allowed folder; the proxy alone denies them",
    "ports": "the port of a TCP connection: every port can be reached (needs Landlock ABI 4)",
    "ioctl": "commands to devices inside an allowed folder (needs Landlock ABI 5)",
    "signals": "signals to your other processes (needs Landlock ABI 6)",
}


@dataclass(frozen=True, slots=True)
class Root:
    """A file, or a folder with everything below it, and the rule or need that it comes from.

    `write` includes reading, making, renaming and removing. `run` is reading and starting as a
    program, `list` only reading a folder's names, `device` reading and writing one device.
    """

    path: str
    access: Access
    reason: str


@dataclass(frozen=True, slots=True)
class Port:
    """A TCP port that the process may connect to, on any host."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class Rights:
    """Everything that a process may do with files and the network.

    `unsaid` are parts of the policy that a kernel cannot express, `gaps` the gaps that the owner
    has accepted, by their names in `GAPS`.
    """

    roots: tuple[Root, ...] = ()
    ports: tuple[Port, ...] = ()
    unsaid: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()

    def joined(self, second: "Rights") -> "Rights":
        """Return the rights of both; of equal roots and ports the first reason stays."""
        roots = {(root.path, root.access): root for root in (*second.roots, *self.roots)}
        ports = {port.number: port for port in (*second.ports, *self.ports)}
        return Rights(
            tuple(roots[key] for key in sorted(roots)),
            tuple(ports[number] for number in sorted(ports)),
            tuple(dict.fromkeys([*self.unsaid, *second.unsaid])),
            tuple(dict.fromkeys([*self.gaps, *second.gaps])),
        )
