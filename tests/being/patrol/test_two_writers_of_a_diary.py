"""The paragraph of a run is written into the diary once, however many workers write it."""

from nacre.being.memory.store.targets import DIARY
from tests.being.patrol.stand_in import StandIn
from tests.being.patrol.worlds import new_world


def test_a_slow_worker_does_not_repeat_the_paragraph_of_the_one_that_took_over() -> None:
    world = new_world(None, StandIn())
    world.note("Ann fed the cat")
    written: list[str] = []

    def write_first() -> None:
        """Write the run's paragraph as the other worker did, just before this one writes it."""
        run = world.patrol.runs.open(world.being_id)
        if run is not None and run.step == 8 and not written:
            written.append(f"patrol:{run.run_id}\n1 things happened")
            world.memory.entries.append(world.being_id, DIARY, written[0], key="2026-07-28")

    world.table.before_write = write_first
    assert world.run().state == "done"

    entry = world.memory.entries.get(world.being_id, DIARY, "2026-07-28")
    assert entry is not None
    assert [entry.text] == written
    world.database.close()
