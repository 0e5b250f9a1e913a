"""What the pages about control stand on: the laptop's parts, or a stack's."""

from collections.abc import Callable, Mapping
from functools import cache
from random import SystemRandom
from typing import TYPE_CHECKING, Any

from nacre.console.control_parts import Control
from nacre.core.clock import system_clock

if TYPE_CHECKING:
    from nacre.being.language_model.api_keys import LlmKeys
    from nacre.being.patrol.trigger import PatrolCalls
    from nacre.gateway.servers.config import ServerList
    from nacre.ports.audit import AuditRecords
    from nacre.ports.items.table import Table
    from nacre.wiring.laptop import Laptop
    from nacre.wiring.settings import Settings


def laptop_control(laptop: "Laptop", settings: "Settings") -> Control:
    """Return what the pages of a server on this machine stand on."""
    home = laptop.home
    rng = SystemRandom()

    def keys() -> "LlmKeys":
        from nacre.being.language_model.api_keys import LlmKeys

        return LlmKeys(home.data, home.vault, clock=system_clock, rng=rng)

    def records(_being_id: str) -> "AuditRecords":
        from nacre.wiring.features.firewall import laptop_records

        return laptop_records(laptop.folder, home.data)

    return Control(
        clock=system_clock,
        rng=rng,
        table=lambda: home.data,
        patrols=lambda: laptop.minded().patrolling().calls,
        keys=keys,
        records=records,
        servers=lambda: _servers(settings, home.data, is_stack=False),
        own_tools=own_tools,
        policy_file=lambda: policy_file(settings),
    )


def stack_control(settings: "Settings") -> Control:
    """Return what the pages of the portal function stand on; each is opened at the first need."""
    rng = SystemRandom()

    @cache
    def clients() -> "Callable[[str], Any]":
        from nacre.wiring.aws import _Clients

        return _Clients(settings)

    @cache
    def table() -> "Table":
        from nacre.adapters.aws.dynamodb.table import DynamoTable

        settings.require("data_table")
        return DynamoTable(clients()("dynamodb"), settings.data_table)

    @cache
    def keys() -> "LlmKeys":
        from nacre.being.language_model.api_keys import LlmKeys
        from nacre.wiring.features.models import kms_vault

        settings.require("key_arn")
        vault = kms_vault(clients(), settings.key_arn)
        return LlmKeys(table(), vault, clock=system_clock, rng=rng)

    @cache
    def patrols() -> "PatrolCalls":
        from nacre.adapters.aws.sqs_queue import SqsQueue
        from nacre.being.memory.patrol_trigger import PatrolTrigger
        from nacre.being.memory.store.history import History
        from nacre.being.patrol.trigger import PatrolCalls
        from nacre.jobs.lease import Leases
        from nacre.wiring.features.models import stack_thinkers

        settings.require("queue_url")
        # Nothing here takes messages, so none can be given up.
        queue = SqsQueue(clients()("sqs"), settings.queue_url, dead_letter_url="")
        return PatrolCalls(
            table(),
            History(table(), clock=system_clock),
            PatrolTrigger(table(), queue, clock=system_clock),
            Leases(table(), now=system_clock),
            stack_thinkers(clients, settings, system_clock),
        )

    def records(being_id: str) -> "AuditRecords":
        from nacre.wiring.features.firewall import stack_records

        return stack_records(table(), being_id, system_clock)

    return Control(
        clock=system_clock,
        rng=rng,
        table=table,
        patrols=patrols,
        keys=keys,
        records=records,
        servers=lambda: _servers(settings, table(), is_stack=True),
        own_tools=own_tools,
        is_laptop=False,
    )


@cache
def own_tools() -> tuple[str, ...]:
    """Return the names of a Being's own tools."""
    from nacre.being.application import being_server

    def nobody() -> Any:
        raise AssertionError("no tool is called")

    return tuple(str(tool["name"]) for tool in being_server(nobody, patrols=nobody).tools())


def policy_file(settings: "Settings") -> tuple[str, str] | None:
    """Return the name and the text of the policy file, where there is one."""
    from nacre.wiring.features.policies import policy_path

    path, _ = policy_path(settings)
    try:
        return path.name, path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return None


def _servers(settings: "Settings", table: "Table", *, is_stack: bool) -> "Mapping[str, ServerList]":
    from nacre.wiring.features.gateway import server_lists

    return server_lists(settings, table, is_stack=is_stack)
