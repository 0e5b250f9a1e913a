"""What the guard adds to a call: reading, deciding, recording; and checking a long audit."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from nacre.adapters.files.audit import JsonlAudit, JsonlRecords
from nacre.core.clock import system_clock
from nacre.firewall.audit.entry import AuditEntry, Record
from nacre.firewall.audit.log import AuditTrail, verify_chain
from nacre.firewall.enforce.guard import Guard
from nacre.firewall.enforce.judge import Judge
from nacre.firewall.enforce.message import message, read
from nacre.firewall.enforce.verdicts import Forward
from nacre.firewall.policies.live_policy import FixedPolicy
from nacre.firewall.rules.arguments.arguments import JsonNumber
from nacre.firewall.rules.rule import Subject
from tests.benchmarks.table import cpu_times, show
from tests.firewall.deciding import policy

pytestmark = pytest.mark.benchmark

DECIDED_US = 25.0
AUDITED_US = 60.0
VERIFIED_SECONDS = 15.0
RECORDS = 1_000_000


def rules(count: int) -> str:
    """Return a policy of so many rules whose last but one is the one that counts."""
    many = "".join(
        f'[[rule]]\naction = "deny"\ntool = "tool_{number}"\nargs.path = "/srv/{number}/**"\n'
        for number in range(count - 2)
    )
    return (
        f'{many}[[rule]]\naction = "allow"\ntool = "filesystem_read"\n'
        'args.path = "/home/user/projects/**"\n[[rule]]\naction = "deny"\ntool = "*"\n'
    )


def call(size: int) -> bytes:
    """Return a call of so many bytes."""
    arguments = {"path": "/home/user/projects/nacre/README.md", "limit": 3, "text": ""}
    params = {"name": "filesystem_read", "arguments": arguments}
    raw = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    words = ("plain words " * (size // 12 + 1))[: size - len(raw)]
    return raw.replace('"text": ""', f'"text": "{words}"').encode()


class Nowhere:
    """A trail that keeps nothing."""

    def record(self, entry: Record) -> str:
        del entry
        return "w/1"


def through(trail: AuditTrail | Nowhere, count: int, raw: bytes) -> Callable[[], object]:
    judge = Judge(FixedPolicy(policy(rules(count))), trail, print, "fs")
    guard = Guard(judge)

    def once() -> object:
        verdict = guard.from_client(raw)
        assert isinstance(verdict, Forward)
        return guard._conversation.up.take(
            JsonNumber("1")
        )  # the answer, without the cost of reading it

    return once


def parts(count: int, raw: bytes) -> Callable[[], object]:
    """Strict parse, readings and decision alone."""
    decides = policy(rules(count))

    def once() -> object:
        wire = message(raw, read(raw, lines=True))
        params = wire.params
        return decides.decide(Subject("tool", params["name"], "fs", params["arguments"]))

    return once


def test_a_call_is_decided_and_recorded_in_microseconds(tmp_path: Path) -> None:
    raw = call(1024)
    assert 950 < len(raw) <= 1024
    trail = AuditTrail(JsonlAudit(tmp_path), system_clock)
    ways = {
        "json.loads": lambda: json.loads(raw),
        "parse, readings, decision; 10 rules": parts(10, raw),
        "parse, readings, decision; 1000 rules": parts(1000, raw),
        "guard, without audit": through(Nowhere(), 100, raw),
        "guard, with chained audit": through(trail, 100, raw),
    }
    for way in ways.values():
        way()
    times = cpu_times(ways, rounds=15, calls=1000)
    trail.close()

    show("A call of 1 KB", ("way", "µs"), [(name, f"{us:.1f}") for name, us in times.items()])
    assert times["parse, readings, decision; 1000 rules"] <= DECIDED_US
    assert times["guard, with chained audit"] <= AUDITED_US


def test_a_million_records_are_verified_in_seconds(tmp_path: Path) -> None:
    trail = AuditTrail(JsonlAudit(tmp_path), system_clock)
    entry = AuditEntry(
        outcome="allow",
        server="fs",
        method="tools/call",
        tool="filesystem_read",
        rule=3,
        policy="a" * 64,
        principal="local",
        request="1",
        arguments_sha256="b" * 64,
        shape={"path": "text 35", "limit": "number"},
    )
    began = time.process_time()
    for _ in range(RECORDS):
        trail.record(entry)
    written = time.process_time() - began
    trail.close()

    began = time.process_time()
    (found,) = [verify_chain(chain) for chain in JsonlRecords(tmp_path).chains()]
    taken = time.process_time() - began

    rows = [("write", f"{written:.1f}"), ("verify", f"{taken:.1f}")]
    show(f"{RECORDS} records", ("what", "seconds"), rows)
    assert (found.records, found.problem) == (RECORDS, None)
    assert taken <= VERIFIED_SECONDS
