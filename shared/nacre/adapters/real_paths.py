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
_NO_SYMLINKS = 4


def resolved(place: str) -> str | None:
    """Return where a path leads, None where that has to be found out step by step.

    The last part need not exist. Nothing is opened for reading, so a pipe or a device may
    stand there.
    """
    if not _CAN:
        return None
    try:
        return _opened(place)
    except FileNotFoundError:
        folder, _, name = place.rpartition("/")
        if not folder or name in ("", ".", "..") or _is_there(place):
            return None
    except (OSError, ValueError):
        return None
    try:
        return f"{_opened(folder).rstrip('/')}/{name}"
    except (OSError, ValueError):
        return None


def _opened(place: str) -> str:
    open_without_links = _opener_without_links()
    if open_without_links is not None and _is_normal(place):
        handle = open_without_links(place)
        if handle >= 0:
            os.close(handle)
            return place
    handle = os.open(place, _OPEN)
    try:
        return os.readlink(f"/proc/self/fd/{handle}")  # noqa: PTH115 - in a third of the time
    finally:
        os.close(handle)


def _is_normal(place: str) -> bool:
    """Tell whether a path without links leads to where it says, letter by letter."""
    return (
        place[:1] == "/"
        and place[-1] != "/"
        and "//" not in place
        and "/." not in place
        and "\0" not in place
    )


def _is_there(place: str) -> bool:
    """Tell whether something stands there after all: a link that leads nowhere."""
    try:
        os.close(os.open(place, _LINK))
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True


@cache
def _opener_without_links() -> Callable[[str], int] | None:
    """Return what opens a path in which no link stands, and gives a negative number else.

    The kernel answers this in half the time of where links lead. Python has no function for
    it, and an older kernel or a container may not let us ask.
    """
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
    how = (ctypes.c_uint64 * 3)(_OPEN, 0, _NO_SYMLINKS)

    def opened(place: str) -> int:
        number: int = call(_OPENAT2, _HERE, os.fsencode(place), how, 24)
        return number

    handle = opened("/")
    if handle < 0:
        return None
    os.close(handle)
    return opened
