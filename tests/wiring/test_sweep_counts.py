"""What a stack's sweep counts."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from nacre.being.memory.patrol_trigger import Swept
from nacre.wiring.features.memory import sweep_memories


@dataclass
class Minded:
    """Two Beings with a drifting index, and three with work, the oldest queued for an hour."""

    swept: list[str] = field(default_factory=list)

    @property
    def index(self) -> Any:
        return self

    indexing = index

    @property
    def marks(self) -> str:
        return "marks"

    @property
    def jobs(self) -> Any:
        return self

    def patrolling(self) -> Any:
        return self

    def sweep(self, marks: str | None = None) -> Any:
        self.swept.append(marks or "patrols")
        return 2 if marks else Swept(beings=3, sent=1, lag_seconds=3600.4)


def test_a_sweep_of_a_stack_counts_what_it_found(capsys: pytest.CaptureFixture[str]) -> None:
    minded: Any = Minded()

    sweep_memories(minded, stack="nacre")

    line = json.loads(capsys.readouterr().err)
    assert minded.swept == ["marks", "patrols"]
    assert (line["event"], line["Stack"]) == ("sweep", "nacre")
    found = {name: line[name] for name in ("PatrolLag", "PatrolBacklog", "IndexDrift")}
    assert found == {"PatrolLag": 3600, "PatrolBacklog": 3, "IndexDrift": 2}


def test_a_sweep_of_this_machine_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    minded: Any = Minded()

    sweep_memories(minded)

    assert (minded.swept, capsys.readouterr().err) == (["marks", "patrols"], "")
