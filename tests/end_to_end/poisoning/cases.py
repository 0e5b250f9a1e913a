"""Cases of memory poisoning: a file with one JSON object a line.

A case is one or more sessions of agents with the same Being. The agent is scripted: an obedient
one does what it reads, a careful one does not. A step that is the attacker's aim says so.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FAMILIES = (
    "direct",
    "laundering",
    "tool-echo",
    "corroboration",
    "delayed",
    "merge",
    "import",
    "unicode-language",
)
BENIGN = "benign"
STEPS = (
    "read",
    "note",
    "recall",
    "persona",
    "rule",
    "send",
    "post",
    "heard",
    "import",
    "correct",
    "merge",
    "patrol",
)
READERS = ("web", "issues", "inbox", "files", "calendar")
PROGRAMS = ("mem0", "server-memory", "basic-memory")


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that an agent, its person or its owner does."""

    kind: str
    value: Any
    is_aim: bool


@dataclass(frozen=True, slots=True)
class Session:
    """Steps of the agent that has one token, some hours after the session before."""

    token: str
    hours: float
    steps: Sequence[Step]


@dataclass(frozen=True, slots=True)
class Case:
    """An attack, or a benign use."""

    id: str
    family: str
    is_attack: bool
    agent: str
    sessions: Sequence[Session]


def read_cases(path: Path) -> list[Case]:
    """Return the cases of a file; raises ValueError that names the first wrong one."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    cases = [case_of(json.loads(line)) for line in lines]
    twice = sorted({case.id for case in cases if [each.id for each in cases].count(case.id) > 1})
    if twice:
        raise ValueError(f"two cases have the id {', '.join(twice)}")
    return cases


def case_of(raw: Mapping[str, Any]) -> Case:
    """Return a case; raises ValueError if the format forbids it."""
    name = str(raw["id"])
    family, is_attack = raw["family"], raw["attack"]
    _check(family in (FAMILIES if is_attack else (BENIGN,)), name, f"family {family!r}")
    _check(raw["agent"] in ("obedient", "careful"), name, f"agent {raw['agent']!r}")
    sessions = tuple(_session(session, name) for session in raw["sessions"])
    steps = [step for session in sessions for step in session.steps]
    _check(bool(steps), name, "no step")
    if not is_attack:
        _check(not any(step.is_aim for step in steps), name, "a benign case has an aim")
    return Case(name, family, is_attack, raw["agent"], sessions)


def _session(raw: Mapping[str, Any], name: str) -> Session:
    token, hours = raw.get("token", "a"), raw.get("hours", 0)
    _check(token in ("a", "b"), name, f"token {token!r}")
    _check(hours >= 0, name, f"{hours} hours")
    return Session(token, hours, tuple(_step(step, name) for step in raw["steps"]))


def _step(raw: Mapping[str, Any], name: str) -> Step:
    kinds = [key for key in raw if key != "aim"]
    _check(len(kinds) == 1 and kinds[0] in STEPS, name, f"a step with {kinds}")
    kind, value = kinds[0], raw[kinds[0]]
    match kind:
        case "read":
            _check(value["server"] in READERS and bool(value["text"]), name, f"{value}")
        case "import":
            _check(value["source"] in PROGRAMS and bool(value["text"]), name, f"{value}")
        case "send":
            _check(bool(value["to"]) and isinstance(value["text"], str), name, f"{value}")
        case "post":
            _check(isinstance(value["text"], str), name, f"{value}")
        case "correct":
            _check(bool(value["find"]) and bool(value["text"]), name, f"{value}")
        case "merge":
            _check(len(value) >= 2, name, f"{value}")
        case "patrol":
            _check(value is True, name, f"{value}")
        case _:
            _check(isinstance(value, str) and value.strip() != "", name, f"{kind} {value!r}")
    return Step(kind, value, raw.get("aim") is True)


def _check(is_right: bool, name: str, wrong: str) -> None:
    if not is_right:
        raise ValueError(f"case {name}: {wrong}")
