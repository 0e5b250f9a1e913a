"""The message to systemd that the server answers, which a unit of `Type=notify` waits for."""

import os
import socket
from contextlib import suppress


def tell_manager() -> None:
    """Tell the manager that started this process, if one asks, that the server answers."""
    # Removed, so that no program that the server starts speaks in its place.
    address = os.environ.pop("NOTIFY_SOCKET", "")  # noqa: TID251  not a setting of ours
    if not address:
        return
    if address.startswith("@"):  # a name that is in no folder
        address = f"\0{address[1:]}"
    with (
        suppress(OSError),  # the server answers nevertheless
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager,
    ):
        manager.connect(address)
        manager.sendall(b"READY=1")
