"""The short way of a guard: what it says and records is what the long way does."""

import json
import os
from random import Random
from typing import Any

import pytest

from nacre.firewall.audit.entry import AuditEntry, Record
from nacre.firewall.enforce.fast_path import FastPath
from nacre.firewall.enforce.verdicts import Answer, Forward
from nacre.protocol.versions import META_VERSION
from tests.firewall.enforce.test_guard_fuzz import RULES, mangled
from tests.firewall.guarding import Notebook, Scene, encoded, modern, request, response

CONVERSATIONS = int(os.environ.get("NACRE_FUZZ_MESSAGES", "1000000")) // 20  # of the long run
TEXTS: tuple[Any, ...] = (
    *("", "x", "/ok/a", "/ok/../etc", 'é\n"', "\udc80", "a" * 70, "k" * 300),
    *("Authorization", "AKIAIOSFODNN7EXAMPLQ", "data", "aGVsbG8gd29ybGQgaGVsbG8gd29ybGQ="),
)
VALUES: tuple[Any, ...] = (
    *(*TEXTS, 0, -0.0, 7, -7, 1.5, 1e400, 10**30, True, None, [], {}, ["/ok/a"], {"path": "/ok/a"}),
    "y" * 70_000,
)


VERSION, METHOD, NAME = "mcp-protocol-version", "mcp-method", "mcp-name"
HEADERS: tuple[dict[str, str], ...] = (
    *([{VERSION: "2025-11-25"}] * 6),
    {},
    {VERSION: "2026-07-28"},
    {VERSION: "2026-07-28", METHOD: "tools/call", NAME: "ok"},
    {VERSION: "2025-11-25", METHOD: "prompts/get", NAME: "x"},
    *({VERSION: odd} for odd in ("2026-07-28 ", "", "none")),
    {VERSION: "2025-11-25", "mcp-param-path": "/etc"},
    {VERSION: "2026-07-28", METHOD: "tools/call", NAME: "ok", "mcp-param-path": "/ok/a"},
)
POLICIES = (
    *[RULES] * 8,
    *[f'{RULES}[settings]\nmode = "monitor"\n'] * 2,
    f'{RULES}[settings]\ndeny_style = "error"\n',
    f'{RULES}[secrets]\naction = "deny"\n',
    f'{RULES}[injection]\naction = "deny"\n',
    f'[[rule]]\naction = "deny"\ntool = "ok"\ntainted = true\n{RULES}',
    f'{RULES}[[limit]]\ntool = "ok"\nresult_bytes = 1000\n',
)
MIRRORED = {"type": "object", "properties": {"path": {"type": "string", "x-mcp-header": "path"}}}
IN_META, KEY = f'"_meta":{{"{META_VERSION}":%s}},', '"AKIAIOSFODNN7EXAMPLQ"'
CHANGES: tuple[tuple[str, str], ...] = (
    ('"id":', '"id":5,"id":'),
    ('"name":"ok"', '"name":"rm","name":"ok"'),
    ('"tools/call"', '"\\u0074ools/call"'),
    *(('"params":{', f'"params":{{{IN_META % text}') for text in ('"2026-07-28"', '"x"', "5")),
    ('"arguments":{', f'"arguments":{{"{META_VERSION}":"2026-07-28",'),
    ('"params":{', f'"params":{{"_meta":{{"x":{KEY}}},'),
    *(
        ('"result":{', f'"result":{{"resultType":{text},')
        for text in ('"task"', KEY, f'{{"a":{KEY}}}', '["input_required"]', "null")
    ),
    ('"result":{', f'"result":{{"_meta":{{"a":{KEY}}},"resultType":"complete",'),
    ('"result":{', f'"result":{{"structuredContent":{{{KEY}:1}},'),
)


class Long:
    """Knows no message as usual."""

    def call(self, raw: bytes, value: Any) -> None:
        del raw, value

    answer = call


def id_of(rng: Random) -> Any:
    odd = [*TEXTS[:2], None, -1, 1.5, 10**300, True, "1"]
    return rng.choice(odd) if rng.random() < 0.1 else rng.randrange(5, 9)


def call(rng: Random) -> bytes:
    many = {rng.choice(TEXTS): rng.choice(VALUES) for _ in range(rng.choice([0, 0, 0, 1, 2]))}
    if rng.random() < 0.05:
        many = dict.fromkeys(map(str, range(45)), "x")
    arguments: Any = rng.choice([{"path": "/ok/a", **many}] * 27 + [None, many, [], "x"])
    params = {"name": rng.choice(["ok"] * 99 + list(TEXTS)), "arguments": arguments}
    kind = rng.random()
    if kind < 0.05:
        params = modern(params)
    elif kind < 0.15:
        params[rng.choice(["_meta", "Name", "requestState", "inputResponses", "task", "x"])] = {}
    message = request(id_of(rng), "tools/call", params)
    return encoded(dict(rng.sample(list(message.items()), len(message))))


def answer(rng: Random) -> bytes:
    text = "hi" if rng.random() < 0.7 else rng.choice(VALUES)
    result: dict[Any, Any] = {"content": [{"type": "text", "text": text}]}
    if rng.random() < 0.2:
        name = rng.choice(
            ["isError", "inputRequests", "resultType", "Content", "tools", *TEXTS[:3]]
        )
        result[name] = rng.choice(["input_required", "complete", rng.choice(VALUES)])
    return encoded(response(id_of(rng), result))


class Counting(FastPath):
    """Counts what it decides."""

    taken = 0

    def call(self, raw: bytes, value: dict[str, Any]) -> Forward | Answer | None:
        verdict = super().call(raw, value)
        self.taken += verdict is not None
        return verdict

    def answer(self, raw: bytes, value: dict[str, Any]) -> Forward | None:
        verdict = super().answer(raw, value)
        self.taken += verdict is not None
        return verdict


def compare(rng: Random) -> int:
    """Hold one conversation in both ways; return how many messages the short way took."""
    text, lines = rng.choice(POLICIES), rng.random() < 0.5
    pins, changed = rng.random() < 0.3, rng.choice(["as it was", "otherwise"])
    short, long = (Scene(text, pins=pins, lines=lines) for _ in range(2))
    opening, schema = rng.choice(["2025-11-25", "2025-11-25", None]), rng.choice([{}, MIRRORED])
    counting = Counting(
        short.guard._conversation, short.guard._pin_check, short.guard._list_refresh
    )
    short.guard._fast_path = counting
    long.guard._fast_path = Long()  # type: ignore[assignment]  # as it says
    for scene in (short, long):
        if opening is not None:
            scene.opened(opening, {})
        for described in ("as it was", "as it was", changed) if pins or schema else ():
            tools = {"tools": [{"name": "ok", "description": described, "inputSchema": schema}]}
            scene.answered(scene.request("tools/list", {}), tools)
    over_http = rng.random() < 0.5
    for _ in range(20):
        headers = rng.choice(HEADERS) if over_http else None
        fails = rng.random() < 0.05
        from_client = rng.random() < 0.5
        raw = (call if from_client else answer)(rng) if rng.random() < 0.8 else mangled(rng)
        if rng.random() < 0.05:
            raw = raw.replace(b'"2.0"', rng.choice([b"2.0", b'"1.0"']))
        if rng.random() < 0.2:
            was, becomes = rng.choice(CHANGES)
            raw = raw.replace(was.encode(), becomes.encode(), 1)
        verdicts = []
        for scene in (short, long):
            scene.audit.fails = fails
            guard = scene.guard
            verdicts.append(
                guard.from_client(raw, headers) if from_client else guard.from_server(raw)
            )
        assert verdicts[0] == verdicts[1], raw
        assert [entry.facts() for entry in short.audit.entries] == [
            entry.facts() for entry in long.audit.entries
        ], raw
        assert short.told == long.told, raw
        assert waiting(short) == waiting(long), raw
        assert received(short) == received(long), raw
    short.close()
    long.close()
    return counting.taken


def received(scene: Scene) -> Any:
    return scene.guard._conversation.received.origins


def waiting(scene: Scene) -> list[Any]:
    requests = scene.guard._conversation.up._requests
    return [
        (key, open_request.method, open_request.id, open_request.is_modern)
        for key, open_request in requests.items()
    ]


def test_the_short_way_says_what_the_long_way_says() -> None:
    rng = Random(1)

    shortcuts = sum(compare(rng) for _ in range(100))

    assert shortcuts > 200  # of 2000


@pytest.mark.slow
def test_the_short_way_says_what_the_long_way_says_of_many() -> None:
    rng = Random()

    assert sum(compare(rng) for _ in range(CONVERSATIONS)) > CONVERSATIONS


@pytest.mark.parametrize("kind", [{}, {"resultType": "complete"}])
@pytest.mark.parametrize("headers", [None, {VERSION: "2025-11-25"}])
def test_usual_calls_and_results_go_the_short_way(
    kind: dict[str, str], headers: dict[str, str] | None
) -> None:
    scene = Scene('[[rule]]\naction = "allow"\ntool = "*"\n')
    counting = Counting(
        scene.guard._conversation, scene.guard._pin_check, scene.guard._list_refresh
    )
    result = {**kind, "content": [{"type": "text", "text": "the sum is 3"}]}
    for number in range(2):  # its words are known from the first one
        scene.guard._fast_path = counting
        counting.taken = 0
        called = encoded(request(number, "tools/call", {"name": "add", "arguments": {}}))
        assert isinstance(scene.guard.from_client(called, headers), Forward)
        scene.guard.from_server(encoded(response(number, result)))

    assert counting.taken == 2


@pytest.mark.parametrize("arguments", [{}, {"path": '/ok/ä"'}, {"path": "/ok/a", "n": 7}])
def test_its_record_is_spelled_as_any_other(arguments: dict[str, Any]) -> None:
    records: list[str] = []

    class Spelling(Notebook):
        def record(self, entry: Record) -> str:
            records.append(entry.spelled())
            if not isinstance(entry, AuditEntry):
                records.append(entry.whole().spelled())
            return super().record(entry)

    scene = Scene('[[rule]]\naction = "allow"\ntool = "*"\n', audit=Spelling())

    assert isinstance(scene.up(scene.call("ök", arguments)), Forward)

    short, full = records
    assert short == full
    assert json.loads(f"{{{short}}}")["tool"] == "ök"
