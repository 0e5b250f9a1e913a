"""What a memory is made of: items and back, ids, and keys that stay within a Being."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.being.memory.model import keys
from nacre.being.memory.model.types import (
    Cluster,
    Message,
    Node,
    Scene,
    least_trusted,
    merged_id_of,
    moment,
    node_id_of,
    session_key_hash,
)
from nacre.core.errors import InvalidInputError, NewerSchemaError
from nacre.core.ids import ulid, ulid_milliseconds, ulids
from tests.being.memory.keeping import a_node

BEING = "0a000000-0000-4000-8000-000000000000"
texts = st.text(max_size=20)
names = st.lists(st.text(min_size=1, max_size=10), max_size=3).map(tuple)
shares = st.floats(0, 1)

scenes = st.builds(
    Scene,
    scene_id=st.text(min_size=1, max_size=30),
    action=texts,
    actors=names,
    when=names,
    created_at=texts,
    fingerprint=texts,
    setting=st.none() | texts,
    themes=names,
    importance=shares,
    status=st.sampled_from(["pending", "consumed", "invalid"]),
    node_id=st.none() | texts,
)
nodes = st.builds(
    Node,
    node_id=st.text(min_size=1, max_size=30),
    action=texts,
    actors=names,
    when=names,
    created_at=texts,
    stability=st.floats(0, 3650),
    evidence=names,
    cluster_id=st.none() | texts,
    status=st.sampled_from(["active", "dying", "dead", "merged"]),
    due=st.none() | st.integers(0, 99_999_999),
    reactivation_count=st.integers(0, 9),
    reactivation_done=st.integers(0, 9),
    count_at_death=st.none() | st.integers(0, 9),
    last_activated=st.none() | texts,
    pinned=st.booleans(),
)


@given(scenes)
def test_a_scene_comes_back_from_its_item(scene: Scene) -> None:
    assert Scene.from_item(scene.to_item(BEING)) == scene


@given(nodes)
def test_a_node_comes_back_from_its_item(node: Node) -> None:
    assert Node.from_item(node.to_item(BEING)) == node


def test_a_cluster_and_a_message_come_back_from_their_items() -> None:
    cluster = Cluster(cluster_id="c", created_at="t", children=("d", "e"), themes=("x",))
    message = Message(message_id="m", role="user", content="hi", ts="2026-07-01T", chain="f")

    assert Cluster.from_item(cluster.to_item(BEING)) == cluster
    assert Message.from_item(message.to_item(BEING)) == message


def test_whole_numbers_that_a_store_gives_back_are_floats_again() -> None:
    item = {**a_node(1, importance=1.0).to_item(BEING), "importance": 1, "stability": 16}

    node = Node.from_item(item)
    assert (type(node.importance), type(node.stability)) == (float, float)


def test_an_item_of_a_newer_version_is_refused() -> None:
    with pytest.raises(NewerSchemaError, match="An item \\(memory\\)"):
        Node.from_item({**a_node(1).to_item(BEING), "schema": 3})


@pytest.mark.parametrize(
    ("fields", "partition"),
    [
        ({}, "DUE"),
        ({"reactivation_count": 3, "reactivation_done": 2}, "TOUCH"),
        ({"pinned": True}, None),
        ({"due": None}, None),
        ({"status": "dead", "reactivation_count": 5, "count_at_death": 4}, None),
        ({"status": "dead", "reactivation_count": 6, "count_at_death": 4}, "REVIVE"),
        ({"status": "dead", "reason": "undone", "reactivation_count": 6}, None),
        ({"status": "merged", "reactivation_count": 9}, None),
    ],
)
def test_a_node_waits_in_at_most_one_list(fields: dict[str, Any], partition: str | None) -> None:
    waits = a_node(1, **fields).to_item(BEING).get("gsi3pk")

    assert waits == (None if partition is None else f"B#{BEING}#{partition}")


def test_only_living_nodes_are_listed_by_activity() -> None:
    living = [
        status
        for status in ("active", "dying", "dead", "merged")
        if "gsi1pk" in a_node(1, status=status).to_item(BEING)
    ]
    assert living == ["active", "dying"]


def test_a_moment_is_utc_in_milliseconds_and_sorts_by_time() -> None:
    zone = timezone(timedelta(hours=9))
    times = [datetime(2026, 1, 1, 0, 30, tzinfo=zone), datetime(2026, 1, 1, tzinfo=UTC)]

    assert [moment(time) for time in times] == [
        "2025-12-31T15:30:00.000Z",
        "2026-01-01T00:00:00.000Z",
    ]


def test_ids_follow_from_content_and_parents_in_any_order() -> None:
    first, second = node_id_of(BEING, "a"), node_id_of(BEING, "b")

    assert node_id_of(BEING, "a") == first != second
    assert merged_id_of([first, second]) == merged_id_of([second, first])
    assert merged_id_of([first, second]) not in (first, second)
    assert node_id_of(BEING.replace("0a", "0b"), "a") != first


def test_the_least_trusted_of_several_counts() -> None:
    assert least_trusted(["user", "tool", "agent"]) == "tool"
    assert least_trusted(["import", "external"]) == "external"


def test_a_session_key_of_another_caller_is_another_session() -> None:
    assert session_key_hash("token-1", "chat") != session_key_hash("token-2", "chat")


@given(st.integers(0, 2**47), st.integers(0, 2**80 - 1))
def test_a_ulid_keeps_its_moment_and_its_order(milliseconds: int, chance: int) -> None:
    made = ulid(milliseconds, chance)

    assert len(made) == 26
    assert ulid_milliseconds(made) == milliseconds
    assert made < ulid(milliseconds + 1, 0)


def test_ulids_of_one_moment_ascend() -> None:
    made = ulids(datetime(2026, 7, 1, tzinfo=UTC), Random(3), 50)

    assert made == sorted(set(made))


@pytest.mark.parametrize("text", ["", "short", "0" * 25 + "I", "9" * 26, "é" * 26])
def test_other_texts_are_no_ulid(text: str) -> None:
    assert ulid_milliseconds(text) is None


@pytest.mark.parametrize(
    "being_id",
    [
        "",
        "x",
        BEING.upper(),
        BEING + "#S",
        BEING[:-1] + "#",
        BEING + "\n",
        "\uff10a000000-0000-4000-8000-000000000000",
        "B#" + BEING,
    ],
)
def test_what_is_no_beings_id_has_no_keys(being_id: str) -> None:
    for partition in (keys.home, keys.meta, keys.scenes, keys.nodes, keys.markers, keys.work):
        with pytest.raises(InvalidInputError, match="UUID in lower case"):
            partition(being_id)


def test_partitions_of_one_being_are_apart() -> None:
    partitions = [
        keys.home(BEING),
        keys.bodies(BEING),
        keys.scenes(BEING),
        keys.pending(BEING),
        keys.nodes(BEING),
        keys.activity(BEING),
        keys.members(BEING, None),
        keys.members(BEING, "x"),
        keys.due(BEING),
        keys.touched(BEING),
        keys.revivable(BEING),
        keys.clusters(BEING),
        keys.dirty(BEING),
        keys.months(BEING),
        keys.history(BEING, "2026-07"),
        keys.markers(BEING),
    ]
    assert len(set(partitions)) == len(partitions)


def test_the_sweep_finds_every_being() -> None:
    ids = [replace_first(number) for number in range(256)]

    assert {keys.work(each) for each in ids} == set(keys.work_partitions())


def replace_first(number: int) -> str:
    return f"{number:02x}{BEING[2:]}"


def test_a_node_that_was_taken_back_is_in_no_cluster() -> None:
    node = replace(a_node(1, cluster_id="c"), status="dead", reason="undone")

    assert "gsi2pk" not in node.to_item(BEING)
