"""The map of a Being: which groups and memories are on it."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest

from nacre.being.memory.model import keys
from nacre.being.memory.model.types import UNDONE, Cluster, Node
from nacre.console.map.captions import captions
from nacre.console.map.chart import NO_GROUP, Chart, Island, chart
from nacre.ports.items.table import Change, Put, Write
from tests.being.memory.keeping import a_node
from tests.console.conftest import Desk, console_desk


@pytest.fixture
def desk() -> Iterator[Desk]:
    with console_desk("laptop") as made:
        yield made


def fill(desk: Desk, nodes: list[Node]) -> None:
    memory = desk.own.mind.memory
    for first in range(0, len(nodes), 30):
        memory.nodes.add(desk.being, nodes[first : first + 30])
    for name in sorted({each.cluster_id for each in nodes if each.cluster_id}):
        memory.clusters.add(
            desk.being, Cluster(cluster_id=name, created_at="t", label=f"all {name}")
        )


def seen(found: Chart) -> dict[str, list[str]]:
    return {each.name: sorted(dot.node_id[-2:] for dot in each.dots) for each in found.islands}


def test_living_memories_lie_in_their_groups_the_largest_first(desk: Desk) -> None:
    fill(
        desk,
        [
            a_node(1, cluster_id="b"),
            a_node(2, cluster_id="b", status="dying"),
            a_node(3, cluster_id="a"),
            a_node(4),
            a_node(5, cluster_id="b", status="dead", due=None),
            a_node(6, status="merged"),
            a_node(7, status="dead", reason=UNDONE),
        ],
    )

    found = chart(desk.own.table, desk.being)

    assert list(seen(found).items()) == [("b", ["01", "02"]), ("a", ["03"]), (NO_GROUP, ["04"])]
    assert [each.number for each in found.islands] == [1, 2, 3]
    assert [each.label for each in found.islands] == ["all b", "all a", "Not in a cluster yet"]
    assert (found.count, found.by_meaning) == (4, True)
    assert seen(chart(desk.own.table, desk.being, forgotten=True))["b"] == ["01", "02", "05"]
    assert seen(chart(desk.own.table, desk.being, group="a")) == {"a": ["03"]}
    assert seen(chart(desk.own.table, desk.being, group=NO_GROUP)) == {NO_GROUP: ["04"]}


def test_the_map_stays_as_it_is_while_nothing_changes(desk: Desk) -> None:
    fill(desk, [a_node(number, cluster_id=f"{number % 3}") for number in range(30)])

    assert chart(desk.own.table, desk.being) == chart(desk.own.table, desk.being)


def test_the_stronger_a_memory_the_larger_its_dot(desk: Desk) -> None:
    desk.own.table.update(keys.meta(desk.being), Change(set={"clock": 40}))
    fill(desk, [a_node(1, clock0=40), a_node(2, clock0=10), a_node(3, clock0=0)])

    [island] = chart(desk.own.table, desk.being).islands
    radii = {dot.node_id[-1]: dot.radius for dot in island.dots}

    assert radii["1"] > radii["2"] > radii["3"]


def test_an_empty_memory_has_an_empty_map(desk: Desk) -> None:
    assert chart(desk.own.table, desk.being).islands == ()


@pytest.mark.slow
def test_ten_thousand_memories_make_a_page_that_a_browser_can_draw(desk: Desk) -> None:
    writes: list[Write] = []
    for number in range(10_000):
        node = replace(a_node(number), cluster_id=f"{number % 250:03}")
        writes.append(Put(node.to_item(desk.being)))
    for first in range(0, len(writes), 90):
        desk.own.table.transact(writes[first : first + 90])

    page = desk.get("map")

    assert "10,000 memories in 250 clusters" in page.text
    assert page.text.count('<path class="dots"') == 250
    # Each group is a link in the picture and one in the legend, with those of the menu.
    assert page.text.count("<a ") < 560
    assert len(page.body) < 800_000


@pytest.mark.parametrize("count", [1, 2, 7, 24, 40])
def test_groups_carry_their_names_and_no_name_hides_another_or_a_group(count: int) -> None:
    rng = Random(count)
    islands = tuple(
        Island(
            n,
            f"c{n}",
            f"violin, orchestra, concert {n}",
            rng.uniform(0, 900),
            rng.uniform(0, 560),
            20.0,
            (),
        )
        for n in range(1, count + 1)
    )
    drawing = Chart(islands, left=-20, top=-20, width=940, height=600)

    told = captions(drawing)

    assert [each.text.split()[0] for each in told] == [str(n) for n in range(1, count + 1)]
    names = [each for each in told if "violin" in each.text]
    assert len(names) >= min(count, 35)
    for place, each in enumerate(names):
        assert not any(each.overlaps(other) for other in names[:place])
        assert not any(each.covers(island) for island in islands)
        half = len(each.text) * each.size * 0.6 / 2
        assert each.x - half >= -20
        assert each.x + half <= 920
    assert max(each.size for each in told) < 20


def test_a_japanese_name_keeps_its_width_and_a_long_one_loses_phrases() -> None:
    wide = Island(1, "a", "庭のトマト", 450.0, 200.0, 20.0, ())
    long = Island(2, "b", "Donaudampfschifffahrt, Fahrradreise, Passau", 450.0, 400.0, 20.0, ())
    drawing = Chart((wide, long), left=0, top=0, width=900, height=560)

    japanese, german = captions(drawing)

    assert japanese.text == "1 庭のトマト"
    assert japanese.half > len(japanese.text) * japanese.size * 0.4
    assert german.text == "2 Donaudampfschifffahrt, Fahr…"


def test_a_group_without_a_name_is_called_after_its_strongest_memory(desk: Desk) -> None:
    desk.own.table.update(keys.meta(desk.being), Change(set={"clock": 40}))
    weak, strong = a_node(1, cluster_id="c", clock0=0), a_node(2, cluster_id="c", clock0=40)
    desk.own.mind.memory.nodes.add(desk.being, [weak, strong])
    desk.own.mind.memory.clusters.add(desk.being, Cluster(cluster_id="c", created_at="t", label=""))

    [island] = chart(desk.own.table, desk.being).islands

    assert island.label == strong.action
