"""The ports that a deployment gives its features; each is opened when it is first used.

`LaptopPorts` in `laptop.py` opens files of a data folder, `StackPorts` in `aws.py` services of AWS.
"""

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from functools import cached_property as lazy
    from random import Random

    from nacre.adapters.screening.process_pool import ScreeningProcesses
    from nacre.being.orders.order.request import OrderLimits
    from nacre.core.clock import Clock
    from nacre.firewall.confine.confined_server import ConfinedStart
    from nacre.firewall.enforce.judge import Trail
    from nacre.firewall.suggested_commands import Commands
    from nacre.jobs.notifying_queue import JobSignal
    from nacre.ports.audit import AuditRecords
    from nacre.ports.blobs import Blobs
    from nacre.ports.items.table import Item, Table
    from nacre.ports.media.media_links import MediaLinks
    from nacre.ports.memory_changes import MemoryChanges
    from nacre.ports.operation.dead_letters import DeadLetters
    from nacre.ports.operation.deployment import Deployment
    from nacre.ports.operation.health import Health
    from nacre.ports.operation.residue import Residue
    from nacre.ports.processes import Holders
    from nacre.ports.queue import Queue
    from nacre.ports.secrets import Secrets
    from nacre.ports.vault import Vault
    from nacre.ports.vectors.vector_index import VectorIndex
else:
    from threading import Lock

    class lazy:  # noqa: N801  it is used as a decorator, like property
        """An attribute that is computed once, at its first use, however many threads use it."""

        def __init__(self, compute: "Callable[[Any], Any]") -> None:
            self._compute = compute
            self.__doc__ = compute.__doc__

        def __set_name__(self, _owner: type, name: str) -> None:
            self._name = name

        def __get__(self, instance: Any, _owner: type) -> Any:
            if instance is None:
                return self
            values = vars(instance)
            with values.setdefault(f"lock of {self._name}", Lock()):
                if self._name not in values:
                    values[self._name] = self._compute(instance)
            return values[self._name]


__all__ = ["Ports", "lazy"]


class Ports(Protocol):
    """The stores and services of one deployment."""

    is_stack: bool
    # Whether a worker elsewhere does long work, because this process lacks the rights.
    asks_worker: bool
    # Whether documents of OAuth clients are fetched from the internet.
    fetches_documents: bool
    call_bytes: int  # the longest tool call
    # How long another server may take for a call, whatever its entry says; None for no such limit.
    upstream_seconds: float | None
    where: str  # for people: the data folder, or the stack
    mcp_url: str | None  # a stack knows its address; a laptop's depends on how it is served
    clock: "Clock"
    # Brings back a message that waits for a lease; None if its worker looks for it.
    wake: "Callable[[str], None] | None"

    @property
    def rng(self) -> "Random":
        """The source of randomness."""
        ...

    @property
    def holders(self) -> "Holders | None":
        """The processes that may hold a lease; None if they run on other machines."""
        ...

    @property
    def data(self) -> "Table":
        """Everything but tokens and owners."""
        ...

    @property
    def non_durable_data(self) -> "Table":
        """The same items, for writes that may be lost and can be repeated."""
        ...

    @property
    def unrecorded_data(self) -> "Table":
        """The same items, for writes that are no history: those of an erasing command."""
        ...

    @property
    def memory_changes(self) -> "MemoryChanges | None":
        """The record of changes of memories; None where none is kept."""
        ...

    @property
    def token_items(self) -> "Table":
        """Tokens, owners and what belongs to them."""
        ...

    def read(self, key: tuple[str, str]) -> "Item | None":
        """Return an item of `data`, in the way that loads least."""
        ...

    @property
    def queue(self) -> "Queue":
        """The jobs."""
        ...

    @property
    def job_signal(self) -> "JobSignal":
        """Rings when this process has sent a job."""
        ...

    @property
    def dead_letters(self) -> "DeadLetters":
        """The jobs that were given up."""
        ...

    @property
    def blobs(self) -> "Blobs":
        """Large inputs and results."""
        ...

    @property
    def media_links(self) -> "MediaLinks":
        """Links for large media; only where `is_stack`."""
        ...

    @property
    def vault(self) -> "Vault":
        """Seals the secrets of Beings."""
        ...

    @property
    def secrets(self) -> "Secrets":
        """The secrets with a name."""
        ...

    def secret_at(self, place: str) -> str:
        """Return the secret at a place that a setting names; empty without a place."""
        ...

    @property
    def residue(self) -> "Residue":
        """Finds traces of erased texts."""
        ...

    @property
    def health(self) -> "Health | None":
        """The alarms and figures of a stack."""
        ...

    @property
    def deployment(self) -> "Deployment | None":
        """The resources of a stack, as its owner sees them."""
        ...

    def vectors(self, emb_id: str) -> "VectorIndex":
        """Return the index that is used without Qdrant."""
        ...

    @property
    def trail(self) -> "Trail":
        """Writes the audit of this process."""
        ...

    def records(self, being_id: str) -> "AuditRecords":
        """Return the audit of a Being; on a laptop, of all that it serves."""
        ...

    @property
    def commands(self) -> "Commands":
        """The commands with which people reach this deployment."""
        ...

    @property
    def screening(self) -> "ScreeningProcesses | None":
        """The processes that check large results; None if this process checks them itself."""
        ...

    @property
    def confine(self) -> "Callable[..., ConfinedStart] | None":
        """The function that starts a program confined; None where no programs are started."""
        ...

    @property
    def order_limits(self) -> "OrderLimits":
        """The time and size limits of orders."""
        ...

    def purge(self) -> None:
        """Remove expired items, unless the store does so by itself."""
        ...

    def close(self) -> None:
        """Close the ports that were opened."""
        ...
