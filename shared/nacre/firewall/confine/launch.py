"""Apply rights to this process, then become the server.

`confined_server` hands this module, compiled, and its plan to a new interpreter. It imports nothing
of the package, because it runs without its folders, and as little else as it can, because a client
waits for it: `signal` alone would take a third of its time. If any step fails, the server is not
started, and the exit code is 126.
"""

import ctypes
import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

NOT_STARTED = 126
OWN_PROCESS = "/proc/self/"

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF, _OPENAT2 = 444, 445, 446, 437
_CAPSET = {"x86_64": 126, "arm64": 91}
_SET_SECCOMP, _SET_NO_NEW_PRIVS, _DROP_BOUNDING, _AMBIENT, _CLEAR_ALL = 22, 38, 24, 47, 4
_FILTER = 2
_NO_LINKS = 0x04  # RESOLVE_NO_SYMLINKS
_CAPABILITY_VERSION = 0x20080522
_CAPABILITIES = 64
_SIGPIPE, _SIGXFSZ = 13, 25

_libc = ctypes.CDLL(None, use_errno=True)


class _Attributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("files", "network", "scopes")]


class _PathRule(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("rights", ctypes.c_uint64), ("folder", ctypes.c_int32)]


class _PortRule(ctypes.Structure):
    _fields_ = [("rights", ctypes.c_uint64), ("port", ctypes.c_uint64)]


class _Opening(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("flags", "mode", "resolve")]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_char_p)]


def abi() -> int:
    """Return the version of Landlock that this kernel enforces, 0 without it."""
    return max(0, int(_libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1)))


def apply(plan: "dict[str, Any]") -> None:
    """Apply the rights of a plan to this process, and to all that it starts, for ever."""
    _drop_capabilities(plan["machine"])
    _checked("no_new_privs", _libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _restrict_files(plan)
    steps: bytes = plan["filter"]
    program = _Program(len(steps) // 8, steps)
    _checked("seccomp", _libc.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0))


def _restrict_files(plan: "dict[str, Any]") -> None:
    attributes = _Attributes(*plan["handled"])
    size = ctypes.c_size_t(plan["size"])
    rules = _libc.syscall(_CREATE_RULESET, ctypes.byref(attributes), size, 0)
    _checked("landlock", rules)
    for path, on_folders, on_files in plan["roots"]:
        folder = _opened(path)
        if folder < 0:
            continue  # it is gone since then, which grants less
        is_folder = os.fstat(folder).st_mode & 0o170000 == 0o040000
        path_rule = _PathRule(on_folders if is_folder else on_files, folder)
        _checked(path, _libc.syscall(_ADD_RULE, rules, 1, ctypes.byref(path_rule), 0))
        os.close(folder)
    for port in plan["ports"]:
        port_rule = _PortRule(0b10, port)
        _checked(f"port {port}", _libc.syscall(_ADD_RULE, rules, 2, ctypes.byref(port_rule), 0))
    _checked("landlock", _libc.syscall(_RESTRICT_SELF, rules, 0))
    os.close(rules)


def _opened(path: str) -> int:
    """Open a root that was resolved before and must not be a link since; -1 if it is gone."""
    how = _Opening(os.O_PATH | os.O_CLOEXEC, 0, _NO_LINKS)
    is_own = path.startswith(OWN_PROCESS)
    own = path.replace(OWN_PROCESS, f"/proc/{os.getpid()}/", 1) if is_own else path
    name = ctypes.c_char_p(os.fsencode(own))
    size = ctypes.c_size_t(ctypes.sizeof(how))
    descriptor: int = _libc.syscall(_OPENAT2, -100, name, ctypes.byref(how), size)
    if descriptor < 0 and ctypes.get_errno() == errno.ENOENT:
        return -1
    _checked(path, descriptor)
    return descriptor


def _drop_capabilities(machine: str) -> None:
    """Drop what makes root more than an account; for other accounts there is nothing to drop."""
    numbers = range(_CAPABILITIES)
    for capability in numbers:
        _libc.prctl(_DROP_BOUNDING, capability, 0, 0, 0)  # only root may, and only root needs it
    if os.geteuid() == 0 and any(_libc.prctl(23, number, 0, 0, 0) == 1 for number in numbers):
        raise OSError("capabilities: cannot be dropped")
    _libc.prctl(_AMBIENT, _CLEAR_ALL, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _checked("capabilities", _libc.syscall(_CAPSET[machine], header, nothing))


def _checked(step: str, result: int) -> None:
    if result < 0:
        raise OSError(f"{step}: {os.strerror(ctypes.get_errno())}")


def main(plan: "dict[str, Any]") -> "NoReturn":
    """Apply the plan, and become the server."""
    os.closerange(3, 1 << 16)
    for number in (_SIGPIPE, _SIGXFSZ):  # Python ignores them; programs do not expect it
        _libc.signal(number, None)
    os.umask(0o077)  # no later chmod can make a file private
    try:
        apply(plan)
        command = plan["command"]
        os.execve(command[0], command, plan["environment"])  # noqa: S606 - what this is for
    except OSError as error:
        text = f"{plan['command'][0]}: {error.strerror}" if error.strerror else str(error)
        os.write(
            2, f"nacre: the server is not started, because it cannot be confined: {text}\n".encode()
        )
    os._exit(NOT_STARTED)
