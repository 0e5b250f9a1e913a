"""Points of older versions get their summaries while everything goes on."""

import pytest

from nacre.being.memory.index.maintenance import IndexMaintenance
from nacre.being.memory.index.summaries import add_summaries
from nacre.being.memory.index.vector_items import VectorItem, pages
from nacre.being.memory.model import keys
from nacre.being.memory.text.summary import Summary
from nacre.ports.items.table import Change
from tests.being.memory.keeping import a_node
from tests.being.memory.minds import Minded

EVERY = 10_000


def points(mind: Minded) -> dict[str, VectorItem]:
    return {item.id: item for page in pages(mind.table, mind.being_id) for item in page}


def age(mind: Minded) -> None:
    """Leave the items as an older version wrote them."""
    gone = Change(remove=frozenset({"summary"}))
    for id_ in points(mind):
        mind.table.update(keys.point(mind.being_id, id_), gone)
    mind.indexing.sync(mind.being_id, list(points(mind)))
    older = Change(remove=frozenset({"summarized"}))
    mind.table.update(keys.index_state(mind.being_id), older)


def test_old_points_get_the_summaries_that_new_ones_have(mind: Minded) -> None:
    mind.note("Ann finished her tax return", "Bo fed the cat")
    for first in (0, 35):
        mind.remember(*(a_node(number, similar=("x",)) for number in range(first, first + 35)))
    new = points(mind)
    age(mind)

    assert add_summaries(mind.indexing, mind.being_id, at_most=10) == 64  # a page
    part = [item for item in points(mind).values() if item.summary is not None]
    assert len(part) == 64
    assert add_summaries(mind.indexing, mind.being_id, at_most=10) == 8

    assert points(mind) == new
    assert add_summaries(mind.indexing, mind.being_id, at_most=EVERY) == 0
    assert IndexMaintenance(mind.indexing).check(mind.being_id).is_in_sync


def test_a_migration_that_was_stopped_goes_on_where_it_stopped(
    mind: Minded, monkeypatch: pytest.MonkeyPatch
) -> None:
    mind.remember(*(a_node(number) for number in range(3)))
    age(mind)
    sync = mind.indexing.sync

    def killed(*_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(mind.indexing, "sync", killed)
    with pytest.raises(KeyboardInterrupt):
        add_summaries(mind.indexing, mind.being_id, at_most=EVERY)
    monkeypatch.setattr(mind.indexing, "sync", sync)
    add_summaries(mind.indexing, mind.being_id, at_most=EVERY)

    assert IndexMaintenance(mind.indexing).check(mind.being_id).is_in_sync
    assert all(item.summary is not None for item in points(mind).values())


def test_a_patrol_adds_them(mind: Minded) -> None:
    mind.remember(a_node(1))
    age(mind)

    mind.note("Bo fed the cat")
    mind.call("trigger_patrol", messages=[])
    mind.work()

    assert all(item.summary is not None for item in points(mind).values())


def test_a_repair_mends_a_summary_that_is_out_of_date(mind: Minded) -> None:
    """As after an older version has changed the memory."""
    mind.remember(a_node(1))
    changed = a_node(1, superseded_by="x")
    mind.table.put(changed.to_item(mind.being_id))

    IndexMaintenance(mind.indexing).check_and_repair(mind.being_id)

    [item] = points(mind).values()
    assert item.summary == Summary.of(changed).to_text()
    assert IndexMaintenance(mind.indexing).check(mind.being_id).is_in_sync
