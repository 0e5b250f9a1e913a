"""A large call passes a proxy by way of a helper, as if the guard had read it itself."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from nacre.adapters.screening.process_pool import ScreeningProcesses
from nacre.firewall.approvals.form import shown_arguments
from nacre.firewall.enforce.verdicts import Forward, Hold, Verdict
from nacre.firewall.proxy.http.decisions import read_request
from nacre.firewall.proxy.stdio.relay import Relay
from nacre.firewall.rules.rule import Surroundings
from nacre.protocol.large_calls import LargeCall, whole
from tests.firewall.guarding import ALLOW, FORM, Person, Scene, encoded, notification, told
from tests.gateway.recording_upstream import recording

ROOT = Path(__file__).parents[3]
TOKEN = "ghp" + "_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
RULES = """
[[rule]]
action = "deny"
tool = "*"
args."*" = "**/.ssh/**"
description = "No keys"
[[rule]]
action = "prompt"
tool = "write_*"
args.path = "/etc/**"
[[rule]]
action = "allow"
tool = "write_*"
args.path = "/home/me/**"
[[rule]]
action = "allow"
tool = "count"
only_args = ["n", "rows"]
args.n = [1, 2.0, true]
[[rule]]
action = "allow"
tool = "mail"
args.to.every_address = "*@acme.org"
ignore_case = true
[[rule]]
action = "prompt"
tool = "ask"
"""
MONITOR = '[settings]\nmode = "monitor"\n'
WHERE = Surroundings(home="/home/me", bases=("/home/me/work", "/srv"))

VALUES = (
    *('"/etc/passwd"', '"/home/me/a"', '"notes/../.ssh/id"', '"~/x"', '"a\\u0301\\ud83d\\ude00"'),
    *("1", "1.0", "2", "2.0", "-0", "1e5", "123456789012345678901234567890", "true", "null"),
    *('["/home/me/b",["/home/me/.ssh/c"]]', '{"path":"/etc/x","é":[1.50]}', "[]", "{}"),
    *('"me@acme.org"', '"me@acme.org, you@evil.org"', f'"{TOKEN}"', '"' + "word " * 30_000 + '"'),
)
NAMES = ("path", "n", "rows", "to", "paths", "x", "\\u0070ath", TOKEN)
DEEP = "[" * 200 + "]" * 200
ODD_VALUES = ("NaN", "1e999", '"\\ud800"', DEEP, '{"a":1,"a":2}', "tru", '"\x01"')
TOOLS = ("write_file", "count", "mail", "ask", "other", "", "nul\\u0000")
IDS = (
    "7",
    '"seven"',
    "-3",
    "1.5",
    "null",
    "[]",
    '"' + "i" * 300 + '"',
    "7777777777777777777777777",
)
ODD_MEMBERS = (
    '"Method":"x"',
    '"id":8',
    '"params":{}',
    '"result":{}',
    '"more":[1]',
    '"method":"tools/call"',
)


def call(rng: Random) -> bytes:
    """Return some call of a client, right or wrong."""
    is_odd = rng.random() < 0.35
    names = rng.sample(NAMES, rng.randint(0, 4))
    members = [f'"{name}":{rng.choice(VALUES)}' for name in names]
    if is_odd and rng.random() < 0.4:
        members.append(f'"odd":{rng.choice(ODD_VALUES)}')
    if rng.random() < 0.05:
        members += [f'"k{number}":{number}' for number in range(60)]
    rng.shuffle(members)
    arguments = f"{{{' , '.join(members)}}}"
    if is_odd and rng.random() < 0.3:
        arguments = rng.choice(("[1]", '"text"', "7", "null"))
    params = [f'"name":"{rng.choice(TOOLS)}"', f'"arguments": {arguments}']
    if rng.random() < 0.3:
        params.append('"_meta":{"progressToken":1}')
    if is_odd and rng.random() < 0.2:
        params.append(
            rng.choice(('"task":{}', '"Arguments":{}', '"name":"x"', '"inputResponses":{}'))
        )
    rng.shuffle(params)
    method = (
        "tools/call"
        if rng.random() < 0.95
        else rng.choice(("prompts/get", "odd/one", "tools/Call"))
    )
    top = ['"jsonrpc":"2.0"', f'"id":{rng.choice(IDS if is_odd else IDS[:3])}']
    top += [f'"method":"{method}"', f'"params" : {{{",".join(params)}}}']
    if is_odd and rng.random() < 0.3:
        top.append(rng.choice(ODD_MEMBERS))
    rng.shuffle(top)
    raw = f"{{ {','.join(top)} }}".encode()
    odd = (
        b"\xef\xbb\xbf" + raw,
        raw + b"x",
        raw[:-2],
        raw.replace(b" ", b"\n"),
        b"[" + raw + b"]",
        raw + b"\xff",
    )
    return rng.choice(odd) if is_odd and rng.random() < 0.2 else raw


@pytest.fixture(scope="module")
def helpers() -> Iterator[ScreeningProcesses]:
    helpers = ScreeningProcesses()
    yield helpers
    helpers.close()


def as_received(verdict: Verdict) -> Verdict:
    return (
        Forward(whole(verdict.raw), verdict.answer, verdict.headers)
        if isinstance(verdict, Forward)
        else verdict
    )


@pytest.mark.parametrize("lines", [True, False])
@pytest.mark.parametrize(
    ("rules", "where"),
    [(RULES, WHERE), (RULES, Surroundings()), (RULES + MONITOR, WHERE), (ALLOW, WHERE)],
)
def test_a_helper_reads_any_call_as_the_guard_would(
    rules: str,
    where: Surroundings,
    lines: bool,
    helpers: ScreeningProcesses,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = Random(f"{rules} {where} {lines}")
    count = 0
    for _ in range(150):
        raw = call(rng)
        people, verdicts, scenes = [], [], []
        for helper in (helpers, None):
            person = Person(by=FORM)
            scene = Scene(rules, where=where, lines=lines, approver=person)
            scene.opened("2025-11-25", {"elicitation": {}})
            scene.guard.screening = helper
            monkeypatch.setattr("nacre.firewall.enforce.guard.LARGE_RESULT_BYTES", 1)
            message = asyncio.run(read_request(scene.guard, raw))
            monkeypatch.undo()
            count += type(message) is LargeCall
            headers = None if lines else {"mcp-protocol-version": "2025-11-25"}
            verdict = as_received(scene.guard.from_client(message, headers))
            # A question has a new name each time.
            verdicts.append(Hold() if isinstance(verdict, Hold) else verdict)
            people.append(
                [(each, shown_arguments(each.subject.arguments)) for each in person.asked]
            )
            if isinstance(message, LargeCall) and message.arguments is not None:
                assert message.arguments.parsed is None, "this process has read it after all"
            scenes.append(scene)
        assert verdicts[0] == verdicts[1], raw
        assert scenes[0].audit.entries == scenes[1].audit.entries, raw
        assert scenes[0].told == scenes[1].told, raw
        assert people[0] == people[1], raw
    assert count > 80


LARGE = json.dumps({"rows": list(range(80_000)), "path": "/home/me/a"})


def large_call(id_: int, tool: str = "write_file") -> bytes:
    params = f'{{"name":"{tool}","arguments":{LARGE}}}'
    return f'{{"jsonrpc":"2.0","id":{id_},"method":"tools/call","params":{params}}}'.encode()


class Held(ScreeningProcesses):
    """Helpers that begin when they are told to."""

    def __init__(self) -> None:
        super().__init__()
        self.may_go_on = threading.Event()

    def call(self, head: dict[str, Any], raw: bytes) -> tuple[dict[str, Any], bytes] | None:
        assert self.may_go_on.wait(60)
        return super().call(head, raw)


def test_over_stdio_other_messages_pass_while_a_large_call_is_read() -> None:
    scene, helpers, woken = Scene(ALLOW), Held(), threading.Event()
    scene.guard.screening = helpers
    sent: list[bytes] = []
    relay = Relay(
        scene.guard,
        to_client=lambda _raw: None,
        to_server=sent.append,
        look=lambda *_: None,
        wake=woken.set,
    )
    small, cancels = scene.call("t"), notification("notifications/cancelled", {"requestId": 99})
    for message in (large_call(99), encoded(small), encoded(cancels)):
        relay.from_client(message + b"\n")
    assert sent == [encoded(small)]
    assert relay.is_reading

    helpers.may_go_on.set()
    assert woken.wait(60)
    relay.relay_screened()
    helpers.close()
    assert sent[1:] == [large_call(99), encoded(cancels)]  # in the order in which they came
    assert not relay.is_reading


def test_without_a_helper_a_large_call_is_read_here() -> None:
    class Nobody(ScreeningProcesses):
        def call(self, head: dict[str, Any], raw: bytes) -> None:
            return None

    scene = Scene(RULES, where=WHERE)
    scene.guard.screening = Nobody()
    raw = large_call(1)
    message = asyncio.run(read_request(scene.guard, raw))
    assert message is raw
    assert scene.guard.from_client(message) == Forward(raw)


def test_a_call_that_was_decided_by_older_rules_is_decided_again(
    helpers: ScreeningProcesses,
) -> None:
    before, now = Scene(ALLOW), Scene(RULES)
    before.guard.screening = helpers
    message = asyncio.run(read_request(before.guard, large_call(1, "other")))

    assert isinstance(before.guard.from_client(message), Forward)
    assert "no rule matches" in str(told(now.guard.from_client(message)))


@pytest.mark.slow
@pytest.mark.parametrize("over", ["stdio", "http"])
def test_a_proxy_passes_on_the_last_large_call_before_it_ends(over: str, tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text(RULES)
    (tmp_path / "calls").touch()
    proxy = [sys.executable, "-m", "nacre.cli", "proxy", "--name", "s", "--base", "/home/me"]
    options = ["--policy", str(tmp_path / "rules.toml"), "--data-dir", str(tmp_path / "data")]
    denied = large_call(2).replace(b"/home/me/a", b"/home/me/.ssh/a")
    with recording(tmp_path / "calls", over) as server:
        target = ["--url", server["url"]] if over == "http" else ["--", server["command"]]
        done = subprocess.run(
            [*proxy, *options, *target, *server.get("args", ())],
            input=b"\n".join((large_call(1), denied, b"")),
            capture_output=True,
            env={"PYTHONPATH": str(ROOT / "shared"), "PATH": os.defpath, "HOME": str(tmp_path)},
            timeout=60,
            check=True,
        )

    answers = {each["id"]: each for each in map(json.loads, done.stdout.splitlines())}
    assert answers[1]["result"]["content"] == [{"type": "text", "text": "done"}]
    assert "No keys" in json.dumps(answers[2])
    assert (tmp_path / "calls").read_bytes() == large_call(1) + b"\n"
