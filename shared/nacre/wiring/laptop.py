"""The laptop: SQLite and files in one folder."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING

from nacre.access.beings import Being, Beings
from nacre.access.owners import DEFAULT_OWNER, Owners
from nacre.access.tokens.authentication import Gate
from nacre.access.tokens.store import TokenStore
from nacre.adapters.files.secrets import FileSecrets
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.being.application import Application, being_server
from nacre.core.clock import Clock, system_clock
from nacre.core.errors import ConflictError
from nacre.core.limits import MAX_CALL_BYTES
from nacre.core.names import BEING_NAMES
from nacre.jobs.notifying_queue import AnnouncingQueue, Bell
from nacre.protocol.dispatch.request_state import RequestStates, SigningKeys
from nacre.protocol.dispatch.used_states import UsedStates
from nacre.wiring.data_folder import DATABASE, SECRETS, VAULT, prepare_data_folder
from nacre.wiring.features.access import cached_authority
from nacre.wiring.features.firewall import laptop_entry, to_stderr
from nacre.wiring.features.gateway import laptop_gateway
from nacre.wiring.features.memory import (
    Minded,
    Once,
    laptop_mind,
    register_memory_jobs,
    sweep_memories,
)
from nacre.wiring.features.orders import laptop_ordering, order_names
from nacre.wiring.home import Home
from nacre.wiring.laptop_keys import request_state_keys
from nacre.wiring.settings import Settings

if TYPE_CHECKING:
    from nacre.adapters.screening.process_pool import ScreeningProcesses
    from nacre.being.memory.index.jobs import IndexWork
    from nacre.being.patrol.executor import PatrolWork
    from nacre.jobs.lease import Leases
    from nacre.jobs.loop import Report, WorkerLoop
    from nacre.jobs.worker import Worker
    from nacre.ports.blobs import Blobs
    from nacre.ports.dead_letters import DeadLetters
    from nacre.ports.processes import Holders
    from nacre.ports.queue import Queue
    from nacre.ports.residue import Residue
    from nacre.ports.vault import Vault
    from nacre.protocol.application_rules import Explainer
    from nacre.wiring.features.tasks import Tasking

QUEUE = "jobs"
BLOBS = "blobs"


@dataclass(frozen=True, slots=True)
class Laptop:
    """Everything that a server on this machine is made of."""

    folder: Path
    home: Home
    gate: Gate
    application: Application
    keys: Callable[[], SigningKeys]
    # A client's own stdio server has no jobs at first, and so loads nothing of the worker.
    # The rules say what becomes of an error in a task.
    worker_loop: "Callable[[Report, Explainer], WorkerLoop]"
    bell: Bell  # rings when this process has sent a job
    minded: Callable[[], Minded]
    close: Callable[[], None]


def open_home(folder: str | Path) -> Home:
    """Return the data folder as the commands see it, made when it was not there."""
    return _home(prepare_data_folder(folder, to_read=True), system_clock)[0]


def open_laptop(
    folder: str | Path,
    settings: Settings | None = None,
    *,
    clock: Clock = system_clock,
    order_name: str = "",
) -> Laptop:
    """Return the parts of a server over the data folder; without settings, the defaults.

    `order_name` is what orders are called here, whatever the Being calls them.
    """
    prepared = prepare_data_folder(folder)
    chosen = settings or Settings(data_folder=str(prepared))
    home, database = _home(prepared, clock, reached=bool(chosen.public_url))
    keys = request_state_keys(prepared, lambda: home.data, clock)
    bell = Bell()
    minded = laptop_mind(
        database,
        lambda: _queue(database, clock, bell),
        chosen,
        clock,
        leases=lambda: _leases(database, clock),
        key_file=prepared / VAULT,
    )
    ordering = laptop_ordering(
        database, minded, chosen, clock, key_file=prepared / VAULT, holders=_processes
    )
    screening = Once(_screening)
    gateway = laptop_gateway(chosen, lambda: home.data, prepared, clock, to_stderr, screening)
    own = being_server(
        lambda: minded().mind,
        clock,
        patrols=lambda: minded().patrolling().calls,
        capabilities=gateway.capabilities,
    )
    names = order_names(
        lambda being_id: order_name or home.beings.order_name(being_id), chosen, seconds=0
    )
    surface, close_entry = laptop_entry(
        gateway.beside(ordering.beside(own, names)),
        chosen,
        lambda: home.data,
        prepared,
        clock,
        gateway=gateway,
        screening=screening,
    )
    gateway.serve(surface)
    ordering.serve(surface)

    def made() -> "Tasking":
        from nacre.wiring.features.tasks import laptop_tasking

        return laptop_tasking(
            home.data,
            lambda: _queue(database, clock, bell),
            lambda: _leases(database, clock),
            clock,
            blobs=lambda: _blobs(prepared, clock),
            key_file=prepared / VAULT,
        )

    tasking = Once(made)

    def worker_loop(report: "Report", rules: "Explainer") -> "WorkerLoop":
        def register(worker: "Worker") -> None:
            tasking().register(worker, lambda: surface, rules)

        return _worker_loop(database, minded, clock, bell, report, register)

    def close() -> None:
        gateway.close()
        close_entry()
        if screening.is_made:
            screening().close()
        database.close()

    return Laptop(
        folder=prepared,
        home=home,
        gate=Gate(home.tokens.lookup, clock),
        application=Application(
            surface,
            RequestStates(keys, clock, use=UsedStates(lambda: home.data, clock).use),
            call_bytes=MAX_CALL_BYTES,
            tasks=lambda: tasking().desk,
        ),
        keys=keys,
        worker_loop=worker_loop,
        bell=bell,
        minded=minded,
        close=close,
    )


def store_problems(folder: Path) -> list[str]:
    """Read the whole store and return what is damaged in it, if anything."""
    database = SqliteDatabase(folder / DATABASE)
    try:
        return database.problems()
    finally:
        database.close()


def first_being(
    home: Home,
    owner: str = DEFAULT_OWNER,
    name: Callable[[], str] = lambda: BEING_NAMES[0],
) -> Being | None:
    """Return a new Being where the owner has none yet; None where there is one.

    `name` is asked for its name when one is made.
    """
    if home.beings.of_owner(owner):
        return None
    try:
        return home.beings.create(name(), owner=owner)
    except ConflictError:  # another process was faster
        return None


def _worker_loop(
    database: SqliteDatabase,
    minded: Callable[[], Minded],
    clock: Clock,
    bell: Bell,
    report: "Report",
    register: "Callable[[Worker], None]",
) -> "WorkerLoop":
    from nacre.jobs.loop import WorkerLoop
    from nacre.jobs.worker import Worker

    worker = Worker(_leases(database, clock))
    register_memory_jobs(worker, minded())
    register(worker)

    def sweep() -> None:
        # Also where nobody writes: the store has to see that time passes.
        SqliteTable(database, "tokens", now=clock).purge()
        SqliteTable(database, "data", now=clock).purge()
        sweep_memories(minded())

    loop = WorkerLoop(_queue(database, clock, bell), worker, report, sweep=sweep)
    bell.heard = loop.wake
    return loop


def _queue(database: SqliteDatabase, clock: Clock, bell: Bell) -> "Queue":
    from nacre.adapters.sqlite.queue import SqliteQueue

    queue = SqliteQueue(database, QUEUE, now=clock, holders=_processes())
    return AnnouncingQueue(queue, bell)


def _home(folder: Path, clock: Clock, *, reached: bool = False) -> tuple[Home, SqliteDatabase]:
    database = SqliteDatabase(folder / DATABASE)
    tokens = SqliteTable(database, "tokens", now=clock)
    data = SqliteTable(database, "data", now=clock)
    rng = SystemRandom()
    home = Home(
        where=str(folder),
        owners=Owners(tokens, clock=clock),
        beings=Beings(data, clock=clock, rng=rng),
        tokens=TokenStore(tokens, clock=clock, rng=rng),
        secrets=FileSecrets(folder / SECRETS),
        index=lambda: _index_work(database, clock),
        patrols=lambda: _patrol_work(folder, database, clock),
        data=data,
        blobs=lambda: _blobs(folder, clock),
        residue=lambda: _residue(database),
        dead_letters=lambda: _dead_letters(database, clock),
        vault=lambda: _vault(folder),
        # Who is reached from the internet reaches it too.
        authority=cached_authority(tokens, data, fetches=reached, clock=clock, rng=rng),
        holders=_processes(),
        close=database.close,
    )
    return home, database


def _processes() -> "Holders":
    from nacre.adapters.processes import Processes

    return Processes()


def _screening() -> "ScreeningProcesses":
    from nacre.adapters.screening.process_pool import ScreeningProcesses

    return ScreeningProcesses()


def _leases(database: SqliteDatabase, clock: Clock) -> "Leases":
    from nacre.jobs.lease import Leases

    return Leases(SqliteTable(database, "data", now=clock), now=clock, holders=_processes())


def _blobs(folder: Path, clock: Clock) -> "Blobs":
    from nacre.adapters.files.blobs import FileBlobs

    return FileBlobs(folder / BLOBS, now=clock)


def _residue(database: SqliteDatabase) -> "Residue":
    from nacre.adapters.sqlite.residue import SqliteResidue

    return SqliteResidue(database)


def _dead_letters(database: SqliteDatabase, clock: Clock) -> "DeadLetters":
    from nacre.adapters.sqlite.dead_letters import SqliteDeadLetters

    return SqliteDeadLetters(database, QUEUE, now=clock)


def _vault(folder: Path) -> "Vault":
    from nacre.adapters.files.vault import FileVault

    return FileVault(folder / VAULT)


def _index_work(database: SqliteDatabase, clock: Clock) -> "IndexWork":
    from nacre.adapters.sqlite.queue import SqliteQueue
    from nacre.wiring.features.embeddings import embedders
    from nacre.wiring.features.index import laptop_index

    settings = Settings.from_environment()
    index = laptop_index(
        database,
        SqliteQueue(database, QUEUE, now=clock),
        embedders(settings).primary,
        settings,
        clock=clock,
        rng=SystemRandom(),
    )
    return index.work(_leases(database, clock))


def _patrol_work(folder: Path, database: SqliteDatabase, clock: Clock) -> "PatrolWork":
    from nacre.being.patrol.executor import WorkHere

    minded = laptop_mind(
        database,
        lambda: _queue(database, clock, Bell()),
        Settings.from_environment(),
        clock,
        leases=lambda: _leases(database, clock),
        key_file=folder / VAULT,
    )
    return WorkHere(minded().patrolling().jobs, _leases(database, clock))
