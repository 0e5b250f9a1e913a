"""The same rights as a profile of macOS's Seatbelt, for `sandbox-exec`. Not tried on a Mac."""

from nacre.firewall.confine.rights import Access, Rights

_OPERATIONS: dict[Access, str] = {
    "read": "file-read*",
    "write": "file-read* file-write*",
    "run": "file-read* process-exec",
    "list": "file-read-data",
    "device": "file-read* file-write-data",
}
# What every program of macOS needs to start: its loader's shared cache and the system's libraries.
_SYSTEM = (
    *("/usr/lib", "/System/Library", "/Library/Apple", "/private/var/db/dyld"),
    *("/private/var/db/timezone", "/private/etc/localtime", "/private/etc/ssl"),
)


def profile(rights: Rights) -> str:
    """Return the profile; everything that it does not allow is denied."""
    lines = [
        "(version 1)",
        "(deny default)",
        "(allow process-fork)",
        "(allow signal (target same-sandbox))",
        "(allow sysctl-read)",
        "(allow file-read-metadata)",
        '(allow file-read* (literal "/"))',
        *(f"(allow file-read* (subpath {_text(place)}))" for place in _SYSTEM),
        '(allow file-read* (literal "/dev/urandom") (literal "/dev/random"))',
    ]
    for root in rights.roots:
        if root.path.startswith("/proc/"):
            continue  # macOS has none
        kind = "literal" if root.access in ("run", "list", "device") else "subpath"
        lines.append(f"(allow {_OPERATIONS[root.access]} ({kind} {_text(root.path)}))")
    # No link, fifo, socket or device is made anywhere, as under Landlock.
    lines.append(
        "(deny file-write-create (vnode-type SYMLINK) (vnode-type FIFO) (vnode-type SOCKET)"
        " (vnode-type BLOCK-DEVICE) (vnode-type CHARACTER-DEVICE))"
    )
    lines.append("(deny file-write-mode file-write-owner file-write-flags file-write-setugid)")
    lines += [f'(allow network-outbound (remote tcp "*:{port.number}"))' for port in rights.ports]
    return "\n".join(lines) + "\n"


def _text(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
