"""The keys of a laptop that seal what clients keep for us."""

from functools import cache
from random import SystemRandom
from typing import TYPE_CHECKING

from nacre.wiring.data_folder import VAULT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from nacre.access.state_keys import StoredSigningKeys
    from nacre.core.clock import Clock
    from nacre.ports.items.table import Table
    from nacre.protocol.dispatch.request_state import SigningKeys


def request_state_keys(
    folder: "Path", table: "Callable[[], Table]", clock: "Clock"
) -> "Callable[[], SigningKeys]":
    """Return the keys that seal requestState; few calls need them, so they load on first use."""

    @cache
    def stored() -> "StoredSigningKeys":
        from nacre.access.state_keys import StoredSigningKeys
        from nacre.adapters.files.vault import FileVault

        return StoredSigningKeys(
            table(), FileVault(folder / VAULT), clock=clock, rng=SystemRandom()
        )

    return lambda: stored()()
