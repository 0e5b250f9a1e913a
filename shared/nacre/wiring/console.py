"""What the owner's pages stand on: the laptop's parts, or a stack's."""

from functools import cache
from typing import TYPE_CHECKING

from nacre.console.parts import Console

if TYPE_CHECKING:
    from nacre.memory.mind import Mind
    from nacre.ports.table import Table
    from nacre.wiring.embedded import Laptop
    from nacre.wiring.settings import Settings


def laptop_console(laptop: "Laptop") -> Console:
    """Return what the pages of a server on this machine stand on."""
    return Console(
        table=lambda: laptop.home.data,
        mind=lambda: laptop.minded().mind,
    )


def stack_console(settings: "Settings") -> Console:
    """Return what the pages of the portal function stand on; each is opened at the first need."""
    from nacre.clock import system_clock
    from nacre.wiring.aws import _Clients
    from nacre.wiring.mind import stack_mind

    @cache
    def table() -> "Table":
        from nacre.adapters.dynamodb_table import DynamoTable

        settings.require("data_table")
        return DynamoTable(_Clients(settings)("dynamodb"), settings.data_table)

    minded = stack_mind(lambda: _Clients(settings), settings, system_clock)

    def mind() -> "Mind":
        settings.require("data_table", "queue_url")
        return minded().mind

    return Console(table=table, mind=mind)
