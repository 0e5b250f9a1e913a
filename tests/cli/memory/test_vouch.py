"""The command `nacre vouch`, on the laptop and on a stack."""

import pytest

from nacre.being.memory.model.lineage import is_vouched
from nacre.cli.exit_codes import REFUSED
from tests.being.memory.keeping import a_node
from tests.cli.conftest import Nacre, Typed
from tests.cli.worlds import World

NODE = a_node(1, trust="external", origins=("agent", "external:web"))


@pytest.fixture
def being_id(nacre: Nacre, world: World) -> str:
    being_id = str(nacre("being", "create", "Ann", "--json", *world.options).json()["being_id"])
    world.memory.nodes.add(being_id, [NODE])
    return being_id


def vouched(world: World, being_id: str) -> bool:
    node = world.memory.nodes.get(being_id, NODE.node_id)
    assert node is not None
    return is_vouched(node)


def test_an_owner_vouches_and_takes_it_back(nacre: Nacre, world: World, being_id: str) -> None:
    facts = nacre("vouch", NODE.node_id, "--yes", "--json", *world.options).json()

    assert facts["origins"] == ["agent", "external:web", "owner"]
    assert (facts["node_id"], facts["trust"]) == (NODE.node_id, "user")
    assert vouched(world, being_id)

    done = nacre("vouch", NODE.node_id, "--withdraw", *world.options)
    assert done.out == "You no longer vouch for this memory. Its trust is now external.\n"
    assert not vouched(world, being_id)


def test_the_text_is_shown_and_a_no_changes_nothing(
    nacre: Nacre, world: World, being_id: str, typed: Typed
) -> None:
    typed("n\n")
    done = nacre("vouch", NODE.node_id, *world.options)

    assert done.code == REFUSED
    assert NODE.action in done.err
    assert "Origins: agent, external:web" in done.err
    assert "Nothing was changed." in done.err
    assert not vouched(world, being_id)

    typed("y\n")
    done = nacre("vouch", NODE.node_id, *world.options)
    assert done.out == "You vouch for this memory. Its trust is now user.\n"


def test_without_a_terminal_it_wants_to_be_told(nacre: Nacre, world: World, being_id: str) -> None:
    done = nacre("vouch", NODE.node_id, *world.options)

    assert done.code != 0
    assert "give --yes" in done.err
    assert not vouched(world, being_id)


def test_an_unknown_memory_is_named_as_such(nacre: Nacre, world: World, being_id: str) -> None:
    done = nacre("vouch", a_node(7).node_id, "--yes", *world.options)

    assert "there is no such memory" in done.err
