"""The ports of a laptop, over SQLite and files in one folder, and the features on top of them."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.core.clock import Clock, system_clock
from nacre.core.limits import MAX_CALL_BYTES
from nacre.core.names import BEING_NAMES
from nacre.wiring.compose import Home, compose
from nacre.wiring.data_folder import AUDIT, DATABASE, SECRETS, VAULT, prepare_data_folder
from nacre.wiring.ports import lazy
from nacre.wiring.settings import Settings, is_on_path, user_policy_file
from nacre.wiring.user_folder import user_data_folder

if TYPE_CHECKING:
    from random import Random

    from nacre.access.beings import Being
    from nacre.adapters.files.blobs import FileBlobs
    from nacre.adapters.files.secrets import FileSecrets
    from nacre.adapters.files.vault import FileVault
    from nacre.adapters.processes import Processes
    from nacre.adapters.screening.process_pool import ScreeningProcesses
    from nacre.adapters.sqlite.dead_letters import SqliteDeadLetters
    from nacre.adapters.sqlite.memory_changes import SqliteMemoryChanges
    from nacre.adapters.sqlite.residue import SqliteResidue
    from nacre.being.orders.order.request import OrderLimits
    from nacre.firewall.audit.log import AuditTrail
    from nacre.firewall.confine.confined_server import ConfinedStart
    from nacre.firewall.suggested_commands import Commands
    from nacre.jobs.notifying_queue import AnnouncingQueue, JobSignal
    from nacre.ports.audit import AuditRecords
    from nacre.ports.items.table import Item
    from nacre.ports.media.media_links import MediaLinks
    from nacre.ports.vectors.vector_index import VectorIndex

QUEUE = "jobs"
BLOBS = "blobs"


class LaptopPorts:
    """The ports over a data folder, which is created if it is missing.

    With `to_read`, a read-only folder is enough.
    """

    is_stack = False
    asks_worker = False
    call_bytes = MAX_CALL_BYTES
    upstream_seconds: float | None = None
    mcp_url: str | None = None
    wake: "Callable[[str], None] | None" = None
    health = None
    deployment = None

    def __init__(
        self,
        folder: str | Path,
        *,
        clock: Clock = system_clock,
        to_read: bool = False,
        fetches_documents: bool = False,
    ) -> None:
        self.folder = prepare_data_folder(folder, to_read=to_read)
        self.where = str(self.folder)
        self.clock = clock
        self.fetches_documents = fetches_documents
        self.database = SqliteDatabase(self.folder / DATABASE)
        self.data = SqliteTable(
            self.database, "data", now=clock, changes=lambda: self.memory_changes
        )
        self.token_items = SqliteTable(self.database, "tokens", now=clock)

    @lazy
    def rng(self) -> "Random":
        """The source of random numbers."""
        from random import SystemRandom

        return SystemRandom()

    @lazy
    def holders(self) -> "Processes":
        """The processes of this machine, each of which may hold leases."""
        from nacre.adapters.processes import Processes

        return Processes()

    @lazy
    def non_durable_data(self) -> SqliteTable:
        """The items of `data`, for writes that need not wait for the disk."""
        return SqliteTable(
            self.database,
            "data",
            now=self.clock,
            durable=False,
            changes=lambda: self.memory_changes,
        )

    @lazy
    def memory_changes(self) -> "SqliteMemoryChanges":
        """The record of changes of memories."""
        from nacre.adapters.sqlite.memory_changes import SqliteMemoryChanges

        return SqliteMemoryChanges(self.database)

    @lazy
    def unrecorded_data(self) -> SqliteTable:
        """The items of `data`, for writes that the record of changes leaves out."""
        from nacre.adapters.sqlite.memory_changes import SqliteMemoryChanges

        unrecorded = SqliteMemoryChanges(self.database, keeps=False)
        return SqliteTable(self.database, "data", now=self.clock, changes=lambda: unrecorded)

    def read(self, key: tuple[str, str]) -> "Item | None":
        """Return an item of `data`."""
        from nacre.ports.items.table import Key

        return self.data.get(Key(*key))

    @lazy
    def job_signal(self) -> "JobSignal":
        """Wakes the worker when this process sends a job."""
        from nacre.jobs.notifying_queue import JobSignal

        return JobSignal()

    @lazy
    def queue(self) -> "AnnouncingQueue":
        """The queue of background jobs."""
        from nacre.adapters.sqlite.queue import SqliteQueue
        from nacre.jobs.notifying_queue import AnnouncingQueue

        queue = SqliteQueue(self.database, QUEUE, now=self.clock, holders=self.holders)
        return AnnouncingQueue(queue, self.job_signal)

    @lazy
    def dead_letters(self) -> "SqliteDeadLetters":
        """The jobs that failed too often."""
        from nacre.adapters.sqlite.dead_letters import SqliteDeadLetters

        return SqliteDeadLetters(self.database, QUEUE, now=self.clock)

    @lazy
    def blobs(self) -> "FileBlobs":
        """Large inputs and results."""
        from nacre.adapters.files.blobs import FileBlobs

        return FileBlobs(self.folder / BLOBS, now=self.clock)

    @property
    def media_links(self) -> "MediaLinks":
        """Links for large media, which a laptop does not need."""
        raise AssertionError("media pass by links on a stack only")

    @lazy
    def vault(self) -> "FileVault":
        """Seals the secrets of Beings with a key in a file."""
        from nacre.adapters.files.vault import FileVault

        return FileVault(self.folder / VAULT)

    @lazy
    def secrets(self) -> "FileSecrets":
        """The named secrets."""
        from nacre.adapters.files.secrets import FileSecrets

        return FileSecrets(self.folder / SECRETS)

    def secret_at(self, place: str) -> str:
        """Return "", because a laptop's settings hold the secrets themselves."""
        return ""

    @lazy
    def residue(self) -> "SqliteResidue":
        """Finds traces of erased texts."""
        from nacre.adapters.sqlite.residue import SqliteResidue

        return SqliteResidue(self.database)

    def vectors(self, emb_id: str) -> "VectorIndex":
        """Return the index in the store's own file."""
        from nacre.adapters.sqlite.vectors import LocalVectors

        return LocalVectors(self.database, emb_id)

    @lazy
    def trail(self) -> "AuditTrail":
        """Writes the audit of this process."""
        from nacre.adapters.files.audit import JsonlAudit
        from nacre.firewall.audit.log import AuditTrail
        from nacre.firewall.audit.stored_log import Anchors

        log = JsonlAudit(self.folder / AUDIT)
        return AuditTrail(log, self.clock, anchor=Anchors(self.data).note)

    def records(self, being_id: str) -> "AuditRecords":
        """Return the audit of every Being, and of proxies, in this folder."""
        from nacre.adapters.files.audit import JsonlRecords
        from nacre.firewall.audit.stored_log import Anchors

        return JsonlRecords(self.folder / AUDIT, Anchors(self.data).noted)

    @lazy
    def commands(self) -> "Commands":
        """The commands to suggest to the owner; they work on this folder from any terminal.

        A client may have started this program with a PATH and NACRE_HOME that a terminal lacks.
        """
        from nacre.firewall.suggested_commands import Commands

        place = "" if self.where == user_data_folder() else f" --data-dir {_quoted(self.where)}"
        if is_on_path():
            return Commands(place=place)
        script = Path(sys.argv[0]).absolute()
        if script.name == "nacre":
            return Commands(_quoted(str(script)), place)
        return Commands(f"{_quoted(sys.executable)} -P -m nacre.cli", place)

    @lazy
    def screening(self) -> "ScreeningProcesses":
        """The processes that check large results; they start with the first large result."""
        from nacre.adapters.screening.process_pool import ScreeningProcesses

        return ScreeningProcesses()

    @lazy
    def confine(self) -> "Callable[..., ConfinedStart]":
        """The function that starts a program confined."""
        from nacre.wiring.features.confine import confined_program

        return confined_program

    @lazy
    def order_limits(self) -> "OrderLimits":
        """The time and size limits of orders."""
        from nacre.being.orders.order.request import OrderLimits

        return OrderLimits.laptop()

    def purge(self) -> None:
        """Remove expired items."""
        self.token_items.purge()
        self.data.purge()

    def close(self) -> None:
        """End the audit and the processes, and close the store."""
        opened = vars(self)
        if "trail" in opened:
            self.trail.close()
        if "screening" in opened:
            self.screening.close()
        self.database.close()


def open_home(folder: str | Path) -> Home:
    """Return the features of a data folder for commands; create the folder if it is missing."""
    return compose(LaptopPorts(folder, to_read=True))


def open_laptop(
    folder: str | Path,
    settings: Settings | None = None,
    *,
    clock: Clock = system_clock,
    order_name: str = "",
) -> Home:
    """Return the features of a server over the data folder; without settings, the defaults count.

    `order_name` replaces the name that a Being gave to its orders. Raises PolicyError if the
    policy file is wrong.
    """
    chosen = settings or Settings(data_folder=str(folder))
    # A server that the internet can reach can also reach the internet.
    ports = LaptopPorts(folder, clock=clock, fetches_documents=bool(chosen.public_url))
    home = compose(ports, chosen, order_name=order_name)
    # Load an existing policy file at the start, so that mistakes in it are reported at once.
    if Path(chosen.policy_file or user_policy_file()).exists():
        _ = home.policies
    return home


def store_problems(folder: Path) -> list[str]:
    """Read the whole store and return the damage in it, if any."""
    database = SqliteDatabase(folder / DATABASE)
    try:
        return database.problems()
    finally:
        database.close()


def first_being(
    home: Home, owner: str = "", name: Callable[[], str] = lambda: BEING_NAMES[0]
) -> "Being | None":
    """Create a Being if the owner has none, and return it; otherwise return None.

    `name` is called for the name of the new Being.
    """
    from nacre.access.owners import DEFAULT_OWNER
    from nacre.core.errors import ConflictError

    owner = owner or DEFAULT_OWNER
    if home.beings.of_owner(owner):
        return None
    try:
        return home.beings.create(name(), owner=owner)
    except ConflictError:  # another process was faster
        return None


def _quoted(text: str) -> str:
    from shlex import quote

    return quote(text)
