"""A server that tries by itself everything that its rights do not include.

`python -I -S hostile_server.py WORLD` reads the places of a prepared world as JSON, tries every
attempt, and prints one JSON object: the names of all attempts, and of those that succeeded. It
imports only the standard library, because it runs confined.
"""

import contextlib
import ctypes
import errno
import fcntl
import json
import mmap
import os
import resource
import signal
import socket
import struct
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)
Attempt = tuple[str, Callable[[], Any]]


def syscall(number: int, *arguments: Any) -> int:
    """Make a system call; raise OSError where it fails."""
    result = int(LIBC.syscall(ctypes.c_long(number), *arguments))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


# Files: every operation through every spelling of a path.


def spellings(path: str, world: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield other ways to the same file, as the server can write them."""
    root, name = world["root"], os.path.basename(path)
    beside = os.path.relpath(path, root)
    yield "absolute", path
    yield "relative", beside
    yield "up and down", f"{root}/{beside}"
    yield "through a folder", f"{root}/sub/../{beside}"
    yield "doubled slashes", path.replace("/", "//")
    yield "dots", path.replace("/", "/./")
    yield "root of the process", f"/proc/self/root{path}"
    yield "root of the thread", f"/proc/thread-self/root{path}"
    yield "root by number", f"/proc/{os.getpid()}/root{path}"
    yield "folder of the process", f"/proc/self/cwd/{beside}"
    yield "an old link to the folder", f"{root}/to-outside/{name}"
    yield "an old link of links", f"{root}/chain/{name}"
    yield "an open folder", f"/proc/self/fd/{world['outside_fd']}/{name}"
    yield (
        "the program's folder",
        f"{os.path.dirname(sys.executable)}/../../../../../../../../..{path}",
    )


def file_attempts(world: dict[str, Any]) -> Iterator[Attempt]:
    """Yield the attempts on files outside of the rights."""
    root = world["root"]
    outside = world["outside"]
    world["outside_fd"] = os.open(outside, os.O_PATH)
    for spelling, path in spellings(f"{outside}/secret.txt", world):
        for name, attempt in on_file(path, f"{root}/mine.txt"):
            yield f"{name}: {spelling}", attempt
    for spelling, path in spellings(f"{outside}/folder", world):
        for name, attempt in on_folder(path, root):
            yield f"{name}: {spelling}", attempt
    for spelling, path in spellings(f"{outside}/new", world):
        for name, attempt in on_missing(path, f"{root}/mine.txt", f"{root}/sub"):
            yield f"{name}: {spelling}", attempt


def on_file(path: str, mine: str) -> Iterator[Attempt]:
    yield "read", lambda: opened(path, os.O_RDONLY)
    yield "write", lambda: opened(path, os.O_WRONLY)
    yield "neither read nor write", lambda: opened(path, 3)
    yield "flags without reading", lambda: changed_flags(path, 3)
    yield "lease without reading", lambda: leased(path, 3)
    yield "attributes without reading", lambda: of_open(path, 3, os.listxattr)
    yield "flags of a bare file", lambda: changed_flags(path, os.O_PATH)
    yield "open by how", lambda: syscall(437, -100, path.encode(), struct.pack("3Q", 3, 0, 0), 24)
    yield "append", lambda: opened(path, os.O_WRONLY | os.O_APPEND)
    yield "read and write", lambda: opened(path, os.O_RDWR)
    yield "empty on opening", lambda: opened(path, os.O_WRONLY | os.O_TRUNC)
    yield "create over", lambda: opened(path, os.O_CREAT | os.O_WRONLY)
    yield "truncate", lambda: os.truncate(path, 0)
    yield "delete", lambda: os.unlink(path)
    yield "rename in", lambda: os.rename(path, mine + ".in")
    yield "rename over", lambda: os.rename(mine, path)
    yield "exchange", lambda: syscall(RENAMEAT2, -100, path.encode(), -100, mine.encode(), 2)
    yield "hard link in", lambda: os.link(path, mine + ".hard")
    yield "hard link in, followed", lambda: os.link(path, mine + ".hard2", follow_symlinks=True)
    yield "mode", lambda: with_mode(path, 0o777)
    yield "owner", lambda: os.chown(path, os.getuid(), os.getgid())
    yield "times", lambda: with_times(path)
    yield "set an attribute", lambda: os.setxattr(path, "user.mark", b"1")
    yield "read an attribute", lambda: os.getxattr(path, "user.note")
    yield "list attributes", lambda: os.listxattr(path)
    yield "start as a program", lambda: executed(path)
    yield "handle", lambda: syscall(HANDLE_AT, -100, path.encode(), bytes(16), bytes(8), 0)
    yield "reopened", lambda: reopened(path)
    yield "copied by the kernel", lambda: copied(path, mine)


def on_folder(path: str, root: str) -> Iterator[Attempt]:
    yield "list", lambda: os.listdir(path)
    yield "scan", lambda: list(os.scandir(path))
    yield "list an open folder", lambda: listed_later(path)
    yield "remove folder", lambda: os.rmdir(f"{path}/empty")
    yield "move folder in", lambda: os.rename(path, f"{root}/taken")
    yield "move folder out", lambda: os.rename(f"{root}/sub", f"{path}/given")
    yield "root folder", lambda: in_child(lambda: os.chroot(path))
    yield "watch", lambda: watched(path)
    yield "lock", lambda: fcntl.flock(opened(path, os.O_RDONLY | os.O_DIRECTORY), fcntl.LOCK_EX)


def on_missing(path: str, mine: str, folder: str) -> Iterator[Attempt]:
    yield "create", lambda: opened(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    yield "create and read", lambda: opened(path, os.O_CREAT | os.O_RDWR)
    yield "nameless file", lambda: opened(os.path.dirname(path), os.O_TMPFILE | os.O_RDWR)
    yield "make folder", lambda: os.mkdir(path)
    yield "make link", lambda: os.symlink("/etc/passwd", path)
    yield "make fifo", lambda: os.mkfifo(path)
    yield "make device", lambda: os.mknod(path, 0o020666, os.makedev(1, 3))
    yield "make socket", lambda: os.mknod(path, 0o140666)
    yield "make by node", lambda: os.mknod(path, 0o100666)
    yield "rename out", lambda: os.rename(mine, path)
    yield "hard link out", lambda: os.link(mine, path)
    yield "move folder over", lambda: os.rename(folder, path)
    yield "bind a socket", lambda: bound(path)


def opened(path: str, flags: int) -> int:
    descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    os.close(descriptor)
    return descriptor


def of_open(path: str, flags: int, act: Callable[[int], Any]) -> Any:
    descriptor = os.open(path, flags | os.O_CLOEXEC)
    try:
        return act(descriptor)
    finally:
        os.close(descriptor)


def changed_flags(path: str, flags: int) -> None:
    """Set FS_NODUMP_FL (FS_IOC_SETFLAGS)."""
    of_open(path, flags, lambda file: fcntl.ioctl(file, 0x40086602, struct.pack("q", 0x40)))


def leased(path: str, flags: int) -> None:
    of_open(path, flags, lambda file: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK))


def with_mode(file: str | int, mode: int) -> None:
    """Change a mode; raise OSError if it stays, because the call reports success either way."""
    os.chmod(file, mode)
    if os.stat(file).st_mode & 0o7777 != mode:
        raise OSError("it stayed")


def with_times(file: str | int) -> None:
    os.utime(file, (1, 1))
    if os.stat(file).st_mtime != 1:
        raise OSError("they stayed")


def reopened(path: str) -> int:
    """Open a path without rights to it, and then through the descriptor."""
    bare = os.open(path, os.O_PATH)
    try:
        return opened(f"/proc/self/fd/{bare}", os.O_RDONLY)
    finally:
        os.close(bare)


def copied(path: str, mine: str) -> int:
    with open(path, "rb") as source, open(mine + ".copy", "wb") as target:
        return os.copy_file_range(source.fileno(), target.fileno(), 10)


def listed_later(path: str) -> list[str]:
    bare = os.open(path, os.O_PATH | os.O_DIRECTORY)
    try:
        return os.listdir(f"/proc/self/fd/{bare}")
    finally:
        os.close(bare)


def watched(path: str) -> int:
    descriptor = LIBC.inotify_init1(0)
    if descriptor < 0 or LIBC.inotify_add_watch(descriptor, path.encode(), 0xFFF) < 0:
        raise OSError(ctypes.get_errno(), "no watch")
    return int(descriptor)


def bound(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)


def executed(*line: str) -> None:
    """Start a program; raise OSError if it does not start."""
    in_child(lambda: os.execv(line[0], list(line)))


def in_memory(path: str) -> None:
    with open(path, "rb") as file, os.fdopen(os.memfd_create("program"), "wb") as memory:
        memory.write(file.read())
        memory.flush()
        in_child(lambda: os.execve(memory.fileno(), [path], {}))


def in_child(act: Callable[[], Any]) -> None:
    """Act in a process of its own; raise OSError if that fails."""
    child = os.fork()
    if child == 0:
        code = 1
        with contextlib.suppress(BaseException):
            null = os.open("/dev/null", os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            act()
            code = 0
        os._exit(code)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
        raise OSError("it failed in a child")


# Read-only roots, planted things inside a writable root, and places of the system.


def inner_attempts(world: dict[str, Any]) -> Iterator[Attempt]:
    """Yield attempts to get more out of what is granted than it says."""
    root, only = world["root"], world["readable"]
    read = f"{only}/note.txt"
    held = os.open(read, os.O_RDONLY)
    for name, attempt in on_file(read, f"{root}/mine.txt"):
        if name not in ("read", "copied by the kernel", "reopened"):
            yield f"read-only file: {name}", attempt
    for name, attempt in on_missing(f"{only}/new", f"{root}/mine.txt", f"{root}/sub"):
        yield f"read-only folder: {name}", attempt
    yield "read-only file: mode of the open file", lambda: with_mode(held, 0o777)
    yield "read-only file: owner of the open file", lambda: os.fchown(held, os.getuid(), -1)
    yield "read-only file: times of the open file", lambda: with_times(held)
    yield "read-only file: attribute of the open file", lambda: os.setxattr(held, "user.x", b"1")
    yield "read-only file: flags of the open file", lambda: changed_flags(read, os.O_RDONLY)
    yield "read-only file: lease of the open file", lambda: leased(read, os.O_RDONLY)
    yield "read-only file: attributes of the open file", lambda: os.listxattr(held)
    yield "read-only file: truncate the open file", lambda: os.ftruncate(held, 0)
    yield "read-only file: reopen for writing", lambda: opened(f"/proc/self/fd/{held}", os.O_RDWR)
    yield "plant a link", lambda: os.symlink(world["outside"], f"{root}/planted")
    yield "plant a link to a file", lambda: os.symlink("/etc/shadow", f"{root}/planted2")
    yield "plant a fifo", lambda: os.mkfifo(f"{root}/fifo")
    yield "plant a socket", lambda: bound(f"{root}/socket")
    yield "plant a device", lambda: os.mknod(f"{root}/zero", 0o020666, os.makedev(1, 5))
    yield "plant a disk", lambda: os.mknod(f"{root}/disk", 0o060666, os.makedev(8, 0))
    yield "setuid mode", lambda: with_mode(f"{root}/mine.txt", 0o4755)
    yield "start its own file", lambda: executed(world["program_in_root"])
    yield "start a program in memory", lambda: in_memory(world["program_in_root"])
    yield "start a script of its own", lambda: executed(world["script_in_root"])


def system_attempts(world: dict[str, Any]) -> Iterator[Attempt]:
    """Yield attempts on other places, programs and processes of the machine."""
    victim = world["victim"]
    places = [
        *(
            "/etc/shadow",
            "/etc/sudoers",
            "/etc/machine-id",
            "/etc/hostname",
            os.path.expanduser("~/.bashrc"),
        ),
        *("/proc/1/environ", "/proc/1/cmdline", "/proc/1/maps", "/proc/1/mem", "/proc/1/root"),
        *(f"/proc/{victim}/{name}" for name in ("environ", "mem", "maps", "cmdline", "stack")),
        *(f"/proc/{victim}/{name}" for name in ("root", "cwd", "fd", "fdinfo", "ns", "task")),
        *("/proc/kcore", "/proc/kallsyms", "/proc/kmsg", "/proc/sysrq-trigger", "/proc/net/unix"),
        *("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/mounts", "/proc"),
        *("/sys", "/sys/kernel", "/sys/fs/cgroup", "/sys/kernel/security", "/sys/class/net"),
        *("/dev", "/dev/mem", "/dev/kmsg", "/dev/tty", "/dev/ptmx", "/dev/fuse", "/dev/kvm"),
        *("/dev/net/tun", "/dev/loop-control", "/dev/shm", "/dev/vda", "/dev/sda", "/dev/pts"),
        *(
            "/",
            "/home",
            "/root",
            os.path.expanduser("~/.ssh"),
            "/tmp",
            "/var/tmp",
            "/var/log",
            "/var/lib",
            "/run",
        ),
        *("/run/docker.sock", "/run/dbus", "/boot", "/srv", "/opt", "/mnt", "/media", "/usr/bin"),
    ]
    for place in places:
        if os.path.lexists(place):
            yield f"read {place}", partial(readable, place)
            yield f"write {place}", partial(opened, place, os.O_WRONLY)
    for program in world["programs"]:
        yield f"start {program}", partial(executed, program, "-c", ":")
        yield f"start {program} by its descriptor", partial(by_descriptor, program)
        yield f"start {program} by its loader", partial(executed, world["loader"], program)
    for number in (0, signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP, signal.SIGUSR1):
        yield f"signal {int(number)}", partial(os.kill, victim, number)
        yield (
            f"signal {int(number)} to a thread",
            partial(syscall, TGKILL, victim, victim, int(number)),
        )
        yield (
            f"signal {int(number)} to the starter",
            partial(os.kill, world["starter"], number and signal.SIGUSR2),
        )
    yield "signal by a descriptor", lambda: signal.pidfd_send_signal(os.pidfd_open(victim), 0)
    yield "its limits", lambda: resource.prlimit(victim, resource.RLIMIT_NOFILE, (64, 64))
    yield "read its limits", lambda: resource.prlimit(victim, resource.RLIMIT_NOFILE)
    yield "its priority", lambda: os.setpriority(os.PRIO_PROCESS, victim, 19)
    yield "everybody's priority", lambda: os.setpriority(os.PRIO_USER, 0, 1)
    yield "the group's priority", lambda: os.setpriority(os.PRIO_PGRP, 0, 1)
    yield "its group's priority", lambda: os.setpriority(os.PRIO_PGRP, os.getpgid(victim), 1)
    yield "everybody's disk priority", lambda: syscall(IOPRIO_SET, 3, 0, 2 << 13 | 7)
    yield "the group's disk priority", lambda: syscall(IOPRIO_SET, 2, 0, 2 << 13 | 7)
    yield "its processors", lambda: os.sched_setaffinity(victim, {0})
    yield "its scheduler", lambda: os.sched_setscheduler(victim, os.SCHED_BATCH, os.sched_param(0))
    yield "trace it", lambda: syscall(PTRACE, 0x4206, victim, None, None)
    yield "attach to it", lambda: syscall(PTRACE, 16, victim, None, None)
    yield "be traced", lambda: syscall(PTRACE, 0, 0, None, None)
    yield "read its memory", lambda: vectors(READV, victim)
    yield "write its memory", lambda: vectors(WRITEV, victim)
    yield "take its descriptor", lambda: syscall(PIDFD_GETFD, os.pidfd_open(victim), 0, 0)
    yield "join its namespaces", lambda: syscall(SETNS, os.pidfd_open(victim), 0x20000)


def readable(place: str) -> Any:
    try:
        return os.listdir(place)
    except NotADirectoryError:
        return opened(place, os.O_RDONLY)


def by_descriptor(program: str) -> None:
    bare = os.open(program, os.O_PATH)
    try:
        in_child(lambda: os.execve(bare, [program, "-c", ":"], {}))
    finally:
        os.close(bare)


def vectors(number: int, victim: int) -> int:
    buffer = ctypes.create_string_buffer(8)
    local = struct.pack("PN", ctypes.addressof(buffer), 8)
    return syscall(number, victim, local, 1, local, 1, 0)


# Sockets, privileges, and the filter itself.


def socket_attempts(world: dict[str, Any]) -> Iterator[Attempt]:
    """Yield attempts to reach others over sockets of each family."""
    for family in range(1, 46):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
            if family in (socket.AF_INET, socket.AF_INET6) and kind == socket.SOCK_STREAM:
                continue
            yield f"socket family {family} type {int(kind)}", partial(made, family, kind)
    for protocol in (1, 2, 17, 33, 47, 132, 136, 256, 262):
        yield (
            f"stream protocol {protocol}",
            partial(made, socket.AF_INET, socket.SOCK_STREAM, protocol),
        )
    for place in (world["socket"], "\0" + world["abstract"], "/run/docker.sock", "/dev/log"):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
            yield f"connect {place!r} type {int(kind)}", partial(to_path, place, kind)
            yield (
                f"connect {place!r} from a pair of type {int(kind)}",
                partial(from_pair, place, kind),
            )
            yield (
                f"connect {place!r} from half a pair of type {int(kind)}",
                partial(from_pair, place, kind, half=True),
            )
    for host in ("127.0.0.1", "localhost", "0.0.0.0", "::1", "::ffff:127.0.0.1"):
        for port in (world["closed_port"], 22, 80, 443):
            yield f"connect {host} {port}", partial(to_port, host, port)
            yield f"fast open {host} {port}", partial(fast_open, host, port)
            yield f"delayed fast open {host} {port}", partial(fast_open, host, port, later=True)
    for host in ("127.0.0.1", "::1"):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        yield f"send a datagram to {host}", partial(datagram, family, host, world["udp_port"])
        yield f"listen on {host}", partial(listening, family, host)
        yield f"listen unbound {host}", partial(unbound, family)
    yield "turn TCP into SMC", lambda: with_option(6, 31, b"smc\0")
    yield "turn TCP into TLS", lambda: with_option(6, 31, b"tls\0")


def made(family: int, kind: int, protocol: int = 0) -> None:
    socket.socket(family, kind, protocol).close()


def unbound(family: int) -> None:
    with socket.socket(family) as server:
        server.listen()


def to_path(place: str, kind: int) -> None:
    with socket.socket(socket.AF_UNIX, kind) as client:
        client.connect(place)


def from_pair(place: str, kind: int, *, half: bool = False) -> None:
    left, right = socket.socketpair(socket.AF_UNIX, kind)
    with left, right:
        if half:
            right.close()
        try:
            left.connect(place)
        except OSError:
            left.sendto(b"hello", place)


def to_port(host: str, port: int) -> None:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as client:
        client.settimeout(1)
        client.connect((host, port))


def fast_open(host: str, port: int, *, later: bool = False) -> None:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as client:
        client.settimeout(1)
        if later:
            client.setsockopt(6, 30, 1)
            client.connect((host, port))
            client.send(b"hello")
        else:
            client.sendto(b"hello", 0x2000_0000, (host, port))


def datagram(family: int, host: str, port: int) -> None:
    with socket.socket(family, socket.SOCK_DGRAM) as client:
        client.sendto(b"hello", (host, port))


def listening(family: int, host: str) -> None:
    with socket.socket(family) as server:
        server.bind((host, 0))
        server.listen()


def with_option(level: int, option: int, value: bytes) -> None:
    with socket.socket() as client:
        client.setsockopt(level, option, value)


def privilege_attempts(world: dict[str, Any]) -> Iterator[Attempt]:
    """Yield attempts to get more privileges, descriptors or another view of the machine."""
    for number in range(3, 64):
        yield f"inherited descriptor {number}", partial(inherited, number, world)
    for name in world["secret_variables"]:
        yield f"variable {name}", partial(variable, name)
    yield "another account", lambda: in_child(lambda: os.setuid(65534 if os.getuid() == 0 else 0))
    yield "another group", lambda: in_child(lambda: os.setgid(65534 if os.getuid() == 0 else 0))
    yield "groups", lambda: in_child(lambda: os.setgroups([0, 1]))
    yield "saved account", lambda: in_child(lambda: os.setresuid(-1, 1, -1))
    yield "a set-user-id program", lambda: executed("/usr/bin/su", "--version")
    for flags in (
        0x20000,
        0x2000000,
        0x4000000,
        0x8000000,
        0x10000000,
        0x20000000,
        0x40000000,
        0x80,
    ):
        yield f"unshare {flags:#x}", partial(in_child, partial(syscall, UNSHARE, flags))
        yield f"clone {flags:#x}", partial(cloned, flags)
    yield "mount", lambda: syscall(MOUNT, b"none", world["root"].encode(), b"tmpfs", 0, None)
    yield "bind mount", lambda: syscall(MOUNT, b"/", world["root"].encode(), None, 4096, None)
    yield "remount", lambda: syscall(MOUNT, None, b"/", None, 32, None)
    yield "unmount", lambda: syscall(UMOUNT, b"/proc", 2)
    yield "all privileges again", lambda: syscall(CAPSET, *capabilities())
    yield "an ambient privilege", lambda: control(47, 2, 1)
    yield "new privileges", lambda: control(38, 0)
    yield "no filter", lambda: control(22, 0, 0)
    yield "type into the terminal", lambda: in_child(lambda: typed(0))
    yield "type into standard error", lambda: in_child(lambda: typed(2))
    yield "standard error is a file", lambda: os.lseek(2, 0, os.SEEK_SET)
    yield (
        "read standard error's file",
        lambda: os.read(os.open(os.readlink("/proc/self/fd/2"), 0), 1),
    )
    yield "another personality", lambda: syscall(PERSONALITY, 0x0040000)
    yield "a 32-bit call", lambda: in_child(compat)
    yield "more rights by another ruleset", lambda: nested(world["outside"])
    for name, number in world["denied"].items():
        if name not in ("bind", "listen", "accept", "accept4"):
            yield f"call {name}", partial(reached, number)


def inherited(number: int, world: dict[str, Any]) -> None:
    """Succeed if a descriptor was open when this program started."""
    if number not in world["open_at_start"]:
        raise OSError("not open")


def variable(name: str) -> str:
    return os.environ[name]


def cloned(flags: int) -> None:
    child = syscall(CLONE, ctypes.c_ulong(flags | signal.SIGCHLD), None, None, None, None)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def capabilities() -> tuple[Any, Any]:
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    everything = (ctypes.c_uint32 * 6)(*([0xFFFFFFFF, 0xFFFFFFFF, 0] * 2))
    return header, everything


def control(option: int, *arguments: int) -> None:
    if LIBC.prctl(option, *arguments, 0, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), "prctl")
    if option == 38 and LIBC.prctl(39, 0, 0, 0, 0) == 1:
        raise OSError("still set")
    if option == 22 and LIBC.prctl(21, 0, 0, 0, 0) == 2:
        raise OSError("still filtered")


def typed(descriptor: int) -> None:
    fcntl.ioctl(descriptor, 0x5412, b"x")


def compat() -> None:
    """Make the 32-bit call getpid, whose number means something else on 64 bits."""
    if os.uname().machine != "x86_64":
        raise OSError("not here")
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))
    if ctypes.CFUNCTYPE(ctypes.c_int)(address)() <= 0:
        raise OSError("refused")


def nested(outside: str) -> None:
    """Add a ruleset that allows everything; the old one must hold as well."""

    def try_it() -> None:
        rules = syscall(444, struct.pack("Q", 4), ctypes.c_size_t(8), 0)
        folder = os.open("/", os.O_PATH)
        syscall(445, rules, 1, struct.pack("=Qi", 4, folder), 0)
        syscall(446, rules, 0)
        with open(f"{outside}/secret.txt") as file:
            file.read()

    in_child(try_it)


def reached(number: int) -> None:
    """Succeed if the kernel looks at the arguments, which are all wrong."""
    try:
        syscall(number, *[ctypes.c_long(-1)] * 6)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.ENOSYS, errno.ENOTSUP):
            raise


def run(world: dict[str, Any]) -> dict[str, Any]:
    """Try everything, and return the names of the attempts and of the successes."""
    open(f"{world['root']}/mine.txt", "w").close()
    attempts: list[Attempt] = []
    kinds = world.get("kinds") or ("file", "inner", "system", "socket", "privilege")
    makers = {
        "file": file_attempts,
        "inner": inner_attempts,
        "system": system_attempts,
        "socket": socket_attempts,
        "privilege": privilege_attempts,
    }
    world["open_at_start"] = [number for number in range(3, 64) if is_open(number)]
    for kind in kinds:
        attempts += makers[kind](world)
    succeeded = []
    for name, attempt in attempts:
        if not os.path.exists(f"{world['root']}/mine.txt"):
            open(f"{world['root']}/mine.txt", "w").close()
        try:
            attempt()
        except (OSError, KeyError, ValueError, OverflowError):
            continue
        succeeded.append(name)
    return {"attempts": [name for name, _ in attempts], "succeeded": succeeded}


def is_open(number: int) -> bool:
    with contextlib.suppress(OSError):
        os.fstat(number)
        return True
    return False


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        the_world = json.load(file)
    numbers = the_world["numbers"]
    (RENAMEAT2, HANDLE_AT, TGKILL, PTRACE, READV, WRITEV, PIDFD_GETFD, SETNS, UNSHARE, CLONE) = (
        numbers[:10]
    )
    MOUNT, UMOUNT, CAPSET, PERSONALITY, IOPRIO_SET = numbers[10:]
    os.chdir(the_world["root"])
    print(json.dumps(run(the_world)), flush=True)
