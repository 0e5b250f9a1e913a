"""The command `nacre recall`, now and as of a past time."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from nacre.being.memory.model.types import SceneDraft
from nacre.being.memory.store.recall_log import waiting_recalls
from nacre.core.clock import system_clock
from tests.cli.conftest import Nacre
from tests.cli.worlds import World

QUESTION = "Where does Ann's walnut tree stand?"


@pytest.fixture
def being_id(nacre: Nacre, world: World) -> str:
    return str(nacre("being", "create", "Ann", "--json", *world.options).json()["being_id"])


def note(world: World, being_id: str, action: str) -> str:
    draft = SceneDraft(action=action, actors=("Ann",), when=("2026-07-01",))
    [scene] = world.memory.scenes.record(being_id, [draft]).scenes
    return scene.scene_id


def moment() -> str:
    """Return a time after everything until now, and before everything that follows."""
    now = system_clock()
    while system_clock() < now + timedelta(milliseconds=2):
        pass  # the record knows milliseconds
    return (now + timedelta(milliseconds=1)).isoformat()


def test_it_shows_what_clients_get_and_counts_nothing(
    nacre: Nacre, world: World, being_id: str
) -> None:
    note(world, being_id, "Ann planted a walnut tree behind the house")
    done = nacre("recall", QUESTION, *world.options)

    assert "<memory-recall>" in done.out
    assert "Ann planted a walnut tree" in done.out
    assert waiting_recalls(world.table, being_id) == []
    nothing = nacre("recall", "Thanks!", *world.options)
    assert (nothing.code, nothing.out) == (0, "")
    assert nothing.err == "Nothing is recalled for this message.\n"


def test_a_past_time_has_the_memory_of_then(nacre: Nacre, world: World, being_id: str) -> None:
    if world.file is None:
        pytest.skip("a stack keeps no record")
    before = moment()
    note(world, being_id, "Ann planted a walnut tree behind the house")
    first, then = nacre("recall", QUESTION).out, moment()
    gone = note(world, being_id, "Ann moved the walnut tree to the gate")
    nacre("patrol", "run")
    second = nacre("recall", QUESTION).out

    assert "to the gate" in second
    assert "to the gate" not in first
    assert nacre("recall", QUESTION, "--as-of", then).out == first
    assert nacre("recall", QUESTION, "--as-of", before).out == ""
    assert nacre("recall", QUESTION, "--as-of", moment()).out == second
    assert waiting_recalls(world.table, being_id) == []
    facts = nacre("recall", QUESTION, "--as-of", then, "--json").json()
    assert (facts["being"], facts["text"] + "\n") == ("Ann", first)
    assert datetime.fromisoformat(facts["as_of"]) <= datetime.fromisoformat(then)

    assert nacre("forget", "scene", gone, "--yes", "--verify").out == "0\n"
    assert nacre("recall", QUESTION, "--as-of", then).out == first
    assert "gate" not in nacre("recall", QUESTION, "--as-of", moment()).out


def test_an_erased_being_leaves_no_trace(nacre: Nacre, world: World, being_id: str) -> None:
    note(world, being_id, "Ann planted a walnut tree behind the house")
    nacre("patrol", "run", *world.options)

    assert nacre("forget", "being", "Ann", "--yes", "--verify", *world.options).out == "0\n"


def test_a_stack_says_that_it_keeps_no_record(nacre: Nacre, world: World, being_id: str) -> None:
    done = nacre("recall", QUESTION, "--as-of", "yesterday", *world.options)

    assert done.code != 0
    record = "are not recorded\nhint: give a later" if world.file else "a stack keeps no record"
    assert record in done.err


@pytest.mark.parametrize("text", ["tomorrow", "today", "never"])
def test_a_wrong_time_is_refused(nacre: Nacre, world: World, being_id: str, text: str) -> None:
    done = nacre("recall", QUESTION, "--as-of", text, *world.options)

    assert done.code != 0
    assert f"--as-of: '{text}' " in done.err


def test_another_embedding_since_then_is_refused(
    nacre: Nacre, world: World, being_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if world.file is None:
        pytest.skip("a stack keeps no record")
    note(world, being_id, "Ann planted a walnut tree behind the house")
    then = moment()
    monkeypatch.setenv("NACRE_EMBEDDINGS", "none")
    assert nacre("reindex").code == 0
    done = nacre("recall", QUESTION, "--as-of", then)

    assert done.code != 0
    assert "the memory was searched with the embedding builtin:" in done.err
    assert "now it is none" in done.err
    assert "walnut" in nacre("recall", QUESTION, "--as-of", moment()).out
