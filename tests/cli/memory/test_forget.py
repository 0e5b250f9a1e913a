"""The command `nacre forget`, on the laptop and on a stack."""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from nacre.access.beings import Being, Beings
from nacre.being.memory.erase import eraser
from nacre.being.memory.erase.receipt import EraseReceipt
from nacre.being.memory.model import keys
from nacre.being.memory.model.message_chain import ChatMessage
from nacre.being.memory.model.types import SceneDraft
from nacre.being.memory.store.targets import NOTES, TARGETS
from nacre.being.tasks.task import result_key
from nacre.cli.memory.forget import _show
from nacre.core.clock import system_clock
from nacre.firewall.approvals.service import Approvals
from nacre.firewall.rules.sections import Settings as PolicySettings
from nacre.jobs.lease import Leases
from nacre.ports.items.table import Key
from tests.being.memory.keeping import a_node
from tests.cli.conftest import Nacre, Typed
from tests.cli.worlds import World
from tests.firewall.approving import wish

# The package has a command of the same name.


@pytest.fixture
def being_id(nacre: Nacre, world: World) -> str:
    return str(nacre("being", "create", "Ann", "--json", *world.options).json()["being_id"])


def draft(action: str) -> SceneDraft:
    return SceneDraft(action=action, actors=("Ann",), when=("2026-07-01",))


def forgotten(nacre: Nacre, world: World, *arguments: str) -> Any:
    options = ["--yes", "--verify", "--json", *world.options]
    return nacre("forget", *arguments, *options).json()


def test_a_scene_leaves_nothing_behind(nacre: Nacre, world: World, being_id: str) -> None:
    recorded = world.memory.scenes.record(being_id, [draft("hid the Zirkon"), draft("ate")])
    gone, stays = (scene.scene_id for scene in recorded.scenes)
    vector = world.table.get(keys.point(being_id, gone))
    assert vector is not None
    made = [each for each in vector.values() if isinstance(each, bytes)]
    assert made
    assert b"Zirkon" in world.content

    done = forgotten(nacre, world, "scene", gone)

    assert (done["erased"], done["ids"]) == ({"scene": 1}, [gone])
    assert (done["traces"], done["places"]) == (0, [])
    assert b"Zirkon" not in world.content
    assert gone.encode() not in world.content
    if world.file is not None:
        assert not any(each[:40] in world.content for each in made)
    assert stays.encode() in world.content


def test_a_memory_leaves_nothing_behind(nacre: Nacre, world: World, being_id: str) -> None:
    node = a_node(1, action="Ann hid the Zirkon", evidence=())
    world.memory.nodes.add(being_id, [node, a_node(2, evidence=())])

    done = nacre("forget", "node", node.node_id, "--yes", "--verify", *world.options)

    assert (done.code, done.out, done.err) == (0, "0\n", "Erased of Ann: 1 node.\n")
    assert b"Zirkon" not in world.content
    assert node.node_id.encode() not in world.content
    sound = nacre("export", "-", *world.options).out
    assert "Zirkon" not in sound
    assert node.node_id not in sound


def test_a_note_an_entry_and_messages_leave_nothing_behind(
    nacre: Nacre, world: World, being_id: str
) -> None:
    note = world.memory.entries.append(being_id, NOTES, "note about the Zirkon").key
    for text in ("I love the Zirkon", "I love pearls"):
        world.memory.entries.update(being_id, TARGETS["souls"], "values", text)
    world.memory.history.add(being_id, [ChatMessage("user", "where is the Zirkon?")])
    today = f"{system_clock():%Y-%m-%d}"
    yesterday = f"{system_clock() - timedelta(days=1):%Y-%m-%d}"

    assert forgotten(nacre, world, "note", note)["traces"] == 0
    assert forgotten(nacre, world, "entry", "souls", "values")["erased"] == {
        "version": 1,
        "souls": 1,
    }
    said = forgotten(nacre, world, "messages", "--from", yesterday, "--to", today)

    assert (said["erased"], said["traces"]) == ({"message": 1}, 0)
    assert b"Zirkon" not in world.content


def test_a_whole_being_leaves_nothing_behind(
    nacre: Nacre, world: World, being_id: str, folder: Path
) -> None:
    other = nacre("being", "create", "Bob", "--json", *world.options).json()["being_id"]
    world.memory.scenes.record(being_id, [draft("hid the Zirkon")], notes=["Zirkon!"])
    world.memory.scenes.record(other, [draft("ate")])
    world.memory.entries.append(being_id, TARGETS["knowledge"], "Zirkon " * 1000, key="Long")
    world.memory.letters.send(being_id, "Bob", "The Zirkon is mine")
    world.memory.letters.send(other, "Ann", "What is yours?")
    world.table.put(
        {**result_key(being_id, "a-task").attributes(), "schema": 1, "data": b"the Zirkon is here"}
    )
    world.memory.history.add(being_id, [ChatMessage("user", "Zirkon")])
    told = tuple(f"TOLD{number}" for number in range(600))
    world.memory.nodes.add(being_id, [a_node(1, action="hid the Zirkon", evidence=told)])
    world.memory.trigger.ask(being_id)
    if world.file is not None:
        blobs = folder / "blobs" / f"{being_id}.d"
        blobs.mkdir(parents=True)
        (blobs / "result.blob").write_bytes(b"Zirkon")
    nacre("token", "create", "--scope", "full", "--being", "Ann", *world.options)

    done = forgotten(nacre, world, "being", "ann")

    assert done["erased"]["token"] == 1
    assert (done["traces"], done["places"]) == (0, [])
    names = [each["name"] for each in nacre("being", "list", "--json", *world.options).json()]
    assert names == ["Bob"]
    assert being_id.encode() not in world.content
    assert b"Zirkon" not in world.content
    assert world.memory.letters.received(other) == []
    assert [letter.content for letter in world.memory.letters.sent(other)] == ["What is yours?"]
    item = world.table.get(keys.meta(other))
    assert item is not None
    assert item["unread"] == 0
    if world.file is not None:
        assert list((folder / "blobs").rglob("*.blob")) == []
    assert nacre("forget", "being", "ann", "--yes", *world.options).code == 3


def test_a_beings_policies_and_approvals_are_erased_with_it(
    nacre: Nacre, world: World, being_id: str, tmp_path: Path
) -> None:
    issued = nacre("token", "create", "--scope", "full", "--being", "Ann", "--json", *world.options)
    (tmp_path / "own.toml").write_text('# Zirkon\n[[rule]]\naction = "deny"\ntool = "*"\n')
    for scope in ([], ["--being", "Ann"]):
        nacre("policy", "push", str(tmp_path / "own.toml"), *scope, *world.options)
    approvals = Approvals(world.table, PolicySettings, clock=system_clock, rng=Random(4))
    request = wish(principal=issued.json()["token_id"], arguments={"text": "Zirkon"})
    approvals.ask(request, can_elicit=False)

    done = forgotten(nacre, world, "being", "ann")

    assert (done["traces"], done["places"]) == (0, [])
    assert nacre("approvals", "list", "--json", *world.options).json() == []
    assert nacre("policy", "pull", *world.options).code == 0
    assert being_id.encode() not in world.content


def test_a_token_of_an_erased_being_opens_nothing(
    nacre: Nacre, world: World, being_id: str, folder: Path
) -> None:
    from nacre.access.tokens.token_format import digest
    from nacre.wiring import aws, laptop
    from nacre.wiring.settings import Settings

    made = nacre("token", "create", "--scope", "full", "--json", *world.options).json()

    nacre("forget", "being", "Ann", "--yes", *world.options)

    home = (
        laptop.open_home(folder)
        if world.file is not None
        else aws.open_stack(world.options[1], Settings.from_environment())
    )
    assert home.tokens.lookup(digest(made["token"])) is None
    home.close()


@pytest.mark.security
@pytest.mark.parametrize("what", ["node", "scene", "messages"])
def test_results_that_were_cut_are_erased_with_a_memory(
    nacre: Nacre, world: World, being_id: str, folder: Path, what: str
) -> None:
    from nacre.wiring import aws, laptop
    from nacre.wiring.features.firewall import whole_results
    from nacre.wiring.settings import Settings

    other_id = nacre("being", "create", "Bo", "--json", *world.options).json()["being_id"]
    node = a_node(1, action="Ann hid the Zirkon", evidence=())
    world.memory.nodes.add(being_id, [node])
    [scene] = world.memory.scenes.record(being_id, [draft("hid the Zirkon")]).scenes
    home = (
        laptop.open_home(folder)
        if world.file is not None
        else aws.open_stack(world.options[1], Settings.from_environment())
    )
    results = whole_results(home.ports)
    text = b'{"content": [{"type": "text", "text": "Ann hid the Zirkon"}]}'
    uris = {
        (being, caller): results.keep(text, being=being, caller=caller)
        for being in (being_id, other_id)
        for caller in ("t1", "t2")
    }
    dates = ["--from", "2026-01-01", "--to", "2026-01-31"]
    asked = {"node": [node.node_id], "scene": [scene.scene_id], "messages": dates}[what]

    nacre("forget", what, *asked, "--yes", "--being", "Ann", *world.options)

    left = {
        being
        for (being, caller), uri in uris.items()
        if results.read(uri, being=being, caller=caller) is not None
    }
    assert left == {other_id}
    home.close()


def test_an_erasure_that_broke_off_is_finished_by_the_same_command(
    nacre: Nacre, world: World, being_id: str
) -> None:
    world.memory.scenes.record(being_id, [draft("hid the Zirkon")])
    beings = Beings(world.table, clock=system_clock, rng=Random(1))
    being = beings.get(being_id)
    assert being is not None
    beings.close(being)  # as far as it got

    done = forgotten(nacre, world, "being", "Ann")

    assert done["traces"] == 0
    assert b"Zirkon" not in world.content


def test_what_stays_elsewhere_is_counted_and_named(
    nacre: Nacre, world: World, being_id: str
) -> None:
    [scene] = world.memory.scenes.record(being_id, [draft("hid the Zirkon in a box")]).scenes
    world.memory.entries.append(
        being_id, TARGETS["diary"], "Today Ann hid the Zirkon in a box.", key="2026-07-01"
    )

    done = nacre("forget", "scene", scene.scene_id, "--yes", "--verify", *world.options)

    assert (done.code, done.out) == (1, "1\n")
    assert "DIARY#2026-07-01" in done.err


def test_nothing_is_erased_without_a_yes(nacre: Nacre, world: World, being_id: str) -> None:
    [scene] = world.memory.scenes.record(being_id, [draft("hid the Zirkon")]).scenes

    refused = nacre("forget", "scene", scene.scene_id, *world.options)

    assert (refused.code, refused.out) == (2, "")
    assert refused.err == "error: there is no terminal for a confirmation\nhint: give --yes\n"
    assert b"Zirkon" in world.content


def test_a_patrol_that_ends_soon_is_waited_for(
    nacre: Nacre, world: World, being_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    [scene] = world.memory.scenes.record(being_id, [draft("hid the Zirkon")]).scenes
    leases = Leases(world.table, now=system_clock)
    lease = leases.take(Key(keys.home(being_id), "LOCK#PATROL"))
    monkeypatch.setattr(eraser, "time", SimpleNamespace(
        monotonic=time.monotonic, sleep=lambda _seconds: leases.give_back(lease)
    ))  # fmt: skip

    assert nacre("forget", "scene", scene.scene_id, "--yes", *world.options).code == 0


def test_a_patrol_that_runs_is_not_disturbed(
    nacre: Nacre, world: World, being_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eraser, "_WAIT_SECONDS", 0.0)
    [scene] = world.memory.scenes.record(being_id, [draft("hid the Zirkon")]).scenes
    leases = Leases(world.table, now=system_clock)
    lease = leases.take(Key(keys.home(being_id), "LOCK#PATROL"))

    busy = nacre("forget", "scene", scene.scene_id, "--yes", *world.options)
    leases.give_back(lease)
    free = nacre("forget", "scene", scene.scene_id, "--yes", *world.options)

    assert (busy.code, free.code) == (5, 0)
    assert "LOCK#" not in busy.err
    assert busy.err.startswith("error: another process is using this Being\nhint: try again in ")
    assert "the lock of a killed process" in busy.err


def test_what_is_not_there_is_said(nacre: Nacre, world: World, being_id: str) -> None:
    for arguments in (("node", "x"), ("scene", "x"), ("note", "x"), ("entry", "souls", "x")):
        assert nacre("forget", *arguments, "--yes", *world.options).code == 3, arguments
    wrong = nacre(
        "forget", "messages", "--from", "July", "--to", "2026-07-01", "--yes", *world.options
    )
    assert (wrong.code, "'--from' must be a date" in wrong.err) == (2, True)


def test_another_being_cannot_be_reached(nacre: Nacre, world: World, being_id: str) -> None:
    [scene] = world.memory.scenes.record(being_id, [draft("hid the Zirkon")]).scenes
    nacre("being", "create", "Bob", *world.options)

    refused = nacre("forget", "scene", scene.scene_id, "--yes", "--being", "Bob", *world.options)

    assert refused.code == 3
    assert scene.scene_id.encode() in world.content


@pytest.mark.parametrize("answer", ["n", "N", "no", ""])
def test_a_no_says_that_nothing_was_erased(nacre: Nacre, typed: Typed, answer: str) -> None:
    nacre("being", "create", "Ann")
    typed(f"{answer}\n")

    refused = nacre("forget", "being", "Ann")

    assert refused.code == 6
    assert refused.err.endswith("Nothing was erased.\n")
    assert "Ann" in nacre("being", "list").out


def test_what_was_erased_is_counted_as_people_count(
    nacre: Nacre, capfd: pytest.CaptureFixture[str]
) -> None:
    _show(
        Being("b", "Ann", "me", datetime(2026, 1, 1, tzinfo=UTC)),
        EraseReceipt({"scene": 2, "memory": 2, "node": 1, "preferences": 1}, (), ()),
        None,
    )

    assert capfd.readouterr().err == (
        "Erased of Ann: 2 scenes, 2 memories, 1 node, 1 preferences.\n"
    )
