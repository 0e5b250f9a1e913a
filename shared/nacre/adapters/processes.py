"""Processes of this machine, as Linux knows them."""

import os
from contextlib import suppress
from pathlib import Path

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE = Path("/proc/self/ns/pid")
_ENDED = frozenset("ZX")  # ended, and nobody has asked for its exit code yet


class Processes:
    """Holders on this machine.

    A name says which start of which machine, which numbering of processes, which number, and
    when the process began, as numbers come again. Nothing is known of other machines, other
    containers and other systems: there a lease runs out as its time does.
    """

    def __init__(self) -> None:
        self._here = _here()
        pid = os.getpid()
        began = None if self._here is None else _state(pid)[1]
        self._me = None if began is None else f"{self._here}/{pid}/{began}"

    @property
    def me(self) -> str | None:
        """The name of this process; None on a system without /proc."""
        return self._me

    def is_gone(self, name: str) -> bool:
        """Return whether that process of this machine has certainly ended."""
        here, _, rest = name.partition("/")
        number, _, began = rest.partition("/")
        if here != self._here or not number.isascii() or not number.isdecimal():
            return False
        try:
            os.kill(int(number), 0)  # asks only, and sees processes that /proc may hide
        except (ProcessLookupError, OverflowError):
            return True
        except OSError:
            return False
        state, since = _state(int(number))
        return state in _ENDED or (since is not None and since != began)


def _here() -> str | None:
    with suppress(OSError):
        boot = _BOOT.read_text(encoding="ascii").strip()
        return f"{boot}:{_NAMESPACE.stat().st_ino}"
    return None


def _state(pid: int) -> tuple[str, str | None]:
    """Return the state of a process and when it began, in ticks since the machine did."""
    with suppress(OSError, IndexError):
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        fields = stat.rpartition(")")[2].split()  # the program's name may hold anything
        return fields[0], fields[19]
    return "", None
