"""A Being on the laptop's wiring whose time and patrols the measuring script decides."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.queue import SqliteQueue
from nacre.being.memory.model.types import Cluster, Node
from nacre.being.patrol.patrol import Patrol
from nacre.being.patrol.planning.plans import Planner
from nacre.being.patrol.run.runs import Receipt
from nacre.protocol.context import Context
from nacre.protocol.principal import FULL, Principal
from nacre.wiring.data_folder import DATABASE
from nacre.wiring.laptop import QUEUE, open_laptop
from nacre.wiring.settings import Settings
from tests.benchmarks.memory_load import finished, mind

_SCENES_AT_ONCE = 20


@dataclass
class Calendar:
    """A clock that is set by hand."""

    now: datetime = field(default_factory=lambda: datetime(2025, 1, 1, 9, tzinfo=UTC))

    def __call__(self) -> datetime:
        return self.now

    @property
    def today(self) -> date:
        return self.now.date()

    def next_day(self) -> None:
        self.now += timedelta(days=1)


class Patrolled:
    """One Being: noted to, asked and patrolled in one process."""

    def __init__(
        self,
        folder: Path,
        *,
        embeddings: str = "builtin",
        planner: Planner | None = None,
    ) -> None:
        self.calendar = Calendar()
        settings = Settings(data_folder=str(folder), embeddings=embeddings)
        self.laptop = open_laptop(folder, settings, clock=self.calendar)
        self._database = SqliteDatabase(folder / DATABASE)
        self.being_id = self.laptop.beings.create("Pearl", owner="me").being_id
        self._context = Context(principal=Principal("bench", self.being_id, FULL))
        self._patrol = Patrol(
            self.laptop.data,
            SqliteQueue(self._database, QUEUE, now=self.calendar),
            self.laptop.memory_services.memory,
            self.laptop.index.indexing,
            clock=self.calendar,
        )
        self._planner = planner

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool, and return its result in wire form."""
        tool = self.laptop.application.surface.get_tool(name)
        assert tool is not None
        return dict(finished(tool.call(arguments, self._context)).to_dict())

    def note(self, scenes: Sequence[dict[str, Any]]) -> list[str]:
        """Record scenes of today, and return their ids."""
        ids: list[str] = []
        usual = {"actors": ["Ann"], "when": [self.calendar.today.isoformat()]}
        for first in range(0, len(scenes), _SCENES_AT_ONCE):
            several = [usual | scene for scene in scenes[first : first + _SCENES_AT_ONCE]]
            answer = self.call("update_notes", scenes=several)
            ids += json.loads(answer["content"][0]["text"])["scene_ids"]
        return ids

    def found(self, query: str, limit: int) -> list[str]:
        """Return the ids of what `search_memory` finds."""
        trace = self.call("search_memory", query=query, limit=limit)["_meta"]["nacre/search"]
        return [memory["id"] for memory in trace["memories"]]

    def patrol(self) -> Receipt:
        """Let patrols run until nothing waits, and return the last receipt."""
        while True:
            receipt = self._patrol.run(
                self.being_id, trigger="manual", renew_lease=lambda: None, planner=self._planner
            )
            assert receipt.state == "done", receipt.reasons
            if not receipt.backlog:
                return receipt

    def nodes(self) -> list[Node]:
        """Return all nodes, whatever became of them, with all of their scenes."""
        nodes: list[Node] = []
        start = None
        while True:
            stored = mind(self.laptop).memory.nodes
            page = stored.page(self.being_id, start=start)
            nodes += stored.whole(self.being_id, page.nodes)
            if (start := page.next) is None:
                return nodes

    def clusters(self) -> list[Cluster]:
        """Return the clusters that have members."""
        found: list[Cluster] = mind(self.laptop).memory.clusters.active(self.being_id)
        return found

    def close(self) -> None:
        """Close the store."""
        self._database.close()
        self.laptop.close()
