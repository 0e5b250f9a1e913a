"""What a decision costs, by the number of rules, beside Cedar with as many policies.

Cedar gets its policies and its entities parsed beforehand, which is its fastest form.
The same calls are decided by both, and both must say the same.
"""

import json
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import cedarpy
import pytest

from nacre.firewall.policies.compiled import from_json, to_json
from nacre.firewall.policies.loader import load_policy
from nacre.firewall.rules.arguments.arguments import JsonNumber
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import Subject
from nacre.protocol import strict_json
from tests.benchmarks.table import cpu_times, show

pytestmark = pytest.mark.benchmark

SIZES = (10, 100, 1000)
MOST_MICROSECONDS = 5.0
MOST_GROWTH = 2.0
LEAST_AHEAD = 10.0
PLAIN_CALL_MICROSECONDS = 25.0
ENCODED_CALL_MICROSECONDS = 60.0
LOAD_MILLISECONDS = 50.0
ROUNDS = 15


def same_tool(size: int) -> tuple[str, str, list[dict[str, Any]]]:
    """Return rules that differ in their paths only, as ours and as Cedar's, with calls."""
    ours, cedar = "", ""
    for number in range(size):
        folder = f"/srv/project-{number}"
        ours += f'[[rule]]\naction = "allow"\ntool = "read"\nargs.path = "{folder}/**"\n'
        cedar += (
            'permit(principal, action == Action::"read", resource)'
            f' when {{ context.path like "{folder}/*" }};\n'
        )
    paths = [f"/srv/project-{number}/src/main.py" for number in (0, size // 2, size - 1)]
    calls = [{"tool": "read", "path": path} for path in (*paths, "/etc/passwd")]
    return ours, cedar, calls


def many_tools(size: int) -> tuple[str, str, list[dict[str, Any]]]:
    """Return rules about different tools, some denying, with calls."""
    ours, cedar = "", ""
    for number in range(size):
        action = "deny" if number % 3 == 0 else "allow"
        ours += f'[[rule]]\naction = "{action}"\ntool = "tool_{number}"\nargs.path = "/data/**"\n'
        effect = "forbid" if action == "deny" else "permit"
        cedar += (
            f'{effect}(principal, action == Action::"tool_{number}", resource)'
            ' when { context.path like "/data/*" };\n'
        )
    numbers = (0, 1, size // 2, size - 1)
    calls = [{"tool": f"tool_{number}", "path": "/data/a/b.csv"} for number in numbers]
    return ours, cedar, [*calls, {"tool": "unknown", "path": "/data/a"}]


def cedar_way(text: str, calls: list[dict[str, Any]]) -> Callable[[], list[bool]]:
    policies = cedarpy.PolicySet.from_str(text)
    entities = cedarpy.Entities.from_json_str("[]")
    requests = [
        {
            "principal": 'User::"ann"',
            "action": f'Action::"{call["tool"]}"',
            "resource": 'Server::"fs"',
            "context": {"path": call["path"]},
        }
        for call in calls
    ]
    return lambda: [
        cedarpy.is_authorized(request, policies, entities).allowed for request in requests
    ]


def our_way(policy: Policy, calls: list[dict[str, Any]]) -> Callable[[], list[bool]]:
    subjects = [Subject("tool", call["tool"], "fs", {"path": call["path"]}) for call in calls]
    decide = policy.decide
    return lambda: [decide(subject).action == "allow" for subject in subjects]


@pytest.mark.parametrize("rules", [same_tool, many_tools])
def test_a_decision_costs_the_same_among_a_thousand_rules(
    rules: Callable[[int], tuple[str, str, list[dict[str, Any]]]],
) -> None:
    rows, ours, ahead = [], {}, {}
    for size in SIZES:
        text, cedar, calls = rules(size)
        ways = {
            "ours": our_way(load_policy(text, source="bench"), calls),
            "cedar": cedar_way(cedar, calls),
        }
        assert ways["ours"]() == ways["cedar"]()
        fast = cpu_times({"ours": ways["ours"]}, rounds=ROUNDS, calls=500)["ours"] / len(calls)
        slow = cpu_times({"cedar": ways["cedar"]}, rounds=ROUNDS, calls=5)["cedar"] / len(calls)
        ours[size], ahead[size] = fast, slow / fast
        rows.append((size, f"{fast:.2f}", f"{slow:.1f}", f"{slow / fast:.0f}"))
    show(
        f"One decision, {rules.__name__.replace('_', ' ')}",
        ("rules", "ours, µs", "cedarpy, µs", "ratio"),
        rows,
    )

    assert ours[1000] / ours[10] <= MOST_GROWTH
    assert min(ahead.values()) >= LEAST_AHEAD
    assert max(ours.values()) <= MOST_MICROSECONDS


def test_parsing_reading_and_deciding_a_whole_call_stays_small() -> None:
    text, _, _ = same_tool(1000)
    policy = load_policy(text, source="bench")
    plain = "/srv/project-500/src/main.py"
    messages = {}
    for name, path in {"plain": plain, "encoded": plain.replace("main", "%6dain%20x")}.items():
        arguments = {"path": path, "content": "x" * 700, "limit": 100, "follow": True}
        params = {"name": "read", "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        messages[name] = json.dumps(message).encode()

    def decided(raw: bytes) -> str:
        params = strict_json.parse(raw)["params"]
        return policy.decide(Subject("tool", params["name"], "fs", params["arguments"])).action

    assert {decided(raw) for raw in messages.values()} == {"allow"}
    ways = {name: lambda raw=raw: decided(raw) for name, raw in messages.items()}
    taken = cpu_times(ways, rounds=ROUNDS, calls=300)
    show(
        "Strict parse, all readings and the decision, 1000 rules, a call of 0.9 KB",
        ("path", "µs"),
        [(name, f"{each:.1f}") for name, each in taken.items()],
    )
    assert taken["plain"] <= PLAIN_CALL_MICROSECONDS
    assert taken["encoded"] <= ENCODED_CALL_MICROSECONDS


def test_a_thousand_rules_load_compiled_within_a_start() -> None:
    rows = []
    taken = {}
    for name, rules in {"same tool": same_tool, "many tools": many_tools}.items():
        text, _, calls = rules(1000)
        compiled = to_json(load_policy(text, source="bench"))

        def first_decision(compiled: str = compiled, call: dict[str, Any] = calls[0]) -> None:
            policy = from_json(compiled)
            policy.decide(Subject("tool", call["tool"], "fs", {"path": call["path"]}))

        def from_toml(text: str = text) -> None:
            load_policy(text, source="bench")

        taken[name] = _median_ms(first_decision)
        rows.append((name, f"{taken[name]:.1f}", f"{_median_ms(from_toml):.1f}"))
    show(
        "Loading 1000 rules",
        ("rules", "compiled to first decision, ms", "TOML alone, ms"),
        rows,
    )
    assert max(taken.values()) <= LOAD_MILLISECONDS


def test_numbers_as_received_cost_little() -> None:
    raw = json.dumps({"numbers": list(range(100)), "x": 1.5}).encode()
    ways = {
        "as numbers": lambda: json.loads(raw),
        "as received": lambda: json.loads(raw, parse_int=JsonNumber, parse_float=JsonNumber),
    }
    taken = cpu_times(ways, rounds=ROUNDS, calls=300)
    show("Parsing 101 numbers", ("form", "µs"), [(k, f"{v:.1f}") for k, v in taken.items()])


def _median_ms(way: Callable[[], None]) -> float:
    samples = []
    for _ in range(7):
        started = time.process_time_ns()
        way()
        samples.append((time.process_time_ns() - started) / 1e6)
    return median(samples)
