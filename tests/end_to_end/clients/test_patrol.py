"""The official client over HTTP, and patrols that come by themselves, die and go on."""

import json
import signal
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from mcp import Client

from nacre.cli.commands import run_commands
from tests.cli.processes import finish, serving, start
from tests.end_to_end.clients.test_memory import over_http, talk, text
from tests.scaffolding.model_server import Question, Response, model_server, saying, slow

ACTIONS = (
    "Ann planted a walnut tree", "Bob sold the old piano", "Carl learned to sail",
    "Dora baked rye bread", "Emil fixed the red bicycle", "Fay visited Lisbon",
    "Gus bought a telescope", "Hana adopted a grey cat", "Ivo painted the kitchen",
    "Jo lost her umbrella",
)  # fmt: skip
_SECONDS = 60


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


Said = Callable[..., Any]


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    def run(*arguments: str) -> Any:
        assert run_commands([*arguments, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return run


def until(said: Said, number: int, state: str) -> Any:
    """Wait until the run of this number is in this state, and return its receipt."""
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end:
        runs = said("patrol", "history")
        if len(runs) >= number and runs[-number]["state"] == state:
            return runs[-number]
        time.sleep(0.05)
    raise AssertionError(runs)


def scenes(*actions: str) -> list[dict[str, Any]]:
    return [
        {"action": each, "actors": [each.split()[0]], "when": ["2026-07-01"]} for each in actions
    ]


async def note_ten(client: Client) -> None:
    for action in ACTIONS:
        answer = await text(client, "update_notes", scenes=scenes(action))
    assert json.loads(answer)["patrol"] == "fired"


@pytest.mark.slow
def test_ten_scenes_make_a_patrol_happen_and_its_memories_explain_themselves(said: Said) -> None:
    path = f"/{said('being', 'create', 'Ann')['being_id']}"
    token = said("token", "create", "--scope", "full")["token"]

    async def explain(client: Client) -> None:
        found = await text(client, "search_memory", query="piano")
        node_id = found.partition("[node ")[2].partition(";")[0]
        told = await text(client, "recall_memory", node_id=node_id)
        assert "status: active" in told
        assert "is forgotten (below 0.5) on active day" in told
        assert "Made of 1 scene:" in told

    with serving() as server:
        connect = partial(over_http, server.url + path, "auto", token=token)
        talk(connect, note_ten)
        receipt = until(said, 1, "done")
        talk(connect, explain)

    assert (receipt["trigger"], receipt["counts"]["nodes_created"]) == ("auto", 10)


def sensible(question: Question) -> Response:
    answers: dict[str, Any] = {
        '"merge"': {"merge": [], "action": None, "feeling": None, "supersede": []},
        '"label"': {"label": "a label", "digest": "a digest of the model"},
        '"diary"': {"diary": "The model wrote a diary."},
        '"notes"': {"notes": ["The model had a thought."]},
    }
    return saying(next(v for k, v in answers.items() if k in question.system))(question)


@pytest.mark.slow
def test_a_patrol_that_is_killed_while_it_thinks_goes_on_at_once_with_the_next_server(
    said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/{said('being', 'create', 'Ann')['being_id']}"
    token = said("token", "create", "--scope", "full")["token"]

    async def look(client: Client) -> None:
        snapshot = json.loads(await text(client, "get_context"))["snapshot"]
        assert snapshot.count("The model wrote a diary.") == 1
        assert snapshot.count("The model had a thought.") == 1

    with model_server() as provider:
        monkeypatch.setenv("NACRE_LLM_BASE_URL", provider.url)
        monkeypatch.setenv("NACRE_LLM_MODEL", "some-model")
        assert finish(start("llm-key", "set", stdin=subprocess.PIPE), "sk-stored\n")[0] == 0
        provider.reply = slow(Event())
        with serving() as server:
            talk(partial(over_http, server.url + path, "auto", token=token), note_ten)
            end = time.monotonic() + _SECONDS
            while not provider.questions and time.monotonic() < end:
                time.sleep(0.02)
            assert server.stop(signal.SIGKILL)[0] == -signal.SIGKILL
        [begun] = said("patrol", "history")
        provider.reply = sensible
        with serving() as server:
            done = until(said, 1, "done")
            talk(partial(over_http, server.url + path, "auto", token=token), look)
            assert server.stop(signal.SIGINT)[0] == 0

    assert (begun["state"], done["run_id"]) == ("open", begun["run_id"])
    assert done["counts"]["nodes_created"] == 10
    assert {question.key for question in provider.questions} == {"Bearer sk-stored"}
