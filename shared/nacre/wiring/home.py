"""Where Beings live, as the commands see it: a folder of this machine, or a stack on AWS."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nacre.access.beings import Beings
from nacre.access.owners import Owners
from nacre.access.tokens.store import TokenStore
from nacre.ports.secrets import Secrets

if TYPE_CHECKING:
    from nacre.access.authority import Authority
    from nacre.being.memory.index.jobs import IndexWork
    from nacre.being.patrol.executor import PatrolWork
    from nacre.ports.blobs import Blobs
    from nacre.ports.dead_letters import DeadLetters
    from nacre.ports.health import Health
    from nacre.ports.items.table import Table
    from nacre.ports.processes import Holders
    from nacre.ports.residue import Residue
    from nacre.ports.vault import Vault


@dataclass(frozen=True, slots=True)
class Home:
    """What the data commands work on; the same on both wirings."""

    where: str
    owners: Owners
    beings: Beings
    tokens: TokenStore
    secrets: Secrets
    # Few commands need it, and it loads the memory.
    index: "Callable[[], IndexWork]"
    patrols: "Callable[[], PatrolWork]"
    # What moves and erases whole Beings reads and writes their items itself.
    data: "Table"
    blobs: "Callable[[], Blobs]"
    residue: "Callable[[], Residue]"
    dead_letters: "Callable[[], DeadLetters]"
    # What seals a Being's own secrets.
    vault: "Callable[[], Vault]"
    # Who signs in, and which clients were let in: the same one each time.
    authority: "Callable[[], Authority]"
    # Which processes may hold a lease; None where they run on other machines.
    holders: "Holders | None" = None
    # What brings back a message that waits for a lease; None where its worker looks by itself.
    wake: Callable[[str], None] | None = None
    # Who watches it; nobody watches a laptop.
    health: "Callable[[], Health] | None" = None
    # A stack knows its address; a laptop's depends on how it is served.
    mcp_url: str | None = None
    close: Callable[[], None] = lambda: None
