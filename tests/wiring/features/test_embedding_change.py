"""Changes of the embedding without a command: from version 0.1.0, and between built-in models."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from nacre.adapters.embeddings.builtin_models import BEST, ENCODER, ENGLISH
from nacre.being.memory.text.searchable_text import IndexEntry
from nacre.jobs.loop import WorkerLoop
from nacre.ports.vectors.vector_index import Filter, Question
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


def work(home: Home) -> None:
    """Do all jobs that wait."""
    worker = WorkerLoop(home.ports.queue, home.worker(error_map), lambda _: None)
    while worker.run_next():
        pass


def active(home: Home, being_id: str) -> tuple[str, str | None]:
    """Return the embedding of a Being's index, and the one that is being built."""
    state = home.index.indexing.states.get(being_id)
    assert state is not None
    return state.active, state.target


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

    work(home)

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


def test_the_best_model_takes_over_by_itself_and_gives_way_again(
    opened: Opened, being_id: str
) -> None:
    for number, (embeddings, kind) in enumerate([("builtin-best", BEST), ("builtin", ENCODER)]):
        home = opened(embeddings)
        assert nearest(home, being_id, "cat from the shelter") == ("cat", None)
        write(home, being_id, f"dog{number}", "The dog chewed through both of my sandals")

        work(home)

        assert active(home, being_id) == (kind.emb_id, None)
        assert nearest(home, being_id, "Which animal ruined my footwear?")[0].startswith("dog")
        assert nearest(home, being_id, "Wie viel teurer ist die Wohnung?")[0] == "rent"
        assert home.index.maintenance.check(being_id).is_in_sync


def test_an_interrupted_change_to_the_best_model_goes_on(opened: Opened, being_id: str) -> None:
    class KilledError(Exception):
        pass

    def kill(_done: int, _total: int) -> None:
        raise KilledError

    home = opened("builtin-best")
    entries = [
        IndexEntry(f"n{n:03}", "node", f"note {n}", "active", None, (), ()) for n in range(80)
    ]
    for start in range(0, len(entries), 20):
        change = opened("builtin-static").index.indexing.prepare(being_id, entries[start:][:20])
        home.data.transact(change.writes)
        change.apply()
    with pytest.raises(KilledError):
        home.index.maintenance.reindex(being_id, kill)
    state = home.index.indexing.states.get(being_id)
    assert state is not None
    assert (state.active, state.target, state.done) == (ENGLISH.emb_id, BEST.emb_id, 64)
    assert nearest(home, being_id, "cat from the shelter") == ("cat", None)

    work(home)

    assert active(home, being_id) == (BEST.emb_id, None)
    assert home.index.maintenance.check(being_id).is_in_sync


def test_two_servers_with_different_settings_do_not_change_it_forever(
    opened: Opened, being_id: str
) -> None:
    best, default = opened("builtin-best"), opened("builtin")
    for home in (best, default):
        nearest(home, being_id, "cat")
        work(home)
        nearest(home, being_id, "cat")

    answer, remark = nearest(best, being_id, "cat from the shelter")
    work(best)

    assert active(best, being_id) == (ENCODER.emb_id, None)
    assert answer == "cat"
    assert remark is not None
    assert "run 'nacre reindex'" in remark


def test_an_erased_memory_is_in_no_index_of_a_change(opened: Opened, being_id: str) -> None:
    home = opened("builtin-best")
    nearest(home, being_id, "cat")
    work(home)

    change = home.index.indexing.prepare(being_id, [], ["cat"])
    home.data.transact(change.writes)
    change.apply()

    for kind in (BEST, ENGLISH):
        left = home.index.indexing.index(kind.emb_id).scan(being_id, after=None, limit=10)
        assert [id_ for id_, _ in left] == ["rent", "tax"]
