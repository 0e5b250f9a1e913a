"""The command `nacre eval`, on the laptop and on a stack, and with real servers."""

import json
import signal
import sqlite3
import stat
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.being.memory.erase.receipt import EraseReceipt
from nacre.being.memory.model import keys
from nacre.being.memory.model.types import SceneDraft
from nacre.being.memory.search.queries import MemoryQueries
from nacre.being.memory.services import open_services
from nacre.being.memory.store.kept_questions import KeptAnswer, KeptQuestions
from nacre.core.clock import system_clock
from nacre.wiring.compose import compose
from nacre.wiring.data_folder import DATABASE
from nacre.wiring.laptop import LaptopPorts
from nacre.wiring.settings import Settings
from tests.being.memory.keeping import queue_of
from tests.cli.conftest import Nacre, Outcome
from tests.cli.processes import Server, serving
from tests.cli.worlds import World
from tests.fixtures.stores.test_stores import FOLDER, load

SCENES = (
    "Mia moved to Kiel in spring",
    "Mia's cat Tom caught a mouse",
    "Ann baked rye bread on Sunday",
    "The sailing boat Juno lies in the harbour",
)
WORDS = "NACRE_EMBEDDINGS=none"


@pytest.fixture
def being_id(nacre: Nacre, world: World) -> str:
    being_id = str(nacre("being", "create", "Ann", "--json", *world.options).json()["being_id"])
    note(world, being_id, *SCENES)
    return being_id


def note(world: World, being_id: str, *actions: str) -> list[str]:
    drafts = [SceneDraft(action=action, actors=(), when=("2026-07-01",)) for action in actions]
    recorded = world.memory.scenes.record(being_id, drafts)
    return [scene.scene_id for scene in recorded.scenes]


def queries_of(world: World) -> MemoryQueries:
    """Return the queries of the world's server."""
    return open_services(
        world.table,
        queue_of(SqliteDatabase(":memory:"), system_clock),
        world.indexing,
        None,
        clock=system_clock,
        rng=Random(4),
    ).queries


def ask(world: World, being_id: str, *questions: str) -> None:
    for question in questions:
        queries_of(world).recall(being_id, question, counted=True)


def evaluated(nacre: Nacre, world: World, *arguments: str) -> Any:
    return nacre("eval", "run", "--json", *arguments, *world.options).json()


def listed(nacre: Nacre, world: World) -> dict[str, Any]:
    """Return the kept questions by their text."""
    entries = nacre("eval", "list", "--json", *world.options).json()
    return {entry["question"]: entry for entry in entries}


def content(world: World) -> object:
    """Return all that the store has."""
    if world.file is None:
        return world.content
    with closing(sqlite3.connect(world.file)) as connection:
        return [*connection.iterdump()]


def test_another_embedding_is_compared_on_the_same_memories_and_nothing_is_written(
    nacre: Nacre, world: World, being_id: str
) -> None:
    on = nacre("eval", "on", *world.options)
    assert (on.code, on.out) == (0, "")
    ask(world, being_id, "where does Mia live?", "where is the ship?", "where does Mia live?")
    queries_of(world).recall(being_id, "read without the right to write", counted=False)
    before = content(world)

    report = evaluated(nacre, world, "--set", WORDS)

    assert content(world) == before
    since, changed = report["since_kept"], report["by_settings"]
    assert (report["questions"], since["totals"]["same"]) == (2, 2)
    assert (report["embedding"][:8], changed["embedding"]) == ("builtin:", "none")
    assert changed["totals"]["silent"] >= 1
    worst = changed["changes"][0]
    assert (worst["outcome"], worst["after"]) == ("silent", [])
    assert worst["lost"] == worst["before"] == listed(nacre, world)[worst["question"]]["found"]
    assert listed(nacre, world)["where does Mia live?"]["times"] == 2

    shown = nacre("eval", "run", "--set", WORDS, *world.options)
    assert "2 questions, now and when they were kept: 0 silent, 0 lost, 0 moved" in shown.out
    assert f"silent: {worst['id']} recall {worst['question']}\n" in shown.out
    assert "  - 1. [2026-07-01]" in shown.out


def test_vectors_are_compared_with_words_too(
    nacre: Nacre, world: World, being_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NACRE_EMBEDDINGS", "none")
    nacre("eval", "on", *world.options)
    ask(world, being_id, "where does Mia live?")

    report = evaluated(nacre, world, "--set", "NACRE_EMBEDDINGS=builtin-static")

    # The index is still that of the server's embedding, and the searches are too.
    assert report["embedding"].startswith("builtin:use")
    assert "nacre reindex" in report["remark"]
    assert report["since_kept"]["totals"]["same"] == 1
    assert report["by_settings"]["embedding"].startswith("builtin:potion")


def test_changes_of_memories_are_told_apart_from_those_of_settings(
    nacre: Nacre, world: World, being_id: str
) -> None:
    nacre("eval", "on", *world.options)
    ask(world, being_id, "where does Mia live?")
    note(world, being_id, "Mia moved to Bern in autumn")

    report = evaluated(nacre, world, "--set", WORDS)

    [since] = report["since_kept"]["changes"]
    assert since["causes"] == ["created"]
    assert len(since["gained"]) == 1
    [changed] = report["by_settings"]["changes"]
    assert changed["before"] == since["after"]
    assert changed["causes"] == []


def test_a_scene_that_became_a_memory_is_the_same_answer(
    nacre: Nacre, world: World, being_id: str
) -> None:
    nacre("eval", "on", *world.options)
    ask(world, being_id, "where does Mia live?")
    assert nacre("patrol", "run", *world.options).code == 0

    [change] = evaluated(nacre, world)["since_kept"]["changes"]

    assert (change["outcome"], change["causes"]) == ("same", [])
    assert change["after"] != listed(nacre, world)["where does Mia live?"]["found"]


def test_a_script_sees_that_a_good_answer_is_lost(
    nacre: Nacre, world: World, being_id: str
) -> None:
    nacre("eval", "on", *world.options)
    ask(world, being_id, "where does Mia live?")
    [question] = listed(nacre, world).values()
    assert nacre("eval", "run", "--strict", "--set", WORDS, *world.options).code == 0

    marked = nacre("eval", "mark", question["id"], "good", *world.options)
    assert (marked.code, marked.out) == (0, "")
    done = nacre("eval", "run", "--strict", "--set", WORDS, *world.options)

    assert done.code == 1
    assert "good answers lost: 1\n" in done.out
    assert nacre("eval", "run", "--strict", *world.options).code == 0
    nacre("eval", "mark", question["id"], "none", *world.options)
    assert listed(nacre, world)["where does Mia live?"]["mark"] is None
    assert nacre("eval", "mark", "nothing", "bad", *world.options).code == 3


def test_erasing_leaves_no_question_that_shows_or_quotes_it(
    nacre: Nacre, world: World, being_id: str
) -> None:
    nacre("eval", "on", *world.options)
    [gone] = note(world, being_id, "Ann hid the Zirkon")
    ask(world, being_id, "is it true that Ann hid the Zirkon?", "thanks, all is well")
    assert b"true that Ann" in world.content

    options = ["--yes", "--verify", "--json", *world.options]
    assert nacre("forget", "scene", gone, *options).json()["traces"] == 0

    assert [*listed(nacre, world)] == ["thanks, all is well"]
    assert b"Zirkon" not in world.content
    assert nacre("forget", "being", "Ann", *options).json()["traces"] == 0
    assert b"all is well" not in world.content


def test_a_question_that_quotes_what_is_just_being_erased_goes_too(
    nacre: Nacre, folder: Path
) -> None:
    being_id = nacre("being", "create", "Ann", "--json").json()["being_id"]
    nacre("eval", "on")
    with closing(compose(LaptopPorts(folder), Settings(str(folder), embeddings="none"))) as home:
        memory = home.memory_services
        draft = SceneDraft(action="Ann hid the Zirkon", actors=("Ann",), when=("2026-07-01",))
        [scene] = memory.memory.scenes.record(being_id, [draft]).scenes

        def erase() -> EraseReceipt:
            receipt = home.eraser.memories.scene(being_id, scene.scene_id)
            memory.queries.recall(being_id, "is it true that Ann hid the Zirkon?", counted=True)
            return receipt

        home.eraser.erase(being_id, erase)

    assert nacre("eval", "list", "--json").json() == []


def test_turning_it_off_may_erase_what_was_kept(nacre: Nacre, world: World, being_id: str) -> None:
    nacre("eval", "on", *world.options)
    ask(world, being_id, "where is the opal?")
    assert "to stop" not in nacre("eval", "off", *world.options).err
    ask(world, being_id, "and the ruby?")
    assert [*listed(nacre, world)] == ["where is the opal?"]
    facts = nacre("eval", "status", "--json", *world.options).json()
    assert (facts["on"], facts["questions"], facts["good"]) == (False, 1, 0)

    done = nacre("eval", "off", "--erase", *world.options)

    assert "1 question was erased" in done.err
    assert b"opal" not in world.content
    assert nacre("eval", "run", *world.options).err.startswith("No questions are kept.")
    assert nacre("eval", "list", *world.options).err.startswith("No questions are kept.")


def test_what_changes_no_answer_and_secrets_are_refused(
    nacre: Nacre, world: World, being_id: str
) -> None:
    def run(assignment: str) -> Outcome:
        return nacre("eval", "run", "--set", assignment, *world.options)

    assert "NACRE_TOOLS' does not change what is found" in run("NACRE_TOOLS=all").err
    secret = run("NACRE_EMBEDDING_API_KEY=sk-1")
    assert "set it in the environment" in secret.err
    assert "sk-1" not in secret.err
    assert "NAME=VALUE" in run("NACRE_EMBEDDINGS").err
    assert "is not one of builtin" in run("NACRE_EMBEDDINGS=magic").err
    assert run("NACRE_EMBEDDINGS=magic").code == 2


def test_a_stack_with_a_model_that_is_not_known_here_is_refused_in_words(
    nacre: Nacre, world: World, being_id: str
) -> None:
    nacre("eval", "on", *world.options)
    ask(world, being_id, "where does Mia live?")
    item = world.table.get(keys.index_state(being_id))
    assert item is not None
    world.table.put({**item, "active": "openai:other:64:1"})

    done = nacre("eval", "run", *world.options)

    if world.file is None:
        assert done.code == 2
        assert "the stack searches with openai:other:64:1" in done.err
    else:  # as its searches do
        assert done.code == 0
        assert "by words only" in done.err


def test_words_of_time_mean_the_day_on_which_they_were_asked(
    nacre: Nacre, world: World, being_id: str
) -> None:
    nacre("eval", "on", *world.options)
    asked = datetime(2026, 7, 2, 12, tzinfo=UTC)
    store = KeptQuestions(world.table, clock=lambda: asked)
    store.add(being_id, "recall", "what happened yesterday?", {}, KeptAnswer((), "none"))

    [change] = evaluated(nacre, world)["since_kept"]["changes"]

    assert len(change["after"]) == 3  # the scenes of 2026-07-01
    assert change["causes"][0] == "created"


def test_the_questions_of_another_owner_cannot_be_reached(
    nacre: Nacre, world: World, being_id: str
) -> None:
    nacre("eval", "on", *world.options)
    ask(world, being_id, "where is the opal?")
    nacre("owner", "add", "bea", *world.options)
    nacre("being", "create", "Bea", "--owner", "bea", *world.options)
    theirs = [*world.options, "--owner", "bea"]

    assert nacre("eval", "list", "--json", *theirs).json() == []
    assert nacre("eval", "list", "--being", being_id, *theirs).code == 3
    [question] = listed(nacre, world).values()
    assert nacre("eval", "mark", question["id"], "good", *theirs).code == 3
    nacre("eval", "off", "--erase", *theirs)
    assert len(listed(nacre, world)) == 1


def test_an_export_leaves_the_questions_out_and_a_backup_has_them(
    nacre: Nacre, folder: Path, tmp_path: Path
) -> None:
    being_id = nacre("being", "create", "Ann", "--json").json()["being_id"]
    before = nacre("export", str(tmp_path / "before.jsonl")).out
    nacre("eval", "on")
    with closing(SqliteDatabase(folder / DATABASE)) as database:
        store = KeptQuestions(SqliteTable(database), clock=system_clock)
        store.add(being_id, "recall", "where is the opal?", {}, KeptAnswer((), "none"))

    assert nacre("export", str(tmp_path / "after.jsonl")).out == before  # the state hash
    assert "opal" not in (tmp_path / "after.jsonl").read_text()
    nacre("import", str(tmp_path / "after.jsonl"), "--create", "Copy")
    assert not nacre("eval", "status", "--being", "Copy", "--json").json()["on"]
    nacre("backup", str(tmp_path / "all.tar"))
    nacre("restore", str(tmp_path / "all.tar"), "--data-dir", str(tmp_path / "restored"))
    restored = nacre("eval", "list", "--data-dir", str(tmp_path / "restored"), "--being", "Ann")
    assert "where is the opal?" in restored.out


def test_a_store_of_an_earlier_version_can_keep_questions(nacre: Nacre, folder: Path) -> None:
    nacre("owner", "list")
    for file in folder.glob(f"{DATABASE}*"):
        file.unlink()
    load(FOLDER / "0.1.0" / "store.sql", folder / DATABASE)
    mine = ["--owner", "ada", "--being", "Pearl"]

    assert nacre("eval", "status", *mine).out.startswith("kept: no\n")
    assert nacre("eval", "on", *mine).code == 0
    assert nacre("eval", "run", *mine).code == 0


def call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def test_two_servers_on_one_folder_keep_the_questions_of_those_who_may_write(
    nacre: Nacre, folder: Path
) -> None:
    being_id = nacre("being", "create", "Ann", "--json").json()["being_id"]
    full, reader = (
        nacre("token", "create", "--scope", scope).out.strip() for scope in ("full", "read-only")
    )
    nacre("eval", "on")

    def ask_one(server: Server, token: str, question: str) -> None:
        status, answer = server.post(f"/{being_id}", token, call("recall", question_of(question)))
        assert (status, "error" in answer) == (200, False), answer

    def question_of(text: str) -> dict[str, Any]:
        return {"user_message": text}

    with serving() as first, serving() as second:
        scene = {"action": SCENES[0], "actors": ["Mia"], "when": ["2026-07-01"]}
        first.post(f"/{being_id}", full, call("update_notes", {"scenes": [scene]}))
        for number in range(3):
            ask_one(first, full, f"where does Mia live? {number}")
            ask_one(second, full, f"where does Mia live? {number}")
        ask_one(second, reader, "what may I read?")
        second.post(f"/{being_id}", full, call("search_memory", {"query": "Kiel", "limit": 3}))
        logs = [server.stop(signal.SIGTERM) for server in (first, second)]

    entries = nacre("eval", "list", "--json").json()
    assert [(entry["tool"], entry["times"]) for entry in entries] == [
        ("recall", 2),
        ("recall", 2),
        ("recall", 2),
        ("search_memory", 1),
    ]
    assert entries[-1]["arguments"] == {"limit": 3, "mode": "or", "timezone": "UTC"}
    assert not any("Mia live" in written for _, out, err in logs for written in (out, err))
    assert nacre("eval", "run", "--json").json()["since_kept"]["totals"]["same"] == 4
    modes = {stat.S_IMODE(file.stat().st_mode) for file in folder.glob(f"{DATABASE}*")}
    assert modes == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert json.dumps(entries).count("Mia live") == 3
