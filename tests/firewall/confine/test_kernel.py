"""The rights as a kernel or macOS takes them, and what older kernels leave open."""

import errno
import os
import re
import struct

import pytest

from nacre.core.errors import ConfigurationError, InvalidInputError
from nacre.firewall.confine import landlock
from nacre.firewall.confine import system_calls as calls
from nacre.firewall.confine.confined_server import OwnerGrants
from nacre.firewall.confine.rights import Port, Rights, Root
from nacre.firewall.confine.seatbelt import profile
from nacre.firewall.confine.seccomp import Machine, program

_ALLOW = 0x7FFF_0000
_ARCHITECTURES: dict[Machine, int] = {"x86_64": 0xC000003E, "arm64": 0xC00000B7}


def answer(steps: bytes, architecture: int, number: int, *arguments: int) -> int:
    """Run a filter as the kernel does, and return its answer."""
    data = struct.pack(
        "=IIQ6Q",
        number,
        architecture,
        0,
        *[number % (1 << 64) for number in (*arguments, 0, 0, 0, 0, 0, 0)[:6]],
    )
    held, at = 0, 0
    while True:
        code, yes, no, value = struct.unpack_from("=HBBI", steps, at * 8)
        at += 1
        if code == 0x20:
            (held,) = struct.unpack_from("=I", data, value)
        elif code == 0x54:
            held &= value
        elif code == 0x06:
            return int(value)
        else:
            holds = {0x15: held == value, 0x25: held > value, 0x45: bool(held & value)}[code]
            at += yes if holds else no


def refused(machine: Machine, call: calls.SystemCall, *arguments: int, ports: bool = True) -> int:
    """Return the error of a call, 0 if it is allowed."""
    number = call.x86_64 if machine == "x86_64" else call.arm64
    assert number is not None
    steps = program(machine, has_ports=ports)
    result = answer(steps, _ARCHITECTURES[machine], number, *arguments)
    return 0 if result == _ALLOW else result & 0xFFFF


@pytest.mark.parametrize("machine", ["x86_64", "arm64"])
def test_listed_calls_are_refused_on_each_machine(machine: Machine) -> None:
    for group in calls.DENIED.values():
        for call in group:
            if (call.x86_64 if machine == "x86_64" else call.arm64) is not None:
                assert refused(machine, call) == errno.EPERM, call.name
    assert refused(machine, calls.CLONE3) == errno.ENOSYS
    pretended = program(machine, has_ports=True)
    for call in calls.PRETENDED:
        number = call.x86_64 if machine == "x86_64" else call.arm64
        if number is not None:
            assert answer(pretended, _ARCHITECTURES[machine], number) == 0x0005_0000, call.name


@pytest.mark.parametrize("machine", ["x86_64", "arm64"])
@pytest.mark.parametrize(
    ("call", "arguments", "error"),
    [
        *((calls.SOCKET, (2, 1, 0), 0), (calls.SOCKET, (10, 1 | 0o2000000, 6), 0)),
        *((calls.SOCKET, (2, 2, 0), 1), (calls.SOCKET, (2, 1, 262), 1)),
        *((calls.SOCKET, (1, 1, 0), 1), (calls.SOCKET, (16, 3, 0), 1)),
        *((calls.SOCKETPAIR, (1, 1 | 0o4000, 0), 0), (calls.SOCKETPAIR, (1, 2, 0), 1)),
        *((calls.SOCKETPAIR, (1, 5, 0), 1), (calls.SOCKETPAIR, (2, 1, 0), 1)),
        *((calls.CLONE, (0x1200011,), 0), (calls.CLONE, (0x10000011,), 1)),
        *((calls.SENDTO, (3, 0, 0, 0x4000), 0), (calls.SENDTO, (3, 0, 0, 0x2000_0000), 1)),
        *((calls.SENDMSG, (3, 0, 0), 0), (calls.SENDMSG, (3, 0, 0x2000_4000), 1)),
        *((calls.SENDMMSG, (3, 0, 1, 0), 0), (calls.SENDMMSG, (3, 0, 1, 0x2000_0000), 1)),
        *((calls.SETSOCKOPT, (3, 6, 1), 0), (calls.SETSOCKOPT, (3, 6, 31), 1)),
        *((calls.SETSOCKOPT, (3, 1, 31), 0), (calls.IOCTL, (0, 0x5401), 0)),
        *((calls.IOCTL, (0, 0x5412), 1), (calls.IOCTL, (0, 0x5423), 1)),
        *((calls.IOCTL, (0, 0x4008_6602), 1), (calls.IOCTL, (0, 0x4008_7602), 1)),
        *((calls.OPENAT, (-100, 0, 0o2000002), 0), (calls.OPENAT, (-100, 0, 0o2000003), 1)),
        *((calls.FCNTL, (3, 1030), 0), (calls.FCNTL, (3, 1024), 1), (calls.FCNTL, (3, 1026), 1)),
        *((calls.OPENAT2, (), errno.ENOSYS), (calls.MEMFD_CREATE, (), errno.ENOSYS)),
        *((calls.PERSONALITY, (0xFFFF_FFFF,), 0), (calls.PERSONALITY, (0x40000,), 1)),
        *((calls.PRLIMIT64, (0, 7), 0), (calls.PRLIMIT64, (1, 7), 1)),
        *((calls.SETPRIORITY, (0, 0), 0), (calls.SETPRIORITY, (0, 77), 1)),
        *((calls.SETPRIORITY, (1, 0), 1), (calls.SETPRIORITY, (2, 0), 1)),
        *((calls.IOPRIO_SET, (1, 0), 0), (calls.IOPRIO_SET, (2, 0), 1)),
        *((calls.IOPRIO_SET, (3, 0), 1), (calls.IOPRIO_SET, (1, 77), 1)),
    ],
)
def test_calls_are_decided_by_their_arguments(
    machine: Machine, call: calls.SystemCall, arguments: tuple[int, ...], error: int
) -> None:
    assert refused(machine, call, *arguments) == error


def test_without_ports_there_is_no_socket() -> None:
    assert refused("x86_64", calls.SOCKET, 2, 1, 0, ports=False) == errno.EPERM


def test_unknown_calls_and_other_numberings_are_refused() -> None:
    steps = program("x86_64", has_ports=True)

    assert answer(steps, 0xC000003E, calls.NEWEST + 1) & 0xFFFF == errno.ENOSYS
    assert answer(steps, 0xC000003E, 0x4000_0000) & 0xFFFF == errno.ENOSYS
    assert answer(steps, 0x40000003, 20) == 0x8000_0000


@pytest.mark.skipif(os.name != "posix", reason="it compares with the headers of Linux")
def test_no_call_is_listed_twice_and_numbers_are_distinct() -> None:
    listed = [call for group in calls.DENIED.values() for call in group] + [*calls.UNSUPPORTED]
    listed += calls.PRETENDED

    for numbers in ([call.x86_64 for call in listed], [call.arm64 for call in listed]):
        known = [number for number in numbers if number is not None]
        assert len(known) == len(set(known))


@pytest.mark.parametrize(
    ("abi", "ports", "missing"),
    [
        *((7, True, []), (6, True, []), (5, True, ["signals"]), (4, True, ["ioctl", "signals"])),
        *((3, True, ["ports", "ioctl", "signals"]), (3, False, ["ioctl", "signals"])),
    ],
)
def test_what_a_kernel_leaves_open_is_refused_unless_accepted(
    abi: int, ports: bool, missing: list[str]
) -> None:
    some = (Port(443, "rule 1"),) if ports else ()
    landlock.check_support(abi, Rights(ports=some, gaps=tuple(missing)))
    if missing:
        with pytest.raises(ConfigurationError) as refusal:
            landlock.check_support(abi, Rights(ports=some))
        assert re.findall(r"--accept (\w+)", str(refusal.value)) == missing


def test_a_kernel_without_landlock_is_refused_in_words() -> None:
    with pytest.raises(ConfigurationError, match="has no Landlock"):
        landlock.check_support(0, Rights(gaps=("denies", "ports", "ioctl", "signals")))


@pytest.mark.parametrize("abi", [1, 2])
def test_a_kernel_that_lets_every_file_be_emptied_is_refused(abi: int) -> None:
    with pytest.raises(ConfigurationError, match=r"empty every file.*Linux 6\.2"):
        landlock.check_support(abi, Rights(gaps=("denies", "ports", "ioctl", "signals")))


def test_older_kernels_get_no_right_that_they_do_not_know() -> None:
    assert landlock.handled(1) == ((1 << 13) - 1, 0, 0)
    for abi in range(1, 8):
        known = landlock.handled(abi)[0]
        for access in ("read", "write", "run", "list", "device"):
            on_folders, on_files = landlock.masks(access, abi)
            assert on_folders & ~known == 0
            assert on_files & ~on_folders == 0


@pytest.mark.parametrize("grants", [OwnerGrants(connect=(0,)), OwnerGrants(accept=("all",))])
def test_a_wish_that_means_nothing_is_refused(grants: OwnerGrants) -> None:
    with pytest.raises(InvalidInputError):
        grants.check()


def test_the_profile_of_macos_is_well_formed_and_closed() -> None:
    rights = Rights(
        (
            *(Root('/Users/me/a "quoted" \\ folder', "write", "rule 1"),),
            *(Root("/opt/node", "run", "program"), Root("/proc/self/fd", "read", "x")),
        ),
        (Port(443, "rule 2"),),
    )

    text = profile(rights)

    bare = re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)
    depth = 0
    for letter in bare:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        assert depth >= 0
    assert depth == 0
    assert bare.count('"') % 2 == 0
    lines = text.splitlines()
    assert lines[:2] == ["(version 1)", "(deny default)"]
    assert all(line.startswith("(") and line.endswith(")") for line in lines)
    assert r'(subpath "/Users/me/a \"quoted\" \\ folder")' in text
    assert '(allow network-outbound (remote tcp "*:443"))' in text
    assert "/proc" not in text


def test_the_old_call_open_is_decided_as_the_new_one() -> None:
    assert refused("x86_64", calls.OPEN, 0, 0o2) == 0
    assert refused("x86_64", calls.OPEN, 0, 0o3) == errno.EPERM
