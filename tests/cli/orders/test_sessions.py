"""`nacre sessions`, `nacre chat` and `nacre being order-name`, against a model on the loopback."""

import base64
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre.cli.orders import chat as chat_module
from tests.cli.conftest import Nacre
from tests.cli.worlds import World
from tests.scaffolding.model_server import (
    ModelServer,
    calling,
    failing,
    model_server,
    saying,
    tool_call,
)

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20 + b"IEND\xaeB`\x82"


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with model_server() as server:
        monkeypatch.setenv("NACRE_LLM_BASE_URL", server.url)
        monkeypatch.setenv("NACRE_LLM_API_KEY", "sk-test")
        server.reply = saying("Very well.")
        yield server


@pytest.mark.requirement("000.cli.sessions")
def test_sessions_are_listed_shown_and_deleted(nacre: Nacre, model: ModelServer) -> None:
    for message in ("first words", "second words"):
        assert nacre("chat", message, "--session", "my-secret-key").code == 0

    listed = nacre("sessions", "--store", "file", "--json").json()
    shown = nacre("sessions", "show", listed[0]["session_id"][:8])
    table = nacre("sessions", "list")

    assert [(each["caller"], each["turns"]) for each in listed] == [("nacre chat", 2)]
    assert "> first words\n\nVery well." in shown.out
    assert "Turns:   2, 2 of them complete" in shown.out
    assert table.out.splitlines()[0].split() == [
        *("SESSION", "CALLER", "TURNS", "BYTES", "LAST", "USED", "CREATED")
    ]
    assert "my-secret-key" not in shown.out + table.out + json.dumps(listed)

    assert nacre("sessions", "delete", listed[0]["session_id"][:8]).code == 0
    assert nacre("sessions", "--json").json() == []
    nacre("chat", "third words", "--session", "my-secret-key")
    assert len(model.questions[-1].body["messages"]) == 2


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--store", "stack"], 2, "needs --stack"),
        (["--store", "file", "--stack", "x"], 2, "names another place"),
        (["--store", "elsewhere"], 2, "elsewhere"),
        (["show", "abc"], 2, "at least 6"),
        (["show", "abcdef"], 3, "no session begins with abcdef"),
        (["delete"], 2, "or --all"),
        (["delete", "abcdef", "--all"], 2, "or --all"),
    ],
)
def test_what_is_wrong_is_said(nacre: Nacre, arguments: list[str], code: int, told: str) -> None:
    nacre("being", "create", "me")
    outcome = nacre("sessions", *arguments)

    assert outcome.code == code
    assert told in outcome.err


def test_all_sessions_go_at_once_and_those_of_forgotten_days(
    nacre: Nacre, model: ModelServer
) -> None:
    for key in ("a", "b"):
        nacre("chat", "my words are pearls", "--session", key)
    assert nacre("sessions", "delete", "--all").err == "Deleted 2 sessions of Pearl.\n"

    nacre("chat", "my words are pearls", "--session", "c")
    day = nacre("sessions", "--json").json()[0]["updated_at"][:10]
    nacre("forget", "messages", "--from", day, "--to", day, "--yes")
    assert nacre("sessions", "--json").json() == []


def test_a_being_that_is_forgotten_leaves_no_session(nacre: Nacre, model: ModelServer) -> None:
    nacre("chat", "my words are pearls of the deep sea", "--session", "c")
    gone = nacre("forget", "being", "Pearl", "--yes", "--verify")

    assert gone.code == 0, gone.out + gone.err


def test_sessions_of_a_stack_are_seen_from_here(world: World, nacre: Nacre) -> None:
    from nacre.being.orders.sessions.session import Turn
    from nacre.being.orders.sessions.store import SessionStore
    from nacre.core.clock import system_clock
    from nacre.jobs.lease import Leases

    being_id = nacre("being", "create", "Ann", *world.options, "--json").json()["being_id"]
    store = SessionStore(world.table, Leases(world.table, now=system_clock), clock=system_clock)
    turn = Turn(turn_id="t", at="2026-07-01T10:00:00.000Z", message="hi", answer="ho")
    store.add(being_id, "ab" * 32, turn, caller="a client", marker_id=None)

    where = ["--store", "stack" if world.options else "file", *world.options]
    assert [each["turns"] for each in nacre("sessions", *where, "--json").json()] == [1]
    assert "> hi\n\nho" in nacre("sessions", "show", "abab" * 3, *where).out


def test_an_order_name_is_the_beings(nacre: Nacre, monkeypatch: pytest.MonkeyPatch) -> None:
    nacre("being", "create", "me")

    assert nacre("being", "order-name").out == "order_being\n"
    assert nacre("being", "order-name", "OpenClaw").out == "order_openclaw\n"
    assert nacre("status", "--json").json()["beings"][0]["order_tool"] == "order_openclaw"
    monkeypatch.setenv("NACRE_ORDER_NAME", "Clawdbot")
    assert nacre("being", "order-name").out == "order_openclaw\n"
    assert nacre("being", "order-name", "--default").out == "order_clawdbot\n"
    assert nacre("being", "order-name", "no/slash").code == 2
    assert nacre("being", "order-name", "x", "--default").code == 2
    monkeypatch.setenv("NACRE_ORDER_NAME", "-")
    assert "NACRE_ORDER_NAME" in nacre("status").err


def test_chat_says_one_thing_and_ends(nacre: Nacre, model: ModelServer, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    (tmp_path / "notes.md").write_text("# Shells")
    model.script(calling(tool_call("get_current_time"), text="I look."), saying("I see a shell."))

    outcome = nacre(
        *("chat", "What is it?", "--image", str(tmp_path / "a.png")),
        *("--file", str(tmp_path / "notes.md")),
    )

    assert (outcome.code, outcome.out) == (0, "I look.\n\nI see a shell.\n")
    content = model.questions[0].body["messages"][-1]["content"]
    assert content[0] == {"type": "text", "text": "What is it?"}
    assert any("# Shells" in part.get("text", "") for part in content)
    assert nacre("chat", "x", "--file", str(tmp_path / "missing.txt")).code == 2
    (tmp_path / "odd").write_bytes(b"x")
    assert "unknown file type" in nacre("chat", "x", "--file", str(tmp_path / "odd")).err


def test_chat_goes_on_in_one_session(
    nacre: Nacre, model: ModelServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("a,b")

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    lines = ["hello", "", f"/file {tmp_path / 'a.csv'}", "/file /nowhere", "and this?", "exit", "x"]
    monkeypatch.setattr("sys.stdin", Terminal("\n".join(lines) + "\n"))

    outcome = nacre("chat")

    assert (outcome.code, outcome.out) == (0, "Very well.\nVery well.\n")
    assert "/nowhere" in outcome.err
    second = model.questions[1]
    assert [each["role"] for each in second.body["messages"]] == [
        *("system", "user", "assistant", "user")
    ]
    assert "a,b" in str(second.body["messages"][-1]["content"])


def test_chat_tells_what_failed(nacre: Nacre, model: ModelServer) -> None:
    model.reply = failing(401)
    outcome = nacre("chat", "hello")

    assert outcome.code == 1
    assert "refused the key" in outcome.err
    assert nacre("chat", "hello", "--stack", "x").code == 2


def test_what_a_stranger_wrote_moves_nothing_on_the_terminal(
    nacre: Nacre, model: ModelServer
) -> None:
    model.reply = saying("a\x1b]0;title\x07\x9b2Jb\r\nc\td 👩\u200d🚀")

    outcome = nacre("chat", "e\x1b[2Jf", "--session", "key")
    head = nacre("sessions", "--json").json()[0]
    shown = nacre("sessions", "show", head["session_id"][:8])

    assert outcome.out == "a?]0;title??2Jb\nc\td 👩\u200d🚀\n"
    assert "> e?[2Jf\n\na?]0;title??2Jb\nc\td" in shown.out


def test_chat_keeps_media_where_it_is_told_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    talk = chat_module._Conversation(None, None, "s", tmp_path / "out")  # type: ignore[arg-type]
    image = {"type": "image", "data": base64.b64encode(PNG).decode(), "mimeType": "image/png"}
    for _ in range(2):
        talk._show(image)

    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == [
        *("answer-2.png", "answer.png")
    ]
    assert (tmp_path / "out" / "answer.png").read_bytes() == PNG
    file = {"uri": "attachment://..%2Fm%C3%A4rz%20b.pdf", "mimeType": "application/pdf"}
    talk._show({"type": "resource", "resource": {**file, "blob": "JVBERi0="}})
    assert (tmp_path / "out" / "märz b.pdf").read_bytes() == b"%PDF-"
    chat_module._Conversation(None, None, "s", None)._show(image)  # type: ignore[arg-type]
    assert "--save DIR saves it" in capsys.readouterr().err


@pytest.mark.requirement("000.cli.status")
@pytest.mark.requirement("000.cli.doctor")
def test_status_and_doctor_say_which_model_and_which_policy_count(
    nacre: Nacre, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    nacre("being", "create", "me")

    status = nacre("status").out
    findings = {each["check"]: each for each in nacre("doctor", "--json").json()}
    assert f"Model:   gpt-4.1-mini at {model.url} (with a key)" in status
    assert "sk-test" not in status
    assert "built-in" in status
    assert findings["language model"]["state"] == "ok"
    assert findings["policy of me"]["found"] == "built-in"

    monkeypatch.setenv("NACRE_LLM_BASE_URL", "http://127.0.0.1:9/v1")
    gone = {each["check"]: each for each in nacre("doctor", "--json").json()}
    assert gone["language model"]["found"] == "no server answers at http://127.0.0.1:9/v1"
    monkeypatch.delenv("NACRE_LLM_API_KEY")
    none = {each["check"]: each for each in nacre("doctor", "--json").json()}
    assert "orders do not work" in none["language model"]["found"]
