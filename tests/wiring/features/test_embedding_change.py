"""Data of version 0.1.0, whose index has another embedding, under today's default."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from nacre.adapters.embeddings.builtin_models import ENCODER, ENGLISH
from nacre.being.memory.text.searchable_text import IndexEntry
from nacre.jobs.loop import WorkerLoop
from nacre.ports.vectors import Filter, Question
from nacre.protocol.http import error_map
from nacre.wiring import aws
from nacre.wiring.compose import Home, compose
from nacre.wiring.laptop import open_laptop
from nacre.wiring.settings import Settings
from tests.scaffolding.aws_stack import REGION
from tests.wiring.deployed import deployed, outputs_of

NOTES = {
    "cat": "Nora adopted a grey cat named Mochi from the shelter",
    "rent": "Der Vermieter hat die Miete um neunzig Euro erhöht",
    "tax": "The quarterly tax report is late",
}


Opened = Callable[[str], Home]
"""Opens the features of one deployment with an embedding in its settings."""


@pytest.fixture(params=["laptop", pytest.param("stack", marks=pytest.mark.slow)])
def opened(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Opened]:
    with ExitStack() as opening:
        settings = Settings(str(tmp_path))
        if request.param == "stack":
            outputs = outputs_of(opening.enter_context(deployed(monkeypatch)))
            settings = settings._replace(
                data_table=outputs["DataTableName"],
                queue_url=outputs["QueueUrl"],
                region=REGION,
            )

        def open_home(embeddings: str) -> Home:
            chosen = settings._replace(embeddings=embeddings)
            if request.param == "stack":
                return compose(aws.worker_ports(chosen), chosen)
            return opening.enter_context(closing(open_laptop(tmp_path, chosen)))

        yield open_home


def write(home: Home, being_id: str, name: str, text: str) -> None:
    entry = IndexEntry(name, "node", text, "active", None, (), ())
    change = home.index.indexing.prepare(being_id, [entry])
    home.data.transact(change.writes)
    change.apply()


def nearest(home: Home, being_id: str, question: str) -> tuple[str, str | None]:
    """Return the memory that is nearest to a question, and the remark of the search."""
    reading = home.index.indexing.active_index(being_id)
    assert reading.embedder is not None
    asked = Question(dense=reading.embedder.query(question), sparse=(), where=Filter(), limit=3)
    return reading.index.search(being_id, asked).dense[0].id, reading.remark


@pytest.fixture
def being_id(opened: Opened) -> str:
    """Return a Being whose index was built with the default of version 0.1.0."""
    home = opened("builtin-static")
    being_id = home.beings.create("Ann", owner="me").being_id
    for name, text in NOTES.items():
        write(home, being_id, name, text)
    state = home.index.indexing.states.get(being_id)
    assert state is not None
    assert state.active == ENGLISH.emb_id == "builtin:potion-base-8m:256:1"
    return being_id


def test_the_new_default_takes_over_by_itself(opened: Opened, being_id: str) -> None:
    home = opened("builtin")
    assert nearest(home, being_id, "cat from the shelter") == ("cat", None)
    write(home, being_id, "dog", "The dog chewed through both of my sandals")
    assert nearest(home, being_id, "dog and sandals") == ("dog", None)

    worker = WorkerLoop(home.ports.queue, home.worker(error_map), lambda _: None)
    while worker.run_next():
        pass

    state = home.index.indexing.states.get(being_id)
    assert state is not None
    assert (state.active, state.target) == (ENCODER.emb_id, None)
    assert nearest(home, being_id, "How much more expensive is the flat now?")[0] == "rent"
    assert nearest(home, being_id, "Which animal ruined my footwear?")[0] == "dog"
    assert home.index.maintenance.check(being_id).is_in_sync


def test_the_old_setting_keeps_the_old_index(opened: Opened, being_id: str) -> None:
    home = opened("builtin-static")

    assert nearest(home, being_id, "cat from the shelter") == ("cat", None)
    assert home.ports.queue.receive() is None


def test_a_change_to_words_alone_waits_for_the_command(opened: Opened, being_id: str) -> None:
    home = opened("none")

    remark = nearest(home, being_id, "cat from the shelter")[1]
    assert remark is not None
    assert "run 'nacre reindex'" in remark
    assert home.ports.queue.receive() is None
