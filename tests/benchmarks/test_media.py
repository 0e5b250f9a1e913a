"""What it costs to look at files in results: CPU for each MiB of the file."""

import base64
import json
from random import Random
from typing import Any

import pytest

from nacre.firewall.enforce.content_check import Screen
from nacre.firewall.rules.policy import Policy
from tests.benchmarks.table import cpu_times, show
from tests.firewall.deciding import policy

pytestmark = pytest.mark.benchmark

MIB = 1 << 20
MOST_MS = 10.0
SIZE = 4


def broken(spelled: str, gap: str, size: int = 76) -> str:
    return gap.join(spelled[at : at + size] for at in range(0, len(spelled), size))


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def test_a_file_costs_little_to_look_at() -> None:
    spelled = base64.b64encode(Random(1).randbytes(SIZE * MIB)).decode()
    for_url = spelled.replace("+", "-").replace("/", "_")
    values: dict[str, Any] = {
        "an image": {"type": "image", "data": spelled, "mimeType": "image/png"},
        "an image, in lines": {"type": "image", "data": broken(spelled, "\n"), "mimeType": "x/y"},
        "a resource's blob": {"type": "resource", "resource": {"uri": "x://1", "blob": spelled}},
        "a data URI": text(f"a data:image/png;base64,{spelled} b"),
        "a data URI, in lines": text(f"a data:image/png;base64,{broken(spelled, chr(10))} b"),
        "base64": text(f"The file: {spelled}"),
        "base64 for URLs": text(f"The file: {for_url}"),
        "in lines": text("The file:\n" + broken(spelled, "\n") + "\n"),
        "in lines of 64": text("The file:\n" + broken(spelled, "\n", 64) + "\n"),
        "in lines for URLs": text("The file:\n" + broken(for_url, "\n") + "\n"),
        "in lines of a mail": text("The file:\r\n" + broken(spelled, "\r\n") + "\r\n"),
        "quoted-printable": text("The file:\r\n" + broken(spelled, "=\r\n") + "\r\n"),
        "in indented lines": text("The file:\n  " + broken(spelled, "\n  ") + "\n"),
        "in lines in JSON": text(json.dumps({"file": broken(spelled, "\n"), "n": 1})),
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
    # The best of some rounds: what else the machine does can only add to it.
    cpu = cpu_times(ways, rounds=5, calls=1, of=min)
    ms = {name: each / 1000 / SIZE for name, each in cpu.items()}

    header = ("", "secrets", "and instructions")
    rows = [
        (name, f"{ms[name, 'secrets']:.1f}", f"{ms[name, 'and instructions']:.1f}")
        for name in values
    ]
    show("Files in results: CPU ms for each MiB", header, rows)
    assert {name: value for name, value in ms.items() if value > MOST_MS} == {}
