"""The parts that the pages about memories work on, on a laptop and on a stack."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from nacre.access.beings import Beings
from nacre.console.map.chart import chart
from nacre.console.memories.memory_details import memory_view
from nacre.console.memories.memory_list import MemoryFilter, listed
from nacre.console.overview.summary import summarize
from nacre.console.parts import Console
from nacre.core.clock import system_clock
from nacre.core.errors import ConfigurationError
from nacre.wiring.aws import StackPorts
from nacre.wiring.compose import compose
from nacre.wiring.console import console_parts
from nacre.wiring.laptop import open_laptop
from nacre.wiring.settings import Settings
from tests.being.memory.keeping import a_node, scene_draft


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Console]:
    """The parts as the server on a laptop is given them; a stack's are tested with its function."""
    laptop = open_laptop(tmp_path)
    yield console_parts(laptop, "--data-dir /somewhere")
    laptop.close()


def test_what_was_noted_is_seen_found_and_erased(parts: Console) -> None:
    table, mind = parts.table(), parts.memory_services()
    being = Beings(table, clock=system_clock, rng=Random(1)).create("Ann", owner="me").being_id
    mind.memory.nodes.add(being, [a_node(1, cluster_id=None), a_node(2, action="Bo sails")])
    [scene] = mind.memory.scenes.record(being, [scene_draft("Eva called")]).scenes
    node_id = a_node(1).node_id

    drawn = chart(table, being)
    matches = listed(table, mind, being, MemoryFilter(query="sails"))
    overview = summarize(table, mind, being)
    parts.eraser().node(being, node_id)
    parts.eraser().scene(being, scene.scene_id)

    assert (drawn.count, drawn.waiting, drawn.by_meaning) == (2, 1, True)
    assert matches.memories[0].record.action == "Bo sails"
    assert (overview.memories, overview.ungrouped, overview.scenes) == (0, 2, 1)
    assert memory_view(table, mind, being, a_node(2).node_id).fading is not None
    remaining = listed(table, mind, being, MemoryFilter())
    assert [memory.record.action for memory in remaining.memories] == ["Bo sails"]
    assert listed(table, mind, being, MemoryFilter(state="pending")).memories == ()
    assert not listed(
        table, mind, being, MemoryFilter(query="Eva called", state="pending")
    ).memories


def test_each_place_names_the_command_that_exports_from_it(parts: Console) -> None:
    settings = Settings(data_folder="")
    there = console_parts(compose(StackPorts(settings), settings))

    assert [part.export_command.format(being="b") for part in (parts, there)] == [
        "nacre export FILE --being b --data-dir /somewhere",
        "nacre export FILE --being b --stack NAME",
    ]


def test_a_function_without_its_tables_says_what_is_missing() -> None:
    settings = Settings(data_folder="")
    parts = console_parts(compose(StackPorts(settings), settings))

    with pytest.raises(ConfigurationError, match="NACRE_DATA_TABLE: not set"):
        parts.memory_services()
