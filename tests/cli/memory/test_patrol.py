"""The command `nacre patrol`, on the laptop and on a stack whose worker does the work."""

from typing import Any

import pytest

from nacre.being.language_model.daily_budget import Budget, Spending
from nacre.being.memory.model.types import Node, SceneDraft
from nacre.being.patrol import command_patrols, trigger
from nacre.being.patrol.run.runs import run_id_of
from nacre.being.patrol.trigger import lease_key
from nacre.core.clock import system_clock
from nacre.jobs.lease import Leases
from tests.cli.conftest import Nacre
from tests.cli.worlds import World

ACTIONS = ("Ann planted a walnut tree", "Bob sold the old piano", "Carl learned to sail")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (trigger, command_patrols):
        monkeypatch.setattr(module, "_POLL_SECONDS", 0.02)


@pytest.fixture
def being_id(nacre: Nacre, world: World) -> str:
    return str(nacre("being", "create", "Ann", "--json", *world.options).json()["being_id"])


def note(world: World, being_id: str, *actions: str) -> None:
    drafts = [SceneDraft(action=each, actors=("Ann",), when=("2026-07-01",)) for each in actions]
    world.memory.scenes.record(being_id, drafts)


def nodes(world: World, being_id: str) -> list[Node]:
    return list(world.memory.nodes.page(being_id).nodes)


def patrol(nacre: Nacre, world: World, *arguments: str) -> Any:
    return nacre("patrol", *arguments, "--json", *world.options).json()


def test_a_run_makes_memories_and_shows_its_receipt(
    nacre: Nacre, world: World, being_id: str
) -> None:
    note(world, being_id, *ACTIONS)
    receipt = patrol(nacre, world, "run")

    assert (receipt["state"], receipt["trigger"]) == ("done", "manual")
    assert receipt["run_id"] == run_id_of(being_id, 1)
    assert receipt["counts"]["nodes_created"] == 3
    assert sorted(node.action for node in nodes(world, being_id)) == sorted(ACTIONS)


def test_a_person_reads_how_far_it_is_and_what_came_of_it(
    nacre: Nacre, world: World, being_id: str
) -> None:
    note(world, being_id, *ACTIONS)
    done = nacre("patrol", "run", *world.options)

    assert done.code == 0, done.err
    assert "  3 scenes taken\n  3 new memories\n" in done.out
    assert "Why not more:\n" in nacre("patrol", "history", "--run", "1", *world.options).out
    if world.file is not None:  # a stack is asked now and then, and may be faster
        steps = [line for line in done.err.splitlines() if line.startswith("step ")]
        assert steps[0] == "step 1 of 10: claim"
        assert steps[-1] == "step 10 of 10: finish"
        assert len(steps) == 10


def test_a_run_with_nothing_to_do_says_so(nacre: Nacre, world: World, being_id: str) -> None:
    done = nacre("patrol", "run", *world.options)

    assert (done.code, "nothing to do" in done.out) == (0, True)


def test_the_status_says_what_waits_and_how_the_last_run_ended(
    nacre: Nacre, world: World, being_id: str
) -> None:
    note(world, being_id, *ACTIONS)
    before = patrol(nacre, world, "status")
    nothing = nacre("patrol", "status", *world.options)
    patrol(nacre, world, "run")
    after = patrol(nacre, world, "status")
    shown = nacre("patrol", "status", *world.options)

    assert (before["pending_scenes"], before["last"], before["open"]) == (3, None, None)
    assert "Waiting:  3 scenes, 0 messages\n" in nothing.out
    assert "Last run: none yet" in nothing.out
    assert (after["pending_scenes"], after["clock"]) == (0, 1)
    assert after["last"]["counts"]["nodes_created"] == 3
    assert "Clock:    1 active day\n" in shown.out
    assert "  Run 1 (manual)" in shown.out


def test_the_status_says_what_a_model_was_asked_today(
    nacre: Nacre, world: World, being_id: str
) -> None:
    nothing = nacre("patrol", "status", *world.options)
    spending = Spending(world.table, Budget(0), clock=system_clock)
    reserved = spending.reserve(being_id, input_tokens=100, output_tokens=50)
    assert not isinstance(reserved, str)
    spending.settle(reserved, input_tokens=80, output_tokens=20)
    shown = nacre("patrol", "status", *world.options)

    assert "Model:" not in nothing.out
    assert "Model:    1 question today, 80 tokens in, 20 out\n" in shown.out
    assert patrol(nacre, world, "status")["model_today"]["input_tokens"] == 80


def test_the_history_lists_runs_the_newest_first(nacre: Nacre, world: World, being_id: str) -> None:
    nothing = nacre("patrol", "history", *world.options)
    for action in ACTIONS:
        note(world, being_id, action)
        patrol(nacre, world, "run")
    listed = patrol(nacre, world, "history")
    newest = patrol(nacre, world, "history", "--limit", "1")
    table = nacre("patrol", "history", *world.options).out.splitlines()

    assert (nothing.out, "No patrol yet" in nothing.err) == ("", True)
    assert [each["seq"] for each in listed] == [3, 2, 1]
    assert [each["seq"] for each in newest] == [3]
    assert [line.split()[0] for line in table] == ["RUN", "3", "2", "1"]


@pytest.mark.parametrize("by", ["number", "id"])
def test_one_run_is_shown_by_its_number_and_by_its_id(
    nacre: Nacre, world: World, being_id: str, by: str
) -> None:
    note(world, being_id, *ACTIONS)
    receipt = patrol(nacre, world, "run")
    named = str(receipt["seq"]) if by == "number" else receipt["run_id"]

    found = patrol(nacre, world, "history", "--run", named)
    assert found["run_id"] == receipt["run_id"]
    assert [found] == patrol(nacre, world, "history")


def test_a_run_that_does_not_exist_is_refused(nacre: Nacre, world: World, being_id: str) -> None:
    for arguments in (("history", "--run", "7"), ("undo", "7"), ("undo", "made-up")):
        refused = nacre("patrol", *arguments, *world.options)

        assert refused.code != 0
        assert "there is no run" in refused.err


def test_a_dry_run_writes_nothing(nacre: Nacre, world: World, being_id: str) -> None:
    note(world, being_id, *ACTIONS)
    receipt = patrol(nacre, world, "dry-run")

    assert receipt["state"] == "dry"
    assert receipt["counts"]["nodes_created"] == 3
    assert nodes(world, being_id) == []
    assert patrol(nacre, world, "history") == []
    assert patrol(nacre, world, "status")["pending_scenes"] == 3
    shown = nacre("patrol", "dry-run", *world.options).out
    assert shown.startswith("Dry run, ")
    assert "Run id" not in shown


def test_taking_back_a_run_that_merged_nothing_says_so(
    nacre: Nacre, world: World, being_id: str
) -> None:
    note(world, being_id, *ACTIONS)
    patrol(nacre, world, "run")

    assert patrol(nacre, world, "undo", "1")["undone"] == []
    assert "0 merges undone" in nacre("patrol", "undo", "1", *world.options).out


def test_while_another_process_is_at_it_the_command_says_so(
    nacre: Nacre, world: World, being_id: str
) -> None:
    if world.file is None:
        pytest.skip("a stack's command waits for the worker")
    leases = Leases(world.table, now=system_clock)
    lease = leases.take(lease_key(being_id))
    note(world, being_id, *ACTIONS)
    refused = nacre("patrol", "run", *world.options)
    leases.give_back(lease)

    assert refused.code != 0
    assert "another process is using this Being" in refused.err
