"""What stands between a client and somebody else's server: policy, pins, approvals, audit."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nacre.adapters.screening.process_pool import ScreeningProcesses
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.core.clock import Clock, system_clock
from nacre.core.errors import InvalidInputError
from nacre.core.own_server_name import OWN, is_own
from nacre.firewall.enforce.guard import Guard
from nacre.firewall.enforce.judge import Judge
from nacre.firewall.enforce.large_results import LargeMessage, Looked
from nacre.firewall.pins import GLOBAL, Pins
from nacre.firewall.rules.rule import NOWHERE, Surroundings
from nacre.protocol.dispatch.request_state import RequestStates
from nacre.wiring.data_folder import DATABASE, prepare_data_folder
from nacre.wiring.features.firewall import (
    LateApprover,
    Tell,
    approver_over,
    laptop_commands,
    laptop_trail,
    to_stderr,
)
from nacre.wiring.features.policies import laptop_policies
from nacre.wiring.laptop_keys import request_state_keys
from nacre.wiring.settings import Settings

if TYPE_CHECKING:
    from nacre.firewall.approvals.approver import Approver


@dataclass(frozen=True, slots=True)
class ProxyParts:
    """What a proxy is made of; conversations of one server share it, threads too."""

    new_guard: Callable[..., Guard]
    look: Callable[[bytes, LargeMessage], Looked | None]
    close: Callable[[], None]


def open_proxy(
    settings: Settings,
    server: str,
    *,
    where: Surroundings = NOWHERE,
    clock: Clock = system_clock,
    tell: Tell = to_stderr,
) -> ProxyParts:
    """Return the parts of a proxy before a server that rules, pins and audit know by a name.

    `new_guard(lines=True, principal="local")` gives the guard of one conversation. Raises
    PolicyError for a policy file that is wrong, InvalidInputError for our own name.
    """
    if is_own(server):
        raise InvalidInputError(
            f"rules take '{OWN}' for a Being's own tools; call this server otherwise with --name"
        )
    folder = prepare_data_folder(settings.data_folder)
    database = SqliteDatabase(folder / DATABASE)
    table = SqliteTable(database, "data", now=clock)
    source = laptop_policies(settings, table, tell)
    commands = laptop_commands(folder)
    trail = laptop_trail(folder, table, clock)

    def approver() -> "Approver":
        return approver_over(
            table, lambda: source.current().settings, clock, is_session=True, commands=commands
        )

    asker = LateApprover(approver)
    judge = Judge(source, trail, tell, server, where, approver=asker, commands=commands)
    pins = Pins(table, GLOBAL)
    states = RequestStates(request_state_keys(folder, lambda: table, clock), clock)

    screening = ScreeningProcesses()  # starts none before there is something large

    def new_guard(*, lines: bool = True, principal: str = "local") -> Guard:
        return Guard(
            judge, pins=pins, states=states, principal=principal, lines=lines, screening=screening
        )

    def close() -> None:
        screening.close()
        trail.close()
        database.close()

    def look(raw: bytes, large: LargeMessage) -> Looked | None:
        return screening.look(raw, large.method, large.sections, lines=large.lines)

    return ProxyParts(new_guard, look, close)
