"""The metrics of a stack's sweep."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from nacre.being.memory.index.marks import REPAIR_PARTITIONS
from nacre.being.memory.job_claims import SweepResult
from nacre.being.memory.model import keys
from nacre.wiring.features.memory import sweep_jobs


class Upkeep:
    """Two Beings with a drifting index, and three with work, the oldest queued for an hour."""

    def __init__(self) -> None:
        self.swept: list[str] = []
        self.indexing = self.marks = self.jobs = self.trigger = self.queue = self.clock = self

    def sweep_shard(self, *arguments: Any, is_over: Callable[[], bool]) -> SweepResult:
        shard = str(arguments[-2])
        self.swept.append(shard)
        assert not is_over()
        if shard == REPAIR_PARTITIONS[3]:
            return SweepResult(beings=2, sent=2, lag_seconds=0)
        if shard in keys.work_partitions()[4:7]:
            return SweepResult(beings=1, sent=1, lag_seconds=3000.4 + int(shard[-2:]) * 100)
        return SweepResult(0, 0, 0)


EVERY = [*REPAIR_PARTITIONS, *keys.work_partitions()]


def test_a_sweep_of_a_stack_counts_what_it_found(capsys: pytest.CaptureFixture[str]) -> None:
    upkeep: Any = Upkeep()

    sweep_jobs(upkeep, upkeep, stack="nacre").run()

    line = json.loads(capsys.readouterr().err)
    assert upkeep.swept == EVERY
    assert (line["event"], line["Stack"]) == ("sweep", "nacre")
    metrics = {name: line[name] for name in ("PatrolLag", "PatrolBacklog", "IndexDrift")}
    assert metrics == {"PatrolLag": 3600, "PatrolBacklog": 3, "IndexDrift": 2}


def test_a_sweep_of_this_machine_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    upkeep: Any = Upkeep()

    sweep_jobs(upkeep, upkeep).run()

    assert (upkeep.swept, capsys.readouterr().err) == (EVERY, "")
