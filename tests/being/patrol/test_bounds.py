"""A limited run ends the same when the patrol is stopped before any write."""

from collections.abc import Callable

import pytest

from nacre.being.memory.model import size_limit
from nacre.being.memory.model.message_chain import ChatMessage
from nacre.being.patrol.planning import prompt_text
from tests.being.memory.minds import builtin
from tests.being.patrol.invariants import check
from tests.being.patrol.stand_in import Refusing
from tests.being.patrol.worlds import Stopped, World, new_world


def _refused_so_often(runs: int) -> Callable[[World], None]:
    def prepare(world: World) -> None:
        batch = [
            ChatMessage("user", text) for text in ("Dan dug", "vile words", "Eve baked rye bread")
        ]
        world.memory.history.add(world.being_id, batch, for_patrol=True)
        for _ in range(runs):
            world.run()

    return prepare


def _full(world: World) -> None:
    world.note(*["Ann fed the cat"] * 3)
    world.run()
    world.note(*["Ann fed the cat"] * 4, "Bob sold his boat")


@pytest.mark.parametrize(
    "prepare",
    [_refused_so_often(0), _refused_so_often(1), _refused_so_often(2), _full],
    ids=["first refusal", "second refusal", "let go", "full memory"],
)
def test_stopped_before_any_write_it_ends_the_same(
    prepare: Callable[[World], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prompt_text, "ASKED_MESSAGES", 1)
    monkeypatch.setattr(size_limit, "NODE_LIST_BYTES", 120)
    embedder = builtin()[0]
    start = new_world(embedder, Refusing())
    prepare(start)
    unstopped = start.copy()
    unstopped.run()
    expected = unstopped.dump()
    check(unstopped.items(), unstopped.being_id, emb_id=embedder.emb_id)

    for number in range(unstopped.fuse.writes):
        world = start.copy()
        world.fuse.stop_before = number
        with pytest.raises(Stopped):
            world.run()
        again = world.copy()
        again.run()
        assert again.dump() == expected, number
        for opened in (world, again):
            opened.database.close()
    start.database.close()
    unstopped.database.close()
