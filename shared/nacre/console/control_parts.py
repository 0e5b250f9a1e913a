"""What the pages about control work on: rules, approvals, the audit, patrols, other servers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from nacre.core.clock import Clock

if TYPE_CHECKING:
    from nacre.being.language_model.api_keys import LlmKeys
    from nacre.being.patrol.trigger import PatrolCalls
    from nacre.gateway.servers.config import ServerList
    from nacre.ports.audit import AuditRecords
    from nacre.ports.items.table import Table


@dataclass(frozen=True, slots=True)
class Control:
    """Each part is made when a page first needs it."""

    clock: Clock
    rng: Random
    table: "Callable[[], Table]"
    patrols: "Callable[[], PatrolCalls]"
    keys: "Callable[[], LlmKeys]"
    records: "Callable[[str], AuditRecords]"  # by a Being's id
    servers: "Callable[[], Mapping[str, ServerList]]"  # by where they are configured
    own_tools: Callable[[], Sequence[str]]
    # The policy file that comes before what is pushed, where there is one: its name and text.
    policy_file: Callable[[], tuple[str, str] | None] = lambda: None
    # On a laptop proxies record in the same audit, for nobody's Being.
    is_laptop: bool = True
