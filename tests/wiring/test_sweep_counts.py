"""The metrics of a stack's sweep."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from nacre.being.memory.patrol_trigger import SweepResult
from nacre.wiring.features.memory import sweep_memories


@dataclass
class Upkeep:
    """Two Beings with a drifting index, and three with work, the oldest queued for an hour."""

    swept: list[str] = field(default_factory=list)

    @property
    def indexing(self) -> Any:
        return self

    @property
    def marks(self) -> str:
        return "marks"

    @property
    def jobs(self) -> Any:
        return self

    def sweep(self, marks: str | None = None) -> Any:
        self.swept.append(marks or "patrols")
        return 2 if marks else SweepResult(beings=3, sent=1, lag_seconds=3600.4)


def test_a_sweep_of_a_stack_counts_what_it_found(capsys: pytest.CaptureFixture[str]) -> None:
    upkeep: Any = Upkeep()

    sweep_memories(upkeep, upkeep, stack="nacre")

    line = json.loads(capsys.readouterr().err)
    assert upkeep.swept == ["marks", "patrols"]
    assert (line["event"], line["Stack"]) == ("sweep", "nacre")
    metrics = {name: line[name] for name in ("PatrolLag", "PatrolBacklog", "IndexDrift")}
    assert metrics == {"PatrolLag": 3600, "PatrolBacklog": 3, "IndexDrift": 2}


def test_a_sweep_of_this_machine_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    upkeep: Any = Upkeep()

    sweep_memories(upkeep, upkeep)

    assert (upkeep.swept, capsys.readouterr().err) == (["marks", "patrols"], "")
