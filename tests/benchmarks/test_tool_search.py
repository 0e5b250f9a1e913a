"""How often the search for tools finds the right one, among 52, 500 and 3,165 real tools."""

import json
import lzma
from collections.abc import Iterator, Sequence
from math import inf
from pathlib import Path
from random import Random
from time import process_time
from typing import Any, NamedTuple

import pytest

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.adapters.vectors.searched_points import searched_points
from nacre.core.clock import system_clock
from nacre.gateway.on_demand.search import ToolSearch
from nacre.gateway.on_demand.tool_vectors import ToolVectors
from nacre.gateway.qualified_names import exposed_name
from nacre.wiring.features.embeddings import embedders
from nacre.wiring.settings import Settings
from tests.benchmarks.table import show

pytestmark = pytest.mark.benchmark

FOLDER = Path(__file__).with_name("tool_search")


class Task(NamedTuple):
    """What a user wants, the tool for it, and all tools that are right."""

    text: str
    tool: str
    right: frozenset[str]


def tools() -> dict[str, dict[str, Any]]:
    lines = lzma.decompress((FOLDER / "tools.jsonl.xz").read_bytes()).decode().splitlines()
    exposed = {}
    for line in lines:
        server = json.loads(line)
        for tool in server["tools"]:
            name = exposed_name(server["server"], tool["name"])
            exposed[name] = {**tool, "name": name}
    return exposed


def tasks(name: str) -> list[Task]:
    rows = []
    for line in (FOLDER / name).read_text("utf-8").splitlines():
        text, server, tool, others = [*line.split("\t"), ""][:4]
        first = exposed_name(server, tool)
        more = [exposed_name(*other.strip().split("/", 1)) for other in others.split(",") if other]
        rows.append(Task(text, first, frozenset((first, *more))))
    return rows


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ToolSearch]:
    folder = tmp_path_factory.mktemp("store")
    database = SqliteDatabase(folder / "nacre.db")
    table = SqliteTable(database, "data", now=system_clock)
    embedder = embedders(Settings(data_folder=str(folder))).primary
    assert embedder is not None
    vectors = ToolVectors(lambda: table, embedder)
    yield ToolSearch(searched_points, lambda: vectors, seconds=inf, in_background=False)
    database.close()


def hits(search: ToolSearch, chosen: Sequence[dict[str, Any]], asked: Sequence[Task]) -> list[int]:
    """Return the rank of the best right tool for each task that has one among these tools."""
    names = {tool["name"] for tool in chosen}
    ranks = []
    for task in asked:
        if task.tool not in names:
            continue
        ranked = [tool["name"] for tool in search.find(chosen, task.text)]
        ranks.append(
            min((ranked.index(name) for name in task.right if name in ranked), default=999)
        )
    return ranks


def test_how_often_the_right_tool_is_found(search: ToolSearch) -> None:
    every = tools()
    own, blind = tasks("own_tasks.tsv"), tasks("blind_tasks.tsv")
    assert all(task.tool in every for task in (*own, *blind))

    small_servers = (FOLDER / "small.txt").read_text().split()
    small = [tool for name, tool in every.items() if name.split("__")[1] in small_servers]
    named = list(dict.fromkeys(task.tool for task in (*own, *blind)))
    others = Random(1).sample(sorted(every.keys() - set(named)), 500 - len(named))
    middle = [every[name] for name in every if name in {*named, *others}]
    rows = []
    for chosen in (small, middle, list(every.values())):
        for title, asked in (("own", own), ("blind", blind)):
            before = process_time()
            ranks = hits(search, chosen, asked)
            milliseconds = 1000 * (process_time() - before) / len(ranks)
            first = sum(rank == 0 for rank in ranks) / len(ranks)
            five = sum(rank < 5 for rank in ranks) / len(ranks)
            row = (len(chosen), title, len(ranks), f"{first:.3f}", f"{five:.3f}")
            rows.append((*row, f"{milliseconds:.1f}"))
    show("Finding tools", ("tools", "tasks", "count", "first", "in five", "ms with vectors"), rows)
