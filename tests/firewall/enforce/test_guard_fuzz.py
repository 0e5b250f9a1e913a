"""Messages that nobody would send: the guard decides all of them and forwards none undecided."""

import json
import os
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.firewall.enforce.verdicts import Answer, Drop, Forward, Hold
from nacre.firewall.rules.rule import Subject
from tests.firewall.deciding import policy
from tests.firewall.guarding import Scene, encoded, request, response
from tests.scaffolding.laws import examples

RULES = (
    '[[rule]]\naction = "allow"\ntool = "ok"\nargs.path = "/ok/**"\n'
    '[[rule]]\naction = "allow"\ntool = "resources/read"\nargs.uri = "ok://**"\n'
    '[[rule]]\naction = "allow"\ntool = "roots/list"\n'
)
POLICY = policy(RULES)
DECIDED = frozenset(
    (
        "tools/call",
        "resources/read",
        "prompts/get",
        "sampling/createMessage",
        "elicitation/create",
        "roots/list",
    )
)
MESSAGES = int(os.environ.get("NACRE_FUZZ_MESSAGES", "1000000"))  # of the long run
SEEDS: tuple[dict[str, Any], ...] = (
    request(1, "tools/call", {"name": "ok", "arguments": {"path": "/ok/a", "n": 1.5}}),
    request(1, "tools/call", {"name": "rm", "arguments": {"path": "/ok/a"}}),
    request(1, "tools/call", {"name": "ok", "arguments": {"path": "/ok/../etc"}}),
    request("a", "resources/read", {"uri": "ok://x"}),
    request(1, "prompts/get", {"name": "p"}),
    request(1, "ping"),
    request(1, "roots/list", {}),
    request(1, "sampling/createMessage", {"messages": []}),
    request(1, "tools/list", {"cursor": "x"}),
    response(1, {"content": [{"type": "text", "text": "hi"}]}),
    response(1, {"tools": [{"name": "ok"}, {"name": "rm"}]}),
    response(1, {"inputRequests": {"a": {"method": "sampling/createMessage", "params": {}}}}),
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
)
PIECES = (
    b'"method":"tools/call",', b'"name":"rm",', b'"Name":"rm",', b'"METHOD":"tools/call",',
    b'"id":1,', b'"id":null,', b'"jsonrpc":"2.0",', b"NaN", b"1e999", b"-0", b"\\u0000", b"\\ud800",
    b"\xef\xbb\xbf", b"\xff", b"\n", b"\r", b" ", b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\",
    b'"params":{"name":"rm"},', b'"arguments":{"path":"/etc"},', b'"result":{},', b"tools/call",
    b"Tools/Call", b"tools\\/call", b"\\u0074ools/call", b"../", b"%2e%2e/", b"[" * 70,
    b'"inputRequests":{"a":{"method":"roots/list"}},', b'"resultType":"input_required",',
)  # fmt: skip


def mangled(rng: Random) -> bytes:
    """Return a message that went through hostile hands."""
    if rng.random() < 0.05:
        return encoded([rng.choice(SEEDS) for _ in range(rng.randrange(3))])
    raw = encoded(rng.choice(SEEDS)).replace(b", ", b",").replace(b": ", b":")
    for _ in range(rng.randrange(4)):
        place = rng.randrange(len(raw) + 1)
        kind = rng.random()
        if kind < 0.5:
            # Where a member may stand, half of the time.
            if rng.random() < 0.5:
                place = rng.choice([at + 1 for at in range(len(raw)) if raw[at] in b"{,"] or [0])
            raw = raw[:place] + rng.choice(PIECES) + raw[place:]
        elif kind < 0.7:
            raw = raw[:place] + raw[place + rng.randrange(1, 9) :]
        elif kind < 0.85 and raw:
            place = rng.randrange(len(raw))
            raw = raw[:place] + bytes([rng.randrange(256)]) + raw[place + 1 :]
        else:
            raw = raw.replace(
                *rng.choice(
                    [(b"tools", b"Tools"), (b"ok", b"rm"), (b"1", b"1.0"), (b"name", b"n\\u0061me")]
                )
            )
    return raw


def readings(raw: bytes) -> Iterator[Any]:
    """Yield what lenient parsers make of it: the last key counts, the first, or any letters."""
    hooks = (
        dict,
        lambda pairs: dict(reversed(pairs)),
        lambda pairs: {key.lower(): value for key, value in pairs},
    )
    text = raw.decode("utf-8", "replace").lstrip("\ufeff")
    for hook in hooks:
        try:
            yield json.JSONDecoder(object_pairs_hook=hook).raw_decode(text.strip())[0]
        except (ValueError, RecursionError):
            continue


def is_decided(value: Any, sender: str) -> bool:
    """Tell whether nothing in a forwarded message needed a no."""
    if isinstance(value, list):
        return all(is_decided(part, sender) for part in value)
    if not isinstance(value, dict) or not isinstance(value.get("method"), str):
        return True
    method, params = value["method"].strip().casefold(), value.get("params")
    decided = next((name for name in DECIDED if name.casefold() == method), None)
    decides = ("tools/call", "resources/read", "prompts/get")
    if decided is None or (decided in decides) != (sender == "client"):
        return True
    if "id" not in value or not isinstance(params, dict | None):
        return False
    params = params or {}
    subject = Subject("method", decided, "fs", params)
    if decided == "tools/call":
        subject = Subject("tool", params.get("name", ""), "fs", params.get("arguments") or {})
    return POLICY.decide(subject).action == "allow"


def check(scene: Scene, raw: bytes) -> None:
    """Send the bytes from both ends."""
    for sender, take in (("client", scene.guard.from_client), ("server", scene.guard.from_server)):
        verdict = take(raw)
        match verdict:
            case Forward(sent) if sent is raw:
                assert b"\n" not in raw
                assert all(is_decided(value, sender) for value in readings(raw)), (sender, raw)
            case Forward(sent):  # a list that is shorter, or an error in an answer's place
                answer = json.loads(sent)
                for part in answer if isinstance(answer, list) else [answer]:
                    assert "inputRequests" not in part.get("result", {}), raw
            case Answer(sent):
                answer = json.loads(sent)
                assert all(
                    "error" in part or part["result"].get("isError") or "action" in part["result"]
                    for part in (answer if isinstance(answer, list) else [answer])
                )
            case Drop():
                pass
            case Hold():
                raise AssertionError("nobody was to be asked")
        # An ordinary answer of a server is no event: its request is on record.
        is_ordinary = sender == "server" and isinstance(verdict, Forward) and verdict.raw is raw
        assert scene.audit.entries or is_ordinary, (sender, raw)
        scene.audit.entries.clear()


def conversation(*, batches: bool) -> Scene:
    scene = Scene(RULES, pins=False)
    scene.opened("2025-03-26" if batches else "2025-11-25", {})
    return scene


@given(st.binary(max_size=300))
def test_any_bytes_are_decided(raw: bytes) -> None:
    check(conversation(batches=False), raw)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["jsonrpc", "id", "method", "params", "name", "arguments", "result"])
            | st.text(max_size=4),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(
    st.fixed_dictionaries(
        {"jsonrpc": st.just("2.0") | JSON},
        optional={
            "id": st.integers() | st.text(max_size=3) | JSON,
            "method": st.sampled_from(sorted(DECIDED)) | JSON,
            "params": st.fixed_dictionaries(
                {},
                optional={
                    "name": st.sampled_from(["ok", "rm"]) | JSON,
                    "arguments": st.fixed_dictionaries({}, optional={"path": JSON}) | JSON,
                    "uri": JSON,
                },
            )
            | JSON,
            "result": JSON,
            "error": JSON,
        },
    )
)
def test_any_values_in_any_place_are_decided(message: dict[str, Any]) -> None:
    check(conversation(batches=False), json.dumps(message).encode("utf-8", "surrogatepass"))


@settings(max_examples=examples(300))
@given(st.randoms(use_true_random=False), st.booleans())
def test_mangled_messages_are_decided(rng: Random, batches: bool) -> None:
    scene = conversation(batches=batches)
    for _ in range(5):
        check(scene, mangled(rng))


@pytest.mark.slow
def test_a_million_mangled_messages_are_decided() -> None:
    rng = Random(20260728)
    scene = conversation(batches=True)
    for number in range(MESSAGES):
        if number % 500 == 0:
            scene = conversation(batches=number % 1000 == 0)
        check(scene, mangled(rng))
