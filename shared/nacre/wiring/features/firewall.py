"""The policy gate before a Being's own tools, on the laptop and on AWS."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from functools import cache
from random import SystemRandom
from typing import TYPE_CHECKING, Any

from nacre.firewall.entry.guarded_surface import GuardedSurface
from nacre.wiring.data_folder import AUDIT
from nacre.wiring.features.memory import Once
from nacre.wiring.settings import is_on_path, user_data_folder, user_policy_file

if TYPE_CHECKING:
    from pathlib import Path

    from nacre.core.clock import Clock
    from nacre.firewall.approvals.approver import Approver
    from nacre.firewall.audit.entry import Record
    from nacre.firewall.audit.log import AuditTrail
    from nacre.firewall.enforce.judge import Judge
    from nacre.firewall.enforce.large_results import Screening
    from nacre.firewall.entry.entry_judge import EntryJudge
    from nacre.firewall.entry.mounted_content import MountedContent
    from nacre.firewall.policies.laptop_policy import LaptopPolicies
    from nacre.firewall.rules.sections import Settings as PolicySettings
    from nacre.firewall.suggested_commands import Commands
    from nacre.gateway.lazy_mounts import LateMounts
    from nacre.ports.audit import AuditRecords
    from nacre.ports.items.table import Table
    from nacre.protocol.surface import Surface
    from nacre.wiring.features.gateway import Gateway
    from nacre.wiring.settings import Settings

_MOST_BEINGS = 256  # whose trails one process keeps; the chain of one that is let go has ended

Tell = Callable[[str], None]


def to_stderr(said: str) -> None:
    """Tell the owner of this process, on standard error."""
    line = {"level": "WARNING", "event": "policy", "said": said}
    print(json.dumps(line), file=sys.stderr, flush=True)  # noqa: T201 - there is no log yet


def laptop_entry(
    surface: "Surface",
    settings: "Settings",
    table: "Callable[[], Table]",
    folder: "Path",
    clock: "Clock",
    *,
    tell: Tell = to_stderr,
    gateway: "Gateway | None" = None,
    screening: "Callable[[], Screening] | None" = None,
) -> "tuple[GuardedSurface, Callable[[], None]]":
    """Return the surface behind this machine's policy, and how to end its audit.

    `screening` looks at large results of the servers behind it.

    PolicyError for a policy file that is wrong.
    """
    opened: list[AuditTrail] = []
    mounts = None if gateway is None else gateway.judged_by(lambda: decides())

    def read_policies() -> "LaptopPolicies":
        from nacre.wiring.features.policies import laptop_policies

        return laptop_policies(settings, table(), tell)

    policies = Once(read_policies)
    # A wrong file is told of at the start; without one, nothing of it is loaded yet.
    if os.path.exists(settings.policy_file or user_policy_file()):  # noqa: PTH110 - as in settings
        policies()

    def entry() -> "EntryJudge":
        from nacre.core.own_server_name import OWN
        from nacre.firewall.enforce.judge import Judge
        from nacre.firewall.policies.stored_policy import ScopedPolicy

        trail = laptop_trail(folder, table(), clock)
        commands = laptop_commands(folder)
        opened.append(trail)

        @cache
        def judge(being_id: str) -> Judge:
            source = ScopedPolicy(policies(), being_id or None)

            def approver() -> "Approver":
                return approver_over(
                    table(),
                    lambda: source.current().settings,
                    clock,
                    is_session=True,
                    commands=commands,
                )

            asker = LateApprover(approver)
            return Judge(source, trail, tell, OWN, approver=asker, commands=commands)

        return _entry_judge(judge, mounts, table, screening)

    def close() -> None:
        for each in opened:
            each.close()

    decides = Once(entry)
    return GuardedSurface(surface, decides), close


def _entry_judge(
    judges: "Callable[[str], Judge]",
    mounts: "LateMounts | None",
    table: "Callable[[], Table]",
    screening: "Callable[[], Screening] | None" = None,
) -> "EntryJudge":
    """Return who decides; without `screening`, large results are looked at in this process."""
    from nacre.firewall.entry.entry_judge import EntryJudge

    if mounts is None:
        return EntryJudge(judges)

    def content() -> "MountedContent":
        from nacre.firewall.entry.mounted_content import MountedContent
        from nacre.firewall.pins import GLOBAL, Pins

        helpers = None if screening is None else screening()
        return MountedContent(lambda: Pins(table(), GLOBAL), screening=helpers)

    return EntryJudge(judges, mounts=mounts, content=Once(content))


def laptop_trail(folder: "Path", table: "Table", clock: "Clock") -> "AuditTrail":
    """Return the audit of this process in the data folder."""
    from nacre.adapters.files.audit import JsonlAudit
    from nacre.firewall.audit.log import AuditTrail
    from nacre.firewall.audit.stored_log import Anchors

    return AuditTrail(JsonlAudit(folder / AUDIT), clock, anchor=Anchors(table).note)


def stack_entry(
    surface: "Surface",
    settings: "Settings",
    table: "Callable[[], Table]",
    clock: "Clock",
    *,
    tell: Tell = to_stderr,
    gateway: "Gateway | None" = None,
) -> "GuardedSurface":
    """Return the surface behind a stack's policy; nothing is read before the first call."""

    mounts = None if gateway is None else gateway.judged_by(lambda: decides())

    def entry() -> "EntryJudge":
        from nacre.core.own_server_name import OWN
        from nacre.firewall.enforce.judge import Judge
        from nacre.firewall.policies.stored_policy import ScopedPolicy
        from nacre.firewall.suggested_commands import Commands
        from nacre.wiring.features.policies import stack_policies

        policies = stack_policies(settings, tell)
        trails = BeingTrails(settings, clock)
        commands = Commands(place=f" --stack {settings.stack or 'NAME'}")

        @cache
        def judge(being_id: str) -> Judge:
            source = ScopedPolicy(policies, being_id or None)

            def approver() -> "Approver":
                return approver_over(
                    table(),
                    lambda: source.current().settings,
                    clock,
                    is_session=False,
                    commands=commands,
                    holds=False,  # a function that waits is paid for
                )

            asker = LateApprover(approver)
            return Judge(source, trails, tell, OWN, approver=asker, commands=commands)

        return _entry_judge(judge, mounts, table)

    decides = Once(entry)
    return GuardedSurface(surface, decides)


class BeingTrails:
    """The audit of one execution environment: a chain for each Being, in the item store."""

    def __init__(self, settings: "Settings", clock: "Clock") -> None:
        from nacre.adapters.aws.dynamodb.append import SignedAppend
        from nacre.wiring.signed_requests import signed

        self._clock = clock
        self._stack = settings.stack
        self._trails: dict[str, AuditTrail] = {}
        self._table = signed(SignedAppend, settings.data_table, settings)

    def record(self, entry: "Record") -> str:
        """Keep one record in the chain of its Being."""
        trail = self._trails.get(entry.being)
        if trail is None:
            if len(self._trails) >= _MOST_BEINGS:
                self._trails.clear()
            trail = self._trails[entry.being] = self._opened(entry.being)
        return trail.record(entry)

    def _opened(self, being_id: str) -> "AuditTrail":
        from nacre.core.ids import ulids
        from nacre.firewall.audit.log import AuditTrail
        from nacre.firewall.audit.stored_log import ItemAudit

        log = ItemAudit(
            self._table,
            being_id or "nobody",
            clock=self._clock,
            new_writer=lambda: ulids(self._clock(), SystemRandom(), 1)[0],
        )
        return AuditTrail(log, self._clock, log_line=self._to_log)

    def _to_log(self, facts: Mapping[str, Any]) -> None:
        """Write a record as a structured line, where the function's log keeps it too.

        But for the shape of the arguments: their names are a caller's to choose.
        """
        facts = {name: value for name, value in facts.items() if name != "shape"}
        if self._stack and facts["outcome"] == "deny" and facts.get("enforced", True):
            from nacre.core.metrics import POLICY_DENIALS, count

            count(self._stack, "audit", {POLICY_DENIALS: 1}, **facts)
            return
        line = {"level": "INFO", "event": "audit", **facts}
        print(json.dumps(line), file=sys.stderr, flush=True)  # noqa: T201 - as above


class LateApprover:
    """An approver that is made when somebody has to be asked."""

    def __init__(self, make: "Callable[[], Approver]") -> None:
        self._make = cache(make)

    def ask(self, request: Any, *, can_elicit: bool) -> Any:
        """Ask whoever it is."""
        return self._make().ask(request, can_elicit=can_elicit)

    def answered(self, request: Any, ticket: str, result: Mapping[str, Any]) -> Any:
        """Take an answer."""
        return self._make().answered(request, ticket, result)

    def look(self, request: Any, ticket: str) -> Any:
        """Return how a question stands."""
        return self._make().look(request, ticket)


def approver_over(
    table: "Table",
    settings: "Callable[[], PolicySettings]",
    clock: "Clock",
    *,
    is_session: bool,
    commands: "Commands",
    holds: bool = True,
) -> "Approver":
    """Return who asks people; `commands` are those that find the table."""
    from nacre.core.ids import short_id
    from nacre.firewall.approvals.service import Approvals

    rng = SystemRandom()
    session = short_id(rng) if is_session else None
    return Approvals(
        table,
        settings,
        clock=clock,
        rng=rng,
        session=session,
        commands=commands,
        holds=holds,
    )


def laptop_commands(folder: "Path") -> "Commands":
    """Return the commands that find this data folder from the terminal of its owner.

    A client may start this program with another PATH and NACRE_HOME than a terminal has.
    """
    from nacre.firewall.suggested_commands import Commands

    place = "" if str(folder) == user_data_folder() else f" --data-dir {_quoted(str(folder))}"
    if is_on_path():
        return Commands(place=place)
    script = os.path.abspath(sys.argv[0])  # noqa: PTH100 - pathlib is not loaded here
    if os.path.basename(script) == "nacre":  # noqa: PTH119 - the same
        return Commands(_quoted(script), place)
    return Commands(f"{_quoted(sys.executable)} -m nacre.cli", place)


def _quoted(text: str) -> str:
    from shlex import quote

    return quote(text)


def laptop_records(folder: "Path", table: "Table") -> "AuditRecords":
    """Return all that this machine has recorded."""
    from nacre.adapters.files.audit import JsonlRecords
    from nacre.firewall.audit.stored_log import Anchors

    return JsonlRecords(folder / AUDIT, Anchors(table).noted)


def stack_records(table: "Table", being_id: str, clock: "Clock") -> "AuditRecords":
    """Return all that a stack has recorded of a Being."""
    from nacre.firewall.audit.stored_log import ItemRecords

    return ItemRecords(table, being_id, clock=clock)
