"""What it costs to look at files in results: CPU for each MiB of the file."""

import base64
from random import Random
from typing import Any

import pytest

from nacre.policy.policy import Policy
from nacre.policy.screen import Screen
from tests.benchmarks.table import cpu_times, show
from tests.policy.deciding import policy

pytestmark = pytest.mark.benchmark

MIB = 1 << 20
MOST_MS = 10.0
MOST_IN_LINES_MS = 20.0  # a text of many short lines has to be put together first


def test_a_file_costs_little_to_look_at() -> None:
    spelled = base64.b64encode(Random(1).randbytes(4 * MIB)).decode()
    lines = "\n".join(spelled[at : at + 76] for at in range(0, len(spelled), 76))
    values: dict[str, Any] = {
        "an image": {"type": "image", "data": spelled, "mimeType": "image/png"},
        "a resource's blob": {"type": "resource", "resource": {"uri": "x://1", "blob": spelled}},
        "a data URI in a text": {"type": "text", "text": f"a data:image/png;base64,{spelled} b"},
        "base64 in a text": {"type": "text", "text": f"The file: {spelled}"},
        "base64 in lines": {"type": "text", "text": f"The file:\n{lines}\n"},
    }
    screen = Screen()
    usual, strict = policy(""), policy('[injection]\nsources = ["result"]\n')

    def looked(value: Any, rules: Policy) -> object:
        return screen.result({"content": [value]}, rules)

    ways = {
        (name, kind): lambda value=value, rules=rules: looked(value, rules)
        for name, value in values.items()
        for kind, rules in (("secrets", usual), ("and instructions", strict))
    }
    cpu = cpu_times({f"{a}, {b}": way for (a, b), way in ways.items()}, rounds=5, calls=1)
    ms = {name: each / 1000 / 4 for name, each in cpu.items()}

    show("Files in results", ["", "CPU ms for each MiB"], [(n, f"{v:.1f}") for n, v in ms.items()])
    late = {
        name: value
        for name, value in ms.items()
        if value > (MOST_IN_LINES_MS if "lines" in name else MOST_MS)
    }
    assert late == {}
