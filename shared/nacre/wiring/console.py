"""What the owner's pages stand on: the laptop's parts, or a stack's."""

from functools import cache
from random import SystemRandom
from typing import TYPE_CHECKING

from nacre.console.memory_parts import Console
from nacre.core.clock import system_clock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nacre.being.memory.erase.eraser import Eraser
    from nacre.being.memory.services import Mind
    from nacre.jobs.lease import Leases
    from nacre.ports.items.table import Table
    from nacre.ports.residue import Residue
    from nacre.wiring.laptop import Laptop
    from nacre.wiring.settings import Settings


def laptop_console(laptop: "Laptop", options: str = "", stdio: "Sequence[str]" = ()) -> Console:
    """Return what the pages of a server on this machine stand on.

    `options` are those with which a command reaches the same folder, `stdio` serves one of its
    Beings to a client that starts programs.
    """

    @cache
    def eraser() -> "Eraser":
        from nacre.being.memory.erase.eraser import Eraser
        from nacre.jobs.lease import Leases

        home = laptop.home
        leases = Leases(home.data, now=system_clock, holders=home.holders)
        return Eraser(
            home.data,
            leases,
            lambda: laptop.minded().index.work(leases),
            home.residue,
            clock=system_clock,
            rng=SystemRandom(),
        )

    return Console(
        table=lambda: laptop.home.data,
        mind=lambda: laptop.minded().mind,
        eraser=eraser,
        export_command=f"nacre export FILE --being {{being}} {options}".strip(),
        stdio=tuple(stdio),
    )


def stack_console(settings: "Settings") -> Console:
    """Return what the pages of the portal function stand on; each is opened at the first need."""
    from nacre.core.limits import LAMBDA_MEDIA_BYTES
    from nacre.wiring.aws import _Clients
    from nacre.wiring.features.memory import stack_mind

    @cache
    def clients() -> "_Clients":
        settings.require("data_table", "queue_url")
        return _Clients(settings)

    @cache
    def table() -> "Table":
        from nacre.adapters.aws.dynamodb.table import DynamoTable

        return DynamoTable(clients()("dynamodb"), settings.data_table)

    minded = stack_mind(clients, settings, system_clock)

    def mind() -> "Mind":
        return minded().mind

    @cache
    def leases() -> "Leases":
        from nacre.jobs.lease import Leases

        return Leases(table(), now=system_clock)

    def residue() -> "Residue":
        from nacre.adapters.aws.dynamodb.residue import DynamoResidue

        return DynamoResidue(clients()("dynamodb"), [settings.data_table])

    @cache
    def eraser() -> "Eraser":
        from nacre.being.memory.erase.eraser import Eraser

        return Eraser(
            table(),
            leases(),
            lambda: minded().index.work(leases()),
            residue,
            clock=system_clock,
            rng=SystemRandom(),
        )

    return Console(
        table=table,
        mind=mind,
        eraser=eraser,
        export_command="nacre export FILE --being {being} --stack NAME",
        largest_answer=LAMBDA_MEDIA_BYTES,
    )
