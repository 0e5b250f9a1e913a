"""The real paths of files, with few calls to the kernel."""

import os
import sys
from collections.abc import Callable
from functools import cache

_CAN = hasattr(os, "O_PATH")
_OPEN = getattr(os, "O_PATH", 0) | getattr(os, "O_CLOEXEC", 0)
_LINK = _OPEN | getattr(os, "O_NOFOLLOW", 0)
_OPENAT2 = 437  # on every processor
_HERE = -100  # AT_FDCWD, which is ignored for a path that begins with a slash
_NO_PROCESS_LINKS = 2  # RESOLVE_NO_MAGICLINKS: such links lead elsewhere in another process
_NO_SYMLINKS = 4
_HOWS: dict[int, object] = {}  # the kernel's `open_how` structure for each flag
_ENCODING = sys.getfilesystemencoding()


def resolved(place: str) -> str | None:
    """Return the target of a path; None if its links must be followed one by one.

    A path that exists and has no link is returned itself. The last part need not exist.
    Nothing is opened for reading, so a pipe or a device may be there.
    """
    if not _CAN or "\0" in place:
        return None
    try:
        if _is_without_links(place):
            return place
        target = _opened(place)
        if target is not None:
            return target
        folder, _, name = place.rpartition("/")
        if not folder or name in ("", ".", "..") or _is_there(place):
            return None
        target = _opened(folder)
    except (OSError, ValueError):
        return None
    return None if target is None else f"{target.rstrip('/')}/{name}"


def _opened(place: str) -> str | None:
    """Return the target of a path; None if there is none, or if it differs between processes."""
    call = _openat2()
    handle = -1 if call is None else _handle(call, place, _NO_PROCESS_LINKS)
    if handle < 0:
        return None
    try:
        target = os.readlink(f"/proc/self/fd/{handle}")  # noqa: PTH115 - in a third of the time
    finally:
        os.close(handle)
    return None if target.startswith("/proc/") else target


def _is_without_links(place: str) -> bool:
    """Tell whether a path exists and has no link, in half the time of following it.

    Python has no function for this, and an older kernel or a container may refuse the call.
    """
    call = _openat2()
    if call is None or not place or place[0] != "/" or place[-1] == "/":
        return False
    if "//" in place or "/." in place:  # has no links, but is spelled in another way
        return False
    handle = _handle(call, place, _NO_SYMLINKS)
    if handle < 0:
        return False
    os.close(handle)
    return True


def _is_there(place: str) -> bool:
    """Tell whether anything is at a path, even a link without a target."""
    try:
        os.close(os.open(place, _LINK))
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True


def _handle(call: Callable[..., int], place: str, how: int) -> int:
    """Return a handle of the target of a path, or a number below 0 if there is none."""
    return call(_OPENAT2, _HERE, place.encode(_ENCODING, "surrogateescape"), _HOWS[how], 24)


@cache
def _openat2() -> Callable[..., int] | None:
    """Return the function that calls openat2, or None if this system does not have it."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        import ctypes  # noqa: PLC0415 - takes long, and an interpreter may lack it

        call = ctypes.CDLL(None).syscall
    except (ImportError, OSError, AttributeError):
        return None
    call.restype = ctypes.c_long
    call.argtypes = (
        *(ctypes.c_long, ctypes.c_int, ctypes.c_char_p),
        *(ctypes.c_void_p, ctypes.c_size_t),
    )
    for how in (_NO_PROCESS_LINKS, _NO_SYMLINKS):
        _HOWS[how] = (ctypes.c_uint64 * 3)(_OPEN, 0, how)
    handle = _handle(call, "/", _NO_SYMLINKS)
    if handle < 0:
        return None
    os.close(handle)
    return call
