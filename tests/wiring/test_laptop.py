"""The laptop's wiring."""

import threading
from pathlib import Path
from random import SystemRandom

import pytest

from nacre.access.tokens.token_format import mint
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.queue import SqliteQueue
from nacre.core.errors import ConfigurationError, UnauthorizedError
from nacre.jobs.job import SWEEP, Job, encode_job
from nacre.jobs.loop import Outcome
from nacre.protocol.http import error_map
from nacre.wiring.data_folder import DATABASE, prepare_data_folder
from nacre.wiring.laptop import QUEUE, first_being, open_home, open_laptop


def test_everything_survives_a_restart(tmp_path: Path) -> None:
    first = open_laptop(tmp_path / "data")
    being = first_being(first)
    keys = first.signing_keys()
    first.close()

    again = open_laptop(tmp_path / "data")

    assert being is not None
    assert again.beings.of_owner("me") == [being]
    assert again.signing_keys() == keys
    assert first_being(again) is None
    again.close()


def test_the_gate_reads_what_the_commands_write(tmp_path: Path) -> None:
    laptop, home = open_laptop(tmp_path / "data"), open_home(tmp_path / "data")
    being = home.beings.create("Ann", owner="me")

    with pytest.raises(UnauthorizedError):
        laptop.gate.admit(
            authorization=f"Bearer {mint('brt', SystemRandom())}",
            path_being=being.being_id,
            query_being=None,
        )

    home.close()
    laptop.close()


def test_a_folder_is_made_private_and_an_existing_one_keeps_its_mode(tmp_path: Path) -> None:
    new = prepare_data_folder(tmp_path / "a" / "b")
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o755)  # whatever this process may give at first
    existing = prepare_data_folder(tmp_path / "shared")

    assert new.stat().st_mode & 0o777 == 0o700
    assert existing.stat().st_mode & 0o777 == 0o755


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("in the way")

    with pytest.raises(
        ConfigurationError, match=r"data: cannot be the data folder \(it is a file\)"
    ):
        prepare_data_folder(tmp_path / "data")


def test_jobs_of_the_queue_are_done_by_the_worker_of_the_server(tmp_path: Path) -> None:
    laptop = open_laptop(tmp_path / "data")
    database = SqliteDatabase(tmp_path / "data" / DATABASE)
    SqliteQueue(database, QUEUE).send(encode_job(Job(SWEEP)), group="sweep")
    outcomes: list[Outcome] = []
    reported = threading.Event()

    def report(outcome: Outcome) -> None:
        outcomes.append(outcome)
        reported.set()

    loop = laptop.worker_loop(report, error_map)
    loop.start()
    assert reported.wait(60)
    assert loop.stop(60)

    assert [(outcome.group, outcome.result) for outcome in outcomes] == [("sweep", "done")]
    database.close()
    laptop.close()
