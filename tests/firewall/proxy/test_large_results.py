"""A large result passes a proxy by way of a helper, and what comes after it need not wait."""

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
from nacre.firewall.enforce.large_results import LargeFindings, LargeMessage
from nacre.firewall.enforce.verdicts import Forward
from nacre.firewall.proxy.http.decisions import decide_response
from nacre.firewall.proxy.stdio.relay import Relay
from nacre.firewall.proxy.upstream.message_ids import find_response_ids, response_ids
from tests.firewall.guarding import ALLOW, Scene, encoded, notification, response
from tests.gateway.test_large_answers import message

ROOT = Path(__file__).parents[3]
TOKEN = "ghp" + "_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
LARGE = "words " * 100_000
PATIENCE = 60.0
DENY = '[secrets]\naction = "deny"\n'
MONITOR = '[settings]\nmode = "monitor"\n'


@pytest.fixture
def helpers() -> Iterator[ScreeningProcesses]:
    helpers = ScreeningProcesses()
    yield helpers
    helpers.close()


def result(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


def scene_with(helpers: ScreeningProcesses, policy: str = ALLOW) -> Scene:
    scene = Scene(policy)
    scene.guard.screening = helpers
    return scene


def asked(scene: Scene) -> int:
    call = scene.call("t")
    assert isinstance(scene.up(call), Forward)
    return int(call["id"])


def test_over_stdio_other_messages_pass_while_a_large_result_is_screened(
    helpers: ScreeningProcesses,
) -> None:
    scene = scene_with(helpers)
    may_go_on, woken = threading.Event(), threading.Event()

    def look(raw: bytes, large: LargeMessage) -> LargeFindings | None:
        assert may_go_on.wait(PATIENCE)
        return helpers.look(raw, large.method, large.sections, lines=large.lines)

    passed: list[Any] = []
    relay = Relay(
        scene.guard,
        to_client=lambda raw: passed.append(json.loads(raw)),
        to_server=lambda _raw: None,
        look=look,
        wake=woken.set,
    )
    big, small = asked(scene), asked(scene)
    log = notification("notifications/message", {"level": "info", "data": "later"})
    for each in (response(big, result(LARGE + TOKEN)), response(small, result("hi")), log):
        relay.from_server(encoded(each) + b"\n")
    assert passed == [response(small, result("hi")), log]
    assert relay.is_screening

    may_go_on.set()
    assert woken.wait(PATIENCE)
    relay.relay_screened()
    assert passed[2] == response(big, result(LARGE + "[redacted: github-token]"))
    assert not relay.is_screening


@pytest.mark.parametrize(
    ("policy", "text", "shown"),
    [
        (ALLOW, LARGE, LARGE),
        (ALLOW, LARGE + TOKEN, LARGE + "[redacted: github-token]"),
        (f'{ALLOW}[secrets]\naction = "deny"\n', LARGE + TOKEN, "Blocked by policy"),
        (f'{ALLOW}[settings]\nmode = "monitor"\n', LARGE + TOKEN, LARGE + TOKEN),
    ],
)
def test_the_helper_decides_as_the_guard_would(
    policy: str, text: str, shown: str, helpers: ScreeningProcesses
) -> None:
    elsewhere, here = scene_with(helpers, policy), Scene(policy)
    verdicts = []
    for scene in (elsewhere, here):
        raw = encoded(response(asked(scene), result(text)))
        verdict = asyncio.run(decide_response(scene.guard, raw))
        assert isinstance(verdict, Forward)
        assert (verdict.raw == raw) is (shown == text)
        verdicts.append(json.loads(verdict.raw))

    assert verdicts[0] == verdicts[1]
    assert verdicts[0]["result"]["content"][0]["text"].startswith(shown)
    assert elsewhere.audit.outcomes() == here.audit.outcomes()


@pytest.mark.parametrize("era", ["legacy", pytest.param("modern", marks=pytest.mark.slow)])
@pytest.mark.parametrize("rules", ["", '[injection]\nsources = ["result"]\n', DENY, MONITOR])
def test_a_helper_decides_about_any_answer_as_the_guard_would(
    rules: str, era: str, helpers: ScreeningProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere, here = scene_with(helpers, ALLOW + rules), Scene(ALLOW + rules)
    rng = Random(f"{rules} {era}")
    looked = 0
    for _ in range(60):
        answer = message(rng, era)
        verdicts = []
        for scene in (elsewhere, here):
            raw = answer.replace(b"ID", str(asked(scene)).encode())
            monkeypatch.setattr("nacre.firewall.enforce.guard.LARGE_RESULT_BYTES", 1)
            looked += scene.guard.large(raw) is not None
            verdict = asyncio.run(decide_response(scene.guard, raw))
            verdicts.append((verdict, getattr(verdict, "raw", None) == raw))
            monkeypatch.undo()
        assert verdicts[0] == verdicts[1], answer

    assert looked > 40
    assert elsewhere.audit.outcomes() == here.audit.outcomes()


@pytest.mark.parametrize(
    "spelled",
    [
        '{"jsonrpc":"2.0","id":7,"result":{"a":"X"}}',
        '{"jsonrpc":"2.0","id":"7","error":{"code":1,"message":"X"}}',
        '{"id":7,"jsonrpc":"2.0","result":{"id":8,"a":"X"}}',
        ' { "result" : {"a":"X","id":9} , "jsonrpc" : "2.0" , "id" : "a" } ',
        '{"jsonrpc":"2.0","result":{"a":"X"},"id":-7}',
        '{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{"a":"X"}}',
        '{"jsonrpc":"2.0","method":"x","params":{"result":"X"},"id":7}',
        '{"result":{"a":"X"},"id":7,"jsonrpc":"2.0"}',
        '[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":"b","result":{"a":"X"}}]',
        '{"jsonrpc":"2.0","id":"\\u0037","result":{"a":"X"}}',
        '{"jsonrpc":"2.0","result":"X',
    ],
)
def test_which_request_a_large_message_answers_is_known_without_reading_it(spelled: str) -> None:
    short = spelled.encode()
    large = spelled.replace("X", LARGE).encode()

    assert asyncio.run(find_response_ids(large)) == response_ids(short)
    assert asyncio.run(find_response_ids(short)) == response_ids(short)


def test_what_is_more_than_a_result_is_decided_here(helpers: ScreeningProcesses) -> None:
    scene = scene_with(helpers)
    forms = {"a": {"method": "elicitation/create", "params": {"message": LARGE}}}
    questions = {"resultType": "input_required", "inputRequests": forms}
    raw = encoded(response(asked(scene), questions))
    assert asyncio.run(decide_response(scene.guard, raw)) == Forward(raw)
    assert ("allow", "elicitation/create") in scene.audit.outcomes()

    listing = scene.request("tools/list")
    assert isinstance(scene.up(listing), Forward)
    tools = [{"name": "t", "description": LARGE, "inputSchema": {}}]
    assert scene.guard.large(encoded(response(listing["id"], {"tools": tools}))) is None
    nobody = encoded(response(99, result(LARGE)))
    assert scene.guard.large(nobody) is None


def test_a_helper_that_fails_leaves_the_decision_here(
    helpers: ScreeningProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.adapters.screening.process_pool._COMMAND", ("false",))
    scene = scene_with(helpers)
    verdict = asyncio.run(
        decide_response(scene.guard, encoded(response(asked(scene), result(LARGE + TOKEN))))
    )

    assert isinstance(verdict, Forward)
    assert TOKEN.encode() not in verdict.raw


SERVER = f"""
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    text = 'words ' * 100_000 + {TOKEN!r} if message["id"] == 1 else "hi"
    result = {{"content": [{{"type": "text", "text": text}}]}}
    print(json.dumps({{"jsonrpc": "2.0", "id": message["id"], "result": result}}), flush=True)
    if message["id"] == 2:
        break
"""


def test_the_proxy_gives_its_client_all_before_it_ends(tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text(ALLOW)
    calls = [
        {
            "jsonrpc": "2.0",
            "id": id_,
            "method": "tools/call",
            "params": {"name": "t", "arguments": {}},
        }
        for id_ in (1, 2)
    ]
    line = [sys.executable, "-m", "nacre.cli", "proxy", "--name", "s", "--policy", str(rules)]
    done = subprocess.run(
        [*line, "--data-dir", str(tmp_path / "data"), "--", sys.executable, "-c", SERVER],
        input=b"".join(encoded(each) + b"\n" for each in calls),
        capture_output=True,
        env={"PYTHONPATH": str(ROOT / "shared"), "PATH": os.defpath, "HOME": str(tmp_path)},
        timeout=PATIENCE,
        check=True,
    )

    answers = {each["id"]: each["result"] for each in map(json.loads, done.stdout.splitlines())}
    assert answers[2] == result("hi")
    assert answers[1] == result(LARGE + "[redacted: github-token]")
