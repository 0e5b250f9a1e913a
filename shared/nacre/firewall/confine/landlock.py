"""Landlock: its access rights as numbers, and which of them a version of the kernel enforces."""

from typing import Final

from nacre.core.errors import ConfigurationError
from nacre.firewall.confine.rights import GAPS, Access, Rights

EXECUTE: Final = 1 << 0
WRITE_FILE: Final = 1 << 1
READ_FILE: Final = 1 << 2
READ_DIR: Final = 1 << 3
REMOVE_DIR: Final = 1 << 4
REMOVE_FILE: Final = 1 << 5
MAKE_DIR: Final = 1 << 7
MAKE_REG: Final = 1 << 8
REFER: Final = 1 << 13  # rename and link between folders; ABI 2
TRUNCATE: Final = 1 << 14  # ABI 3
IOCTL_DEV: Final = 1 << 15  # ABI 5

_FIRST = (1 << 13) - 1
_ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
_BIND_AND_CONNECT = 0b11
_SCOPES = 0b11  # abstract sockets and signals; ABI 6

# Links, fifos, sockets and device files can be made nowhere: a planted link would lead other
# programs out of the root.
_RIGHTS: dict[Access, int] = {
    "read": READ_FILE | READ_DIR,
    "write": (
        (READ_FILE | READ_DIR | WRITE_FILE | TRUNCATE | REFER)
        | (REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG)
    ),
    "run": READ_FILE | EXECUTE,
    "list": READ_DIR,
    "device": READ_FILE | WRITE_FILE,
}


def handled(abi: int) -> tuple[int, int, int]:
    """Return the rights over files and the network, and the scopes, that a version enforces."""
    files = _FIRST
    files |= REFER if abi >= 2 else 0
    files |= TRUNCATE if abi >= 3 else 0
    files |= IOCTL_DEV if abi >= 5 else 0
    return files, _BIND_AND_CONNECT if abi >= 4 else 0, _SCOPES if abi >= 6 else 0


def masks(access: Access, abi: int) -> tuple[int, int]:
    """Return the rights to a folder and all below it, and those to a single file."""
    mask = _RIGHTS[access] & handled(abi)[0]
    return mask, mask & _ON_FILES


def check_support(abi: int, rights: Rights) -> None:
    """Raise ConfigurationError if this kernel leaves something open that is not accepted."""
    if abi < 1:
        raise ConfigurationError(
            "this kernel has no Landlock, so a server cannot be confined: it needs Linux 6.2 or "
            "newer with 'landlock' among the active security modules, and containers may hide it; "
            "start the server without --confine, or on another machine"
        )
    if abi < 3:
        raise ConfigurationError(
            f"this kernel (Landlock ABI {abi}) lets a process empty every file, so a server cannot "
            "be confined: it needs ABI 3 (Linux 6.2); start the server without --confine, or on "
            "another machine"
        )
    missing = [name for name in _missing(abi, rights) if name not in rights.gaps]
    if missing:
        remaining = "; ".join(f"{name}: {GAPS[name]}" for name in missing)
        options = " ".join(f"--accept {name}" for name in missing)
        raise ConfigurationError(
            f"this kernel (Landlock ABI {abi}) leaves open {remaining}. Accept that with "
            f"{options}, or use a newer kernel"
        )


def _missing(abi: int, rights: Rights) -> list[str]:
    missing = []
    if abi < 4 and rights.ports:  # without ports the filter refuses every socket
        missing.append("ports")
    if abi < 5:
        missing.append("ioctl")
    if abi < 6:
        missing.append("signals")
    return missing
