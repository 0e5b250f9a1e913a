"""What the pages about control stand on in tests: the same stores as the console's."""

from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any

from nacre.adapters.login_requests import HttpLoginRequests
from nacre.being.language_model.api_keys import LlmKeys
from nacre.console.parts import Control
from nacre.firewall.approvals.service import Approvals
from nacre.firewall.audit.entry import AuditEntry
from nacre.firewall.audit.log import AuditTrail
from nacre.firewall.audit.stored_log import ItemAudit, ItemRecords
from nacre.firewall.rules.sections import Settings
from nacre.gateway.login.logins import Logins
from nacre.gateway.login.store import LoginStore
from nacre.gateway.servers.references import References
from nacre.gateway.servers.store import SOURCE, ServerStore
from nacre.jobs.lease import Leases
from nacre.wiring.console import own_tools
from tests.access.conftest import Time
from tests.being.memory.minds import Minded
from tests.scaffolding.vaults import file_vault


@dataclass
class Controls:
    """The stores behind the pages, for tests that write into them or look what was written."""

    table: Any
    time: Time
    being: str
    keys: LlmKeys
    policy_file: tuple[str, str] | None = None

    def record(self, *entries: AuditEntry) -> None:
        """Write records of one process; each is a second later."""
        numbers = count(self.time().microsecond)
        log = ItemAudit(
            self.table,
            self.being,
            clock=self.time,
            new_writer=lambda: f"writer-{next(numbers)}-{self.time().timestamp():.0f}",
        )
        trail = AuditTrail(log, self.time)
        for entry in entries:
            trail.record(entry)
            self.time.pass_(seconds=1)

    def approvals(self, session: str | None = None) -> Approvals:
        """Return who asks people, as the entry does."""
        return Approvals(self.table, Settings, clock=self.time, rng=Random(3), session=session)


def control_over(
    data: Any, time: Time, own: Minded, *, is_laptop: bool
) -> tuple[Control, Controls]:
    """Return the parts of the pages, and what tests need of them."""
    vault = file_vault()
    keys = LlmKeys(data, lambda: vault, clock=time, rng=Random(4))
    made = Controls(data, time, own.being_id, keys)
    logins = Logins(
        LoginStore(lambda: data, lambda: vault, clock=time),
        lambda url: HttpLoginRequests(url, trusts_server=True),
        Leases(data, now=time),
        clock=time,
        rng=Random(6),
    )
    control = Control(
        clock=time,
        rng=Random(5),
        table=lambda: data,
        patrols=lambda: own.patrolling.calls,
        keys=lambda: keys,
        records=lambda being_id: ItemRecords(data, being_id, clock=time),
        servers=lambda: {SOURCE: ServerStore(lambda: data).load()},
        logins=lambda: logins,
        references=lambda: References(lambda name: None),
        own_tools=own_tools,
        policy_file=lambda: made.policy_file,
        is_laptop=is_laptop,
    )
    return control, made
