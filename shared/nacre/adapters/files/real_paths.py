"""Paths with their links followed, by few questions to the kernel."""

import os
import sys
from collections.abc import Callable
from functools import cache

_CAN = hasattr(os, "O_PATH")
_OPEN = getattr(os, "O_PATH", 0) | getattr(os, "O_CLOEXEC", 0)
_LINK = _OPEN | getattr(os, "O_NOFOLLOW", 0)
_OPENAT2 = 437  # on every processor
_HERE = -100  # AT_FDCWD, which a path that begins with a slash does not ask for
_NO_PROCESS_LINKS = 2  # RESOLVE_NO_MAGICLINKS: they lead elsewhere for another process
_NO_SYMLINKS = 4
_HOWS: dict[int, object] = {}  # what the kernel is to refuse, as it is told
_ENCODING = sys.getfilesystemencoding()


def resolved(place: str) -> str | None:
    """Return where a path leads, None where that has to be found out step by step.

    A path that exists and has no link is returned itself. The last part need not exist.
    Nothing is opened for reading, so a pipe or a device may be there.
    """
    if not _CAN or "\0" in place:
        return None
    try:
        if _is_without_links(place):
            return place
        found = _opened(place)
        if found is not None:
            return found
        folder, _, name = place.rpartition("/")
        if not folder or name in ("", ".", "..") or _is_there(place):
            return None
        found = _opened(folder)
    except (OSError, ValueError):
        return None
    return None if found is None else f"{found.rstrip('/')}/{name}"


def _opened(place: str) -> str | None:
    """Return where a path leads, None if it does not exist or that depends on who asks."""
    asks = _asker()
    handle = -1 if asks is None else _handle(asks, place, _NO_PROCESS_LINKS)
    if handle < 0:
        return None
    try:
        found = os.readlink(f"/proc/self/fd/{handle}")  # noqa: PTH115 - in a third of the time
    finally:
        os.close(handle)
    return None if found.startswith("/proc/") else found


def _is_without_links(place: str) -> bool:
    """Tell, in half the time of finding out where a path leads, that it is there and has no link.

    Python has no function for it, and an older kernel or a container may not let us ask.
    """
    asks = _asker()
    if asks is None or not place or place[0] != "/" or place[-1] == "/":
        return False
    if "//" in place or "/." in place:  # without links, yet spelled otherwise
        return False
    handle = _handle(asks, place, _NO_SYMLINKS)
    if handle < 0:
        return False
    os.close(handle)
    return True


def _is_there(place: str) -> bool:
    """Tell whether something stands there after all: a link that leads nowhere."""
    try:
        os.close(os.open(place, _LINK))
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True


def _handle(call: Callable[..., int], place: str, how: int) -> int:
    """Return a handle of what a path leads to, less than 0 where there is none."""
    return call(_OPENAT2, _HERE, place.encode(_ENCODING, "surrogateescape"), _HOWS[how], 24)


@cache
def _asker() -> Callable[..., int] | None:
    """Return what asks the kernel by openat2."""
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
