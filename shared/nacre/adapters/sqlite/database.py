"""One SQLite file that several threads and processes use at once."""

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from nacre.core.errors import NacreError, NewerSchemaError, StoreError, UnavailableError
from nacre.core.limits import STORE_BUSY_SECONDS

SCHEMA_VERSION = 2
_APPLICATION_ID = 0x4E414352  # "NACR": tells our files from other programs' databases
_CONNECTIONS = 16  # if there are more threads, they wait for one another

_ITEMS = """
CREATE TABLE {table} (
    pk TEXT NOT NULL, sk TEXT NOT NULL, expires_at INTEGER,
    gsi1pk TEXT, gsi1sk TEXT, gsi2pk TEXT, gsi2sk TEXT, gsi3pk TEXT, gsi3sk TEXT,
    body TEXT NOT NULL, PRIMARY KEY (pk, sk)
);
CREATE INDEX {table}_gsi1 ON {table} (gsi1pk, gsi1sk, pk, sk) WHERE gsi1pk IS NOT NULL;
CREATE INDEX {table}_gsi2 ON {table} (gsi2pk, gsi2sk, pk, sk) WHERE gsi2pk IS NOT NULL;
CREATE INDEX {table}_gsi3 ON {table} (gsi3pk, gsi3sk, pk, sk) WHERE gsi3pk IS NOT NULL;
CREATE INDEX {table}_expires_at ON {table} (expires_at) WHERE expires_at IS NOT NULL;
"""
_MESSAGES = """
CREATE TABLE messages (
    place INTEGER PRIMARY KEY AUTOINCREMENT, queue TEXT NOT NULL, id TEXT NOT NULL,
    "group" TEXT NOT NULL, body TEXT NOT NULL, visible_at REAL NOT NULL,
    receives INTEGER NOT NULL, receipt TEXT, dead_at REAL
);
CREATE INDEX messages_waiting ON messages (queue, "group", place) WHERE dead_at IS NULL;
CREATE INDEX messages_dead ON messages (queue, dead_at) WHERE dead_at IS NOT NULL;
CREATE TABLE message_repeats (
    queue TEXT NOT NULL, repeat TEXT NOT NULL, id TEXT NOT NULL, until REAL NOT NULL,
    PRIMARY KEY (queue, repeat)
);
"""
# What the store has seen of the clock; see purging.
_PURGING = """
CREATE TABLE purging (
    id INTEGER PRIMARY KEY CHECK (id = 1), seen INTEGER NOT NULL, since INTEGER NOT NULL,
    watched INTEGER NOT NULL, safe INTEGER NOT NULL
);
ALTER TABLE data ADD COLUMN is_brief INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tokens ADD COLUMN is_brief INTEGER NOT NULL DEFAULT 0;
CREATE INDEX data_brief ON data (expires_at) WHERE is_brief;
CREATE INDEX tokens_brief ON tokens (expires_at) WHERE is_brief;
"""
# From each older version of the tables the statements that lead to the next one.
_UPGRADES: Mapping[int, str] = {1: _PURGING}
_SCHEMA = _ITEMS.format(table="data") + _ITEMS.format(table="tokens") + _MESSAGES + _PURGING


class SqliteDatabase:
    """The laptop's store: a pool of connections to one file in WAL mode.

    Opening creates the file (0600) and its tables, and brings those of an older version up to
    date. A file that is damaged, of another program or of a newer version is refused and left
    as it is. `":memory:"` gives a store that ends with the object.

    A store that may only be read, as in a snapshot, is read as it is; writing to it raises
    StoreError.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        busy_seconds: float = STORE_BUSY_SECONDS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.path = path
        self._busy_seconds = busy_seconds
        self._sleep = sleep
        self._idle: list[sqlite3.Connection] = []
        weakref.finalize(self, _close_all, self._idle).atexit = False
        self._guard = threading.Lock()
        # An in-memory database lives in one connection.
        self._places = threading.BoundedSemaphore(1 if path == ":memory:" else _CONNECTIONS)
        # Threads queue here instead of polling SQLite's file lock against each other.
        self._writer = threading.Lock()
        self._closed = False
        self._is_read_only = path != ":memory:" and _may_only_read(Path(path))
        self._readable = ""  # the address of a store that may only be read
        with self._translated():
            self._prepare()

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection for single statements, each of which sees one state."""
        with self._translated(), self._connection() as connection:
            yield connection

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """Lend a connection inside a transaction that is durable once the block has ended.

        One that is not durable does not wait for the disk: a power cut may take it back, and
        then everything not durable after it too. It is for what follows from other items.
        """
        if self._is_read_only:
            raise StoreError(
                f"{self.path}: the store can only be read, so nothing was changed. Make the file"
                " and its folder writable, or choose another data folder."
            )
        with (
            self._translated(),
            # Before a connection, or writers that wait would hold all that readers need.
            self._one_writer(),
            self._connection() as connection,
            _waiting_for_disk(connection, wait=durable),
            _transaction(connection),
        ):
            yield connection

    def problems(self) -> list[str]:
        """Read the whole file and return a description of the damage, if there is any."""
        with self.read() as connection:
            rows = connection.execute("PRAGMA integrity_check(20)").fetchall()
        return [row[0] for row in rows if row[0] != "ok"]

    def close(self) -> None:
        """Close the connections; ones in use close when they come back."""
        with self._guard:
            self._closed = True
            idle = self._idle.copy()
            self._idle.clear()
        _close_all(idle)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with self._places:
            with self._guard:
                if self._closed:
                    raise StoreError(f"{self.path}: the store was closed")
                connection = self._idle.pop() if self._idle else None
            connection = connection or self._connect()
            try:
                yield connection
            finally:
                with self._guard:
                    keep = not self._closed
                    if keep:
                        self._idle.append(connection)
                if not keep:
                    connection.close()

    @contextmanager
    def _one_writer(self) -> Iterator[None]:
        if not self._writer.acquire(timeout=self._busy_seconds):
            raise self._busy()
        try:
            yield
        finally:
            self._writer.release()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._readable or self.path,
            timeout=self._busy_seconds,
            isolation_level=None,
            check_same_thread=False,
            uri=self._is_read_only,
        )
        try:
            # FULL: an acknowledged write survives a power cut. fullfsync is the same for macOS.
            for pragma in ("synchronous=FULL", "fullfsync=ON", "trusted_schema=OFF"):
                connection.execute(f"PRAGMA {pragma}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self) -> None:
        if self._is_read_only:
            self._prepare_to_read(Path(self.path))
            return
        if self.path != ":memory:":
            _create_private(Path(self.path))
        connection = self._connect()
        try:
            if self._version(connection) == 0:
                self._into_wal_mode(connection)
                self._create(connection)
            self._check_version(connection)
            if self._version(connection) < SCHEMA_VERSION:
                self._upgrade(connection)
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)

    def _prepare_to_read(self, path: Path) -> None:
        """Find the way in which the store can be read: with its log, alone, or as a copy."""
        log = path.with_name(f"{path.name}-wal")
        has_log = log.exists() and log.stat().st_size > 0
        self._readable = f"{path.absolute().as_uri()}?mode=ro"
        if not _can_be_read(self._readable):
            if has_log:
                import shutil  # noqa: PLC0415 - loads every compression that there is
                import tempfile  # noqa: PLC0415 - for this copy alone

                # SQLite needs a file next to the log. The copy is removed with this object.
                folder = Path(tempfile.mkdtemp(prefix="nacre-"))
                weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
                for file in (path, log):
                    shutil.copyfile(file, folder / file.name)
                self._readable = (folder / path.name).as_uri()
            else:
                self._readable += "&immutable=1"
        connection = self._connect()
        try:
            self._check_version(connection)
            is_empty = self._version(connection) == 0
        except BaseException:
            connection.close()
            raise
        if is_empty:
            connection.close()
            raise StoreError(f"{path}: the store is empty and can only be read")
        self._idle.append(connection)

    def _version(self, connection: sqlite3.Connection) -> int:
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        application = int(connection.execute("PRAGMA application_id").fetchone()[0])
        used = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if application != _APPLICATION_ID and (used or version or application):
            raise StoreError(
                f"{self.path} is the database of another program. Nothing was changed."
                " Choose another data folder."
            )
        return version

    def _check_version(self, connection: sqlite3.Connection) -> None:
        version = self._version(connection)
        if version > SCHEMA_VERSION:
            raise NewerSchemaError(f"The store {self.path}", version=version, newest=SCHEMA_VERSION)

    def _into_wal_mode(self, connection: sqlite3.Connection) -> None:
        # SQLite does not wait by itself when two processes switch at once.
        deadline = time.monotonic() + self._busy_seconds
        while True:
            try:
                connection.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError as error:
                if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                self._sleep(0.02)
            else:
                return

    def _create(self, connection: sqlite3.Connection) -> None:
        with _transaction(connection):
            if self._version(connection) == 0:  # no other process was faster
                for statement in _SCHEMA.split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id={_APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")

    def _upgrade(self, connection: sqlite3.Connection) -> None:
        """Bring the tables up to date: all steps or none, and by one process alone."""
        with _transaction(connection):
            for step in range(self._version(connection), SCHEMA_VERSION):
                for statement in _UPGRADES[step].split(";"):
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._translation(error) from error
        except OSError as error:
            raise StoreError(
                f"{self.path}: the store cannot be opened or created ({error.strerror})."
                " Choose a data folder that you may write to."
            ) from error

    def _translation(self, error: sqlite3.Error) -> NacreError:
        match _code(error):
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
                return self._busy()
            case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
                return StoreError(
                    f"{self.path}: the store is damaged ({error}). Nothing was deleted. Stop nacre,"
                    " copy the whole folder, then put back a backup or rescue what is readable"
                    " with the sqlite3 program's '.recover' command."
                )
            case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
                return StoreError(
                    f"{self.path}: the store cannot be written ({error}). Make the file and its"
                    " folder yours and writable, or choose another data folder."
                )
            case sqlite3.SQLITE_FULL:
                return UnavailableError(
                    f"{self.path}: the disk is full. Nothing was written. Free some space.",
                    public="the server's disk is full; nothing was written",
                )
            case _:
                return UnavailableError(
                    f"{self.path}: the store does not answer ({error})", public=_NO_ANSWER
                )

    def _busy(self) -> UnavailableError:
        return UnavailableError(
            f"{self.path}: another process has been writing for more than"
            f" {self._busy_seconds:g} s. Try again, or stop that process.",
            public=_NO_ANSWER,
        )


def _close_all(connections: list[sqlite3.Connection]) -> None:
    for connection in connections:
        connection.close()


_NO_ANSWER = "the store does not answer now; try again in a moment"


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Apply all statements of a block, or none if it raises."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def _waiting_for_disk(connection: sqlite3.Connection, *, wait: bool) -> Iterator[None]:
    if wait:
        yield
        return
    # In WAL mode NORMAL leaves out the sync at commit and no other. The log is one file, written
    # in order: the next durable commit syncs what came before it, and no durable one depends on
    # what came after.
    connection.execute("PRAGMA synchronous=NORMAL")
    try:
        yield
    finally:
        connection.execute("PRAGMA synchronous=FULL")


def _may_only_read(path: Path) -> bool:
    if not os.access(path, os.R_OK):  # asked first: another process may be creating the file
        return False
    return not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK | os.X_OK))


def _can_be_read(address: str) -> bool:
    try:
        connection = sqlite3.connect(address, uri=True)
    except sqlite3.Error:
        return False
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.OperationalError as error:
        if _code(error) in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            return False
        raise
    finally:
        connection.close()
    return True


def _create_private(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def _code(error: sqlite3.Error) -> int:
    # The low byte is the error; the rest tells its variants apart.
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
