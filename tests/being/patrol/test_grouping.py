"""What puts memories into one cluster, what parts them, and how clusters are named."""

from random import Random

import pytest

from nacre.being.memory.model.types import Node
from nacre.being.patrol.compare.geometry import dot, less, mean, packed
from nacre.being.patrol.compare.grouping import (
    JOIN,
    PEOPLE,
    SPLIT,
    WORDS,
    Grouping,
    circumstances,
    is_due,
    link,
    measured,
    nearness,
    place_of,
)
from nacre.being.patrol.steps.cluster_digests import Background
from nacre.being.patrol.steps.cluster_labels import label_of
from tests.being.memory.keeping import a_node
from tests.being.memory.minds import builtin
from tests.being.patrol.invariants import check
from tests.being.patrol.worlds import World, new_world
from tests.benchmarks.life_clusters import groups_of, life


def places(seed: int, count: int) -> list[tuple[float, ...]]:
    """Return places of notes about nothing in particular."""
    rng = Random(seed)
    found = []
    for number in range(count):
        parts = [rng.gauss(0, 1) for _ in range(16)]
        length = sum(part * part for part in parts) ** 0.5
        vector = packed([part / length for part in parts])
        node = a_node(number, action=f"word{number} thing{number % 5}", actors=(f"P{number % 3}",))
        found.append(place_of(node, vector))
    return found


def test_the_alikeness_of_a_group_follows_from_its_mean() -> None:
    some = places(1, 6)
    grouping = Grouping(
        centre=tuple(0.3 * part for part in mean(places(2, 30))), alike=0.2, count=30
    )
    group = grouping.group_of(some)
    around = [less(place, grouping.centre) for place in some]
    products = [dot(a, b) for number, a in enumerate(around) for b in around[:number]]

    plain = (sum(products) + 3 * 0.2) / (len(products) + 3)

    assert group.alike == pytest.approx(max(0.02, plain), abs=1e-6)
    assert grouping.group(some[0], 1).alike == 0.2


def test_two_groups_are_linked_by_the_mean_product_of_their_members() -> None:
    first, second = places(3, 4), places(4, 5)
    grouping = Grouping(centre=(0.0,) * len(first[0]), alike=0.2, count=20)
    a, b = grouping.group_of(first), grouping.group_of(second)
    products = [dot(one, other) for one in first for other in second]

    expected = sum(products) / len(products) / ((a.alike + b.alike) / 2)

    assert link(a, b) == pytest.approx(expected, abs=1e-6)
    assert link(a, b) == link(b, a)
    assert nearness(a, a) == pytest.approx(1)


def test_clusters_do_not_part_and_unite_by_turns() -> None:
    assert SPLIT < JOIN


def test_people_and_words_have_the_same_weight_in_every_note() -> None:
    for action, actors in (("Ann fed the cat", ("Ann", "Bob")), ("", ()), ("猫が寝た", ("結衣",))):
        parts = circumstances(a_node(1, action=action, actors=actors))
        assert len(parts) == PEOPLE + WORDS
        assert dot(parts[:PEOPLE], parts[:PEOPLE]) == pytest.approx(0.2)
        assert dot(parts[PEOPLE:], parts[PEOPLE:]) == pytest.approx(0.4)


def test_groups_are_measured_on_twenty_notes_and_not_again_and_again() -> None:
    assert measured(places(5, 19)) is None
    measure = measured(places(5, 40))
    assert measure is not None
    due = [is_due(measure, count) for count in (41, 79, 80, 200)]
    assert due == [False, False, True, True]
    assert [is_due(None, count) for count in (19, 20)] == [False, True]
    final = measured(places(5, 230))
    assert final is not None
    assert not is_due(final, 5000)


@pytest.fixture(scope="module")
def lived() -> World:
    """Return a Being that has had most of Nora's life, noted ten scenes at a time."""
    world = new_world(builtin()[0])
    for number, scene in enumerate(life("nora"), start=1):
        world.note(scene.action, actors=scene.people, when=(scene.day,))
        if number % 10 == 0:
            world.run()
            world.clock.move(86_400)
    return world


def test_a_life_is_grouped_without_a_model(lived: World) -> None:
    subject_of = {scene.action: scene.subject for scene in life("nora")}
    world = lived.copy()
    world.run()
    nodes = world.memory.nodes.page(world.being_id).nodes
    groups = groups_of([(node.cluster_id or "", subject_of[node.action]) for node in nodes])

    check(world.items(), world.being_id, emb_id=builtin()[0].emb_id)
    assert groups.in_threes >= 0.6
    assert groups.agreement.purity >= 0.7
    assert groups.agreement.nmi >= 0.65
    assert groups.largest <= 40
    world.database.close()


@pytest.mark.slow
def test_a_life_ends_the_same_when_its_patrol_is_stopped(lived: World) -> None:
    from tests.being.patrol.worlds import Stopped

    world = lived.copy()
    world.run()
    expected = world.dump()
    assert world.receipts[-1].counts.get("moved", 0) > 0
    for number in range(0, world.fuse.writes, 4):
        stopped = lived.copy()
        stopped.fuse.stop_before = number
        with pytest.raises(Stopped):
            stopped.run()
        again = stopped.copy()
        again.run()
        assert again.dump() == expected, number
        for opened in (stopped, again):
            opened.database.close()
    world.database.close()


def test_labels_do_not_change_when_a_patrol_has_nothing_new_to_say(lived: World) -> None:
    world = lived.copy()
    world.run()
    before = {c.cluster_id: c.label for c in world.memory.clusters.active(world.being_id)}
    world.note("Nora baked a cake with almonds", actors=("Nora",), when=("2026-06-01",))
    world.run()
    after = {c.cluster_id: c.label for c in world.memory.clusters.active(world.being_id)}

    same = [before[id_] == after[id_] for id_ in before if id_ in after]
    assert sum(same) >= len(same) - 2
    assert all(label and not label[0].isspace() for label in after.values())
    world.database.close()


@pytest.mark.parametrize(
    ("actions", "actors", "label"),
    [
        (
            ("Booked a flight to Lisbon", "A room in Lisbon", "Read of Lisbon along the way"),
            ("Nora", "Elif"),
            "Elif, Lisbon",
        ),
        (
            ("Der Golf springt nicht an", "Haben den Golf verkauft", "Neue Batterie für den Golf"),
            ("Jonas",),
            "Golf",
        ),
        (
            ("薄茶の稽古に行った", "茶道の稽古を始めた", "稽古で袱紗をたたんだ"),
            ("結衣",),
            "稽古",
        ),
        (("The dark matter talk", "A talk on dark matter"), ("Nora",), "dark matter, talk"),
    ],
)  # fmt: skip
def test_a_cluster_is_named_by_its_best_phrases(
    actions: tuple[str, ...], actors: tuple[str, ...], label: str
) -> None:
    members = [
        a_node(number, action=action, actors=actors) for number, action in enumerate(actions)
    ]
    others: list[Node] = [
        a_node(100 + number, action=f"something else happened {number}", actors=actors[:1])
        for number in range(20)
    ]

    assert label_of(members, Background([*members, *others]), ()) == label


def test_a_label_that_is_nearly_as_good_stays() -> None:
    members = [
        a_node(1, action="the red kite rose over the beach"),
        a_node(2, action="a red kite fell into the sea"),
    ]
    background = Background([*members, *(a_node(n, action=f"other {n}") for n in range(3, 20))])

    assert label_of(members, background, (), "kite") != "kite"
    fresh = label_of(members, background, ())
    assert label_of(members, background, (), fresh) == fresh
