"""The command `nacre reindex`, on the laptop and on a stack whose worker does the work."""

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nacre.adapters.embeddings.builtin_models import ENCODER
from nacre.being.memory.index import jobs
from nacre.being.memory.model import keys
from nacre.being.memory.text.searchable_text import IndexEntry
from nacre.jobs.loop import WorkerLoop
from nacre.ports.items.table import Delete, Put, Table
from nacre.protocol.http import error_map
from nacre.wiring import aws
from nacre.wiring.compose import compose
from nacre.wiring.features.index import SearchIndex
from nacre.wiring.laptop import LaptopPorts
from nacre.wiring.settings import Settings
from tests.cli.conftest import Nacre
from tests.cli.processes import finish, start
from tests.scaffolding.aws_stack import REGION
from tests.wiring.deployed import deployed, outputs_of

BUILTIN = ENCODER.emb_id


@dataclass(frozen=True)
class Ground:
    """A store, the options that name it, and its index as a server with other settings has it."""

    options: list[str]
    table: Table
    words_only: SearchIndex
    working: Callable[[], Any]  # a block in which the stack's worker runs, where it has one

    def write(self, being_id: str, *names: str, apply: bool = True) -> None:
        """Write memories as a server does that finds them by words only."""
        entries = [
            IndexEntry(name, "node", f"a pearl called {name}", "active", None, (), ())
            for name in names
        ]
        indexing = self.words_only.indexing
        change = indexing.prepare(being_id, entries)
        self.table.transact(change.writes)
        if apply:
            change.apply()


@pytest.fixture(params=["laptop", "stack"])
def ground(
    request: pytest.FixtureRequest,
    folder: Path,
    nacre: Nacre,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Ground]:
    if request.param == "laptop":
        nacre("owner", "list")  # makes the folder
        home = compose(LaptopPorts(folder), Settings(str(folder), embeddings="none"))
        yield Ground([], home.data, home.index, lambda: worker_of(None))
        home.close()
        return
    monkeypatch.setattr(jobs, "_POLL_SECONDS", 0.02)
    with deployed(monkeypatch) as stack:
        outputs = outputs_of(stack)
        settings = Settings(
            str(folder),
            data_table=outputs["DataTableName"],
            queue_url=outputs["QueueUrl"],
            region=REGION,
        )
        home = compose(aws.worker_ports(settings), settings)
        loop = WorkerLoop(home.ports.queue, home.worker(error_map), lambda _: None)
        words_only = settings._replace(embeddings="none")
        index = compose(aws.worker_ports(words_only), words_only).index
        yield Ground(["--stack", stack], home.data, index, lambda: worker_of(loop))


@contextmanager
def worker_of(loop: WorkerLoop | None) -> Iterator[None]:
    if loop is None:
        yield
        return
    done = threading.Event()

    def work() -> None:
        while not done.is_set():
            if not loop.run_next():
                done.wait(0.02)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@pytest.fixture
def being_id(nacre: Nacre, ground: Ground) -> str:
    return str(nacre("being", "create", "Ann", "--json", *ground.options).json()["being_id"])


def test_a_new_setting_takes_effect_with_the_command(
    nacre: Nacre, ground: Ground, being_id: str
) -> None:
    ground.write(being_id, "one", "two")

    with ground.working():
        changed = nacre("reindex", *ground.options)
        again = nacre("reindex", "--json", *ground.options)

    assert changed.code == 0, changed.err  # a slow machine is told how far it is
    assert changed.out == f"2 memories are now searched with {BUILTIN} instead of none.\n"
    assert again.json() == {
        "being": "Ann",
        "being_id": being_id,
        "task": "reindex",
        "changed": False,
    }
    state = ground.words_only.indexing.states.get(being_id)
    assert state is not None
    assert state.active == BUILTIN


def test_what_differs_is_said_and_repaired(
    nacre: Nacre, ground: Ground, being_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ground.write(being_id, "one", "two", "three")
    with ground.working():
        nacre("reindex", *ground.options)
        sound = nacre("reindex", "--check", *ground.options)
        assert sound.out == f"3 memories, searched with {BUILTIN}: the index is complete.\n"
        assert sound.code == 0

        item = ground.table.get(keys.point(being_id, "one"))
        assert item is not None
        lacking = {name: value for name, value in item.items() if not name.startswith("vec:")}
        ground.table.transact([Put(lacking), Delete(keys.point(being_id, "two"))])
        broken = nacre("reindex", "--check", *ground.options)
        report = nacre("reindex", "--repair", "--json", *ground.options).json()
        after = nacre("reindex", "--check", "--json", *ground.options).json()

    assert broken.code == 1
    assert "1 without vector" in broken.out
    assert report["without_vector"] == 1
    assert (after["points"], after["sound"]) == (2, True)


@pytest.mark.slow
def test_a_command_that_was_killed_holds_nobody_up(
    nacre: Nacre, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nacre("being", "create", "Ann")
    being_id = str(nacre("being", "list", "--json").json()[0]["being_id"])
    with closing(compose(LaptopPorts(folder), Settings(str(folder), embeddings="none"))) as home:
        index = home.index.indexing
        entry = IndexEntry("one", "node", "a pearl", "active", None, (), ())
        change = index.prepare(being_id, [entry])
        home.data.transact(change.writes)
        change.apply()
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with monkeypatch.context() as setting:
            setting.setenv("NACRE_EMBEDDINGS", "openai")
            setting.setenv("NACRE_EMBEDDING_BASE_URL", f"http://127.0.0.1:{port_of(silent)}")
            setting.setenv("OPENAI_API_KEY", "of-nobody")
            process = start("reindex")
        asked, _ = silent.accept()  # it is in the middle, and waits for an answer
        with closing(asked):
            busy = nacre("reindex")
            process.send_signal(signal.SIGKILL)
            finish(process)
    after = nacre("reindex", "--json")

    assert "another process is using this Being" in busy.err
    assert (after.json()["changed"], after.json()["embedding"]) == (True, BUILTIN)


def port_of(listener: socket.socket) -> int:
    return int(listener.getsockname()[1])


def test_two_tasks_at_once_are_refused(nacre: Nacre) -> None:
    refused = nacre("reindex", "--check", "--repair")

    assert refused.code == 2
    assert "give only one" in refused.err
