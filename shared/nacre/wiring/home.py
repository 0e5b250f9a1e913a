"""Where Beings live, as the commands see it: a folder of this machine, or a stack on AWS."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nacre.access.beings import Beings
from nacre.access.owners import Owners
from nacre.access.token_store import TokenStore
from nacre.ports.secrets import Secrets

if TYPE_CHECKING:
    from nacre.memory.index_jobs import IndexWork


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
    # A stack knows its address; a laptop's depends on how it is served.
    mcp_url: str | None = None
    close: Callable[[], None] = lambda: None
