"""What the owner's pages work on, the same in the portal function and in the laptop server."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nacre.being.memory.erase.eraser import Eraser
    from nacre.being.memory.services import Mind
    from nacre.ports.items.table import Table


@dataclass(frozen=True, slots=True)
class Console:
    """Each part is made when a page first needs it, and is the same one afterwards."""

    table: "Callable[[], Table]"
    mind: "Callable[[], Mind]"
    eraser: "Callable[[], Eraser]"
    # The command that exports a Being, whose id stands for {being}; and what is too large here.
    export_command: str = "nacre export FILE --being {being}"
    largest_answer: int | None = None
    # The command line that serves a Being over stdio to a client on this machine, with {being}
    # for its id; empty where there is none.
    stdio: tuple[str, ...] = ()
