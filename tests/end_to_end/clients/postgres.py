"""A Postgres for one test, with a user who may read one table."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from infra.local_cloud import free_port

PASSWORD = "tea-and-biscuits"
_TABLES = f"""
CREATE TABLE orders (id int, name text);
INSERT INTO orders VALUES (1, 'tea');
CREATE ROLE agent LOGIN PASSWORD '{PASSWORD}';
GRANT SELECT ON orders TO agent;
"""


@contextmanager
def postgres() -> Iterator[tuple[int, str]]:
    """Start it on loopback, and yield its port and the password of `agent`."""
    programs = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), None)
    if programs is None:
        pytest.skip("Postgres is not installed; on Debian: apt-get install postgresql")
    with TemporaryDirectory(prefix="nacre-postgres-") as made:
        folder = Path(made)
        (folder / "password").write_text(PASSWORD)
        as_user: list[str] = []
        if os.geteuid() == 0:  # it refuses to run as root; its package brings a user for it
            as_user = ["runuser", "-u", "postgres", "--"]
            for each in (folder, folder / "password"):
                shutil.chown(each, "postgres")

        def run(program: str, *arguments: str, **more: str) -> None:
            subprocess.run(
                [*as_user, str(programs / program), *arguments],
                cwd=folder,
                env={**os.environ, **more},
                check=True,
                stdout=subprocess.DEVNULL,
            )

        data, port = str(folder / "data"), free_port()
        passwords = ("-A", "scram-sha-256", f"--pwfile={folder / 'password'}")
        run("initdb", "-D", data, "-U", "postgres", "--no-sync", *passwords)
        options = f"-p {port} -h 127.0.0.1 -k '' -c fsync=off"
        run("pg_ctl", "-D", data, "-o", options, "-w", "-l", str(folder / "log"), "start")
        try:
            where = ("-h", "127.0.0.1", "-p", str(port), "-U", "postgres", "-q")
            run("psql", *where, "-c", _TABLES, PGPASSWORD=PASSWORD)
            yield port, PASSWORD
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
