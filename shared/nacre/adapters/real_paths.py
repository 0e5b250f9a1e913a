"""Paths with their links followed, by few questions to the kernel."""

import os

_CAN = hasattr(os, "O_PATH")
_OPEN = getattr(os, "O_PATH", 0) | getattr(os, "O_CLOEXEC", 0)
_LINK = _OPEN | getattr(os, "O_NOFOLLOW", 0)


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
    handle = os.open(place, _OPEN)
    try:
        return os.readlink(f"/proc/self/fd/{handle}")  # noqa: PTH115 - in a third of the time
    finally:
        os.close(handle)


def _is_there(place: str) -> bool:
    """Tell whether something stands there after all: a link that leads nowhere."""
    try:
        os.close(os.open(place, _LINK))
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True
