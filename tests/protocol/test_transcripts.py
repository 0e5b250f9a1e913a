"""Golden conversations over every face.

One JSON object a line: first a note, then what the client and the server say in turn. A text
`$name` in what the server says stands for any value the first time and for the same value later.
A note may name the faces on which the conversation is possible, and the server it is with.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from nacre import __version__
from nacre.being.application import INSTRUCTIONS, Application
from nacre.being.tools.get_current_time import get_current_time
from nacre.protocol.dispatch.request_state import RequestStates, SigningKeys
from nacre.sdk.tool_server import ToolServer
from tests.end_to_end.conformance.fixture_server import conformance_server
from tests.end_to_end.conformance.fixture_tasks import resting_tasks
from tests.protocol.wires import WIRES, Message

TRANSCRIPTS = sorted((Path(__file__).parent / "transcripts").glob("*.jsonl"))
NOW = datetime(2026, 4, 14, 7, 30, tzinfo=UTC)
KEYS = SigningKeys(b"k" * 32)


def lines_of(transcript: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in transcript.read_text().splitlines()]


CONVERSATIONS = [
    pytest.param(face, transcript, id=f"{transcript.stem}-{face}")
    for transcript in TRANSCRIPTS
    for face in lines_of(transcript)[0]["note"].get("faces", WIRES)
]


def clock_server() -> ToolServer:
    """Return a server of the Being's name with one tool, so that the transcripts stay short."""
    server = ToolServer("nacre", __version__, title="Nacre", instructions=INSTRUCTIONS)
    server.register_tool(get_current_time(lambda: NOW))
    return server


def application(note: dict[str, Any]) -> Application:
    server = conformance_server() if note["server"] == "fixtures" else clock_server()
    tasks = resting_tasks(lambda: NOW) if note.get("tasks") else None
    return Application(server, RequestStates(lambda: KEYS, lambda: NOW), tasks=tasks)


def bind(said: Any, wanted: Any, names: dict[str, Any]) -> Any:
    """Return what was wanted with its names filled in, from what was said where they are new."""
    match wanted:
        case str() if wanted.startswith("$"):
            return names.setdefault(wanted, said)
        case dict() if isinstance(said, dict):
            return {key: bind(said.get(key), value, names) for key, value in wanted.items()}
        case list() if isinstance(said, list) and len(said) == len(wanted):
            return [bind(one, other, names) for one, other in zip(said, wanted, strict=True)]
        case _:
            return wanted


def fill(message: Any, names: dict[str, Any]) -> Any:
    match message:
        case str():
            return names.get(message, message)
        case dict():
            return {key: fill(value, names) for key, value in message.items()}
        case list():
            return [fill(value, names) for value in message]
        case _:
            return message


@pytest.mark.parametrize(("face", "transcript"), CONVERSATIONS)
def test_a_conversation_goes_as_written(face: str, transcript: Path) -> None:
    first, *lines = lines_of(transcript)
    names: dict[str, Any] = {}
    # A request whose answer is awaited; a later one may come while it is.
    open_requests: list[Iterator[Message]] = []

    with WIRES[face](application(first["note"])) as wire:
        for line in lines:
            if "client" in line:
                answers = wire.say(fill(line["client"], names))
                if "method" in line["client"] and "id" in line["client"]:
                    open_requests.append(answers)
                else:
                    assert list(answers) == []
                continue
            said = next(open_requests[-1])
            assert said == bind(said, line["server"], names)
            if "method" not in said:
                assert list(open_requests.pop()) == []

    assert open_requests == []


def test_a_note_says_where_a_conversation_comes_from() -> None:
    assert len(TRANSCRIPTS) >= 8
    for transcript in TRANSCRIPTS:
        note = lines_of(transcript)[0]["note"]
        assert set(note) >= {"source", "server"}, transcript.name
