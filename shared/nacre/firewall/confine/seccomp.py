"""The filter of system calls, as a program of classic BPF that the kernel runs before each call."""

import errno
import struct
from typing import Literal

from nacre.firewall.confine import system_calls as calls
from nacre.firewall.confine.system_calls import SystemCall

Machine = Literal["x86_64", "arm64"]

_ARCHITECTURES: dict[Machine, int] = {"x86_64": 0xC000003E, "arm64": 0xC00000B7}

_LOAD, _EQUAL, _ABOVE, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x54, 0x06
_ALLOW = 0x7FFF_0000
_KILL_PROCESS = 0x8000_0000
_ERRNO = 0x0005_0000
_NUMBER, _ARCHITECTURE = 0, 4

_NEW_NAMESPACES = 0x7E02_0080  # CLONE_NEW…, with time and cgroups
_MSG_FASTOPEN = 0x2000_0000  # connects without the connect that Landlock sees
_TCP, _TCP_ULP = 6, 31
_STREAM = 1
_UNIX, _INET, _INET6 = 1, 2, 10
# What programs ask of terminals, pipes and files: TCGETS, TIOCGPGRP, TIOCGWINSZ, FIONREAD, FIONBIO,
# FIONCLEX, FIOCLEX, FIOASYNC, TCGETS2 and FICLONE. Others change attributes of files that are only
# open to be read, or type into the terminal.
_COMMANDS = (
    *(0x5401, 0x540F, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451, 0x5452, 0x802C_542A, 0x4004_9409),
)
_LEASE_AND_NOTIFY = (1024, 1026)  # F_SETLEASE keeps others from opening a file
_ACCESS_MODES = 3  # O_ACCMODE
_PROCESS, _IO_PROCESS = 0, 1  # PRIO_PROCESS, IOPRIO_WHO_PROCESS
_QUERY = 0xFFFF_FFFF

_Step = tuple[int, int, int, int]


def program(machine: Machine, *, has_ports: bool) -> bytes:
    """Return the filter; without ports every socket is refused but pairs within the process."""
    build = _Program(machine)
    for group in calls.DENIED.values():
        for call in group:
            build.refuse(call)
    for call in calls.UNSUPPORTED:
        build.refuse(call, errno.ENOTSUP)
    for call in calls.PRETENDED:
        build.refuse(call, 0)
    # Their flags are in memory, out of a filter's reach; programs then use clone and openat. A file
    # in memory is a program that nobody gave.
    for call in (calls.CLONE3, calls.OPENAT2, calls.MEMFD_CREATE):
        build.refuse(call, errno.ENOSYS)
    # An open file with the access mode 3 can be neither read nor written, so Landlock asks for no
    # right. Its attributes could be changed all the same.
    for call, flags in ((calls.OPEN, 1), (calls.OPENAT, 2)):
        build.refuse_masked(call, flags, _ACCESS_MODES, 3)
    build.refuse_bits(calls.CLONE, 0, _NEW_NAMESPACES)
    build.sockets(has_ports=has_ports)
    for call, flags in ((calls.SENDTO, 3), (calls.SENDMSG, 2), (calls.SENDMMSG, 3)):
        build.refuse_bits(call, flags, _MSG_FASTOPEN)
    build.refuse_pair(calls.SETSOCKOPT, _TCP, _TCP_ULP)
    build.only_values(calls.IOCTL, 1, _COMMANDS)
    build.refuse_values(calls.FCNTL, 1, _LEASE_AND_NOTIFY)
    build.only_values(calls.PERSONALITY, 0, (0, _QUERY))
    # Limits and priorities of this process only, where 0 stands for it.
    for call in (
        *(calls.PRLIMIT64, calls.SCHED_SETAFFINITY, calls.SCHED_SETSCHEDULER),
        *(calls.SCHED_SETPARAM, calls.SCHED_SETATTR),
    ):
        build.only_values(call, 0, (0,))
    build.only_pair(calls.SETPRIORITY, _PROCESS, 0)
    build.only_pair(calls.IOPRIO_SET, _IO_PROCESS, 0)
    return build.finish()


class _Program:
    """Appends the checks of one call after another; each jumps at most over its own steps."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._steps: list[_Step] = [
            (_LOAD, 0, 0, _ARCHITECTURE),
            (_EQUAL, 1, 0, _ARCHITECTURES[machine]),
            (_RETURN, 0, 0, _KILL_PROCESS),
            (_LOAD, 0, 0, _NUMBER),
            (_ABOVE, 0, 1, calls.NEWEST),  # and the numbers of x32
            (_RETURN, 0, 0, _ERRNO | errno.ENOSYS),
        ]

    def refuse(self, call: SystemCall, error: int = errno.EPERM) -> None:
        """Answer a call with an error whatever its arguments; 0 is success without effect."""
        self._on(call, [(_RETURN, 0, 0, _ERRNO | error)])

    def refuse_bits(self, call: SystemCall, argument: int, bits: int) -> None:
        """Refuse a call that has any of these bits in an argument."""
        self._on(call, [_load(argument), (_ANY_BIT, 0, 1, bits), _DENY, _PASS])

    def refuse_values(self, call: SystemCall, argument: int, values: tuple[int, ...]) -> None:
        """Refuse a call with one of these values."""
        tests = [(_EQUAL, len(values) - 1 - at, 0, value) for at, value in enumerate(values)]
        last = tests.pop()
        self._on(call, [_load(argument), *tests, (last[0], 0, 1, last[3]), _DENY, _PASS])

    def only_values(self, call: SystemCall, argument: int, values: tuple[int, ...]) -> None:
        """Refuse a call with any other value."""
        tests = [(_EQUAL, len(values) - at, 0, value) for at, value in enumerate(values)]
        self._on(call, [_load(argument), *tests, _DENY, _PASS])

    def refuse_masked(self, call: SystemCall, argument: int, mask: int, value: int) -> None:
        """Refuse a call whose argument has this value below a mask."""
        self._on(call, [_load(argument), (_AND, 0, 0, mask), (_EQUAL, 0, 1, value), _DENY, _PASS])

    def only_pair(self, call: SystemCall, first: int, second: int) -> None:
        """Refuse a call with any other first two arguments."""
        self._on(
            call,
            [_load(0), (_EQUAL, 0, 3, first), _load(1), (_EQUAL, 0, 1, second), _PASS, _DENY],
        )

    def refuse_pair(self, call: SystemCall, level: int, option: int) -> None:
        """Refuse an option of a socket."""
        self._on(
            call,
            [_load(1), (_EQUAL, 0, 3, level), _load(2), (_EQUAL, 0, 1, option), _DENY, _PASS],
        )

    def sockets(self, *, has_ports: bool) -> None:
        """Allow TCP where there are ports, and pairs of streams, which lead nowhere else.

        A datagram pair could be sent to any socket of the file system.
        """
        self._on(
            calls.SOCKETPAIR,
            [
                *(_load(0), (_EQUAL, 0, 4, _UNIX)),
                *(_load(1), (_AND, 0, 0, 0xF), (_EQUAL, 0, 1, _STREAM)),
                *(_PASS, _DENY),
            ],
        )
        if not has_ports:
            self.refuse(calls.SOCKET)
            return
        # Other protocols of the same families (MPTCP, SMC) connect past Landlock's ports.
        self._on(
            calls.SOCKET,
            [
                *(_load(0), (_EQUAL, 1, 0, _INET), (_EQUAL, 0, 6, _INET6)),
                *(_load(1), (_AND, 0, 0, 0xF), (_EQUAL, 0, 3, _STREAM)),
                *(_load(2), (_EQUAL, 2, 0, 0), (_EQUAL, 1, 0, _TCP)),
                *(_DENY, _PASS),
            ],
        )

    def finish(self) -> bytes:
        """Return the program; every other call is allowed."""
        return b"".join(struct.pack("=HBBI", *step) for step in [*self._steps, _PASS])

    def _on(self, call: SystemCall, steps: list[_Step]) -> None:
        number = call.x86_64 if self._machine == "x86_64" else call.arm64
        if number is not None:
            self._steps += [(_EQUAL, 0, len(steps), number), *steps]


_DENY: _Step = (_RETURN, 0, 0, _ERRNO | errno.EPERM)
_PASS: _Step = (_RETURN, 0, 0, _ALLOW)


def _load(argument: int) -> _Step:
    """Load the low half of an argument; the kernel reads these as 32-bit values."""
    return (_LOAD, 0, 0, 16 + 8 * argument)
