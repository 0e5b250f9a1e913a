"""Hooks of clients: context, recall and capture, and never a problem for the client."""

import io
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest

from nacre.being.memory.conversations.client_names import client_name, hook_client
from nacre.cli.commands import run_commands
from nacre.cli.hooks.capture_settings import read_settings, write_settings
from nacre.cli.hooks.hook_input import CLIENTS
from nacre.cli.hooks.server_call import ServerCallError, address_of, call_tool
from nacre.core.lazy_dataclasses import replace
from tests.cli.processes import Server, finish, serving, start
from tests.gateway.http_upstream import http_upstream
from tests.scaffolding import transcripts
from tests.scaffolding.certificates import Authority
from tests.scaffolding.connect_proxy import connect_proxy

_PACKAGE = Path(__file__).parents[3] / "shared"
_TRIES = 5
_TOO_SLOW = ("it took too long and was ended\n", "the server did not answer in time\n")
_SECONDS = 600  # far more than a busy machine needs; without an end, a test would not tell why
KEY = "ghp_" + "aB3" * 12
Result = TypeVar("Result")


@dataclass(frozen=True)
class Machine:
    """A data folder whose server runs, and a client's transcript."""

    home: Path
    server: Server
    transcript: Path

    def nacre(self, *arguments: str, text: str | None = None) -> str:
        """Run a command that succeeds, and return what it printed.

        It runs in this process, unless it reads its input: only hooks must be real processes.
        """
        if text is not None:
            code, out, err = finish(start(*arguments, stdin=subprocess.PIPE), text)
            assert code == 0, err
            return out
        printed, told = io.StringIO(), io.StringIO()
        with redirect_stdout(printed), redirect_stderr(told):
            code = run_commands(list(arguments))
        assert code == 0, told.getvalue()
        return printed.getvalue()

    def hook(self, event: str, *options: str, **fields: Any) -> dict[str, Any]:
        """Run a hook of Claude Code, and return its JSON; {} for silence."""
        payload = {
            "session_id": "s1",
            "transcript_path": str(self.transcript),
            "cwd": "/home/ann/boat",
            "hook_event_name": event,
            **fields,
        }
        return run_hook(json.dumps(payload).encode(), event, *options)

    def say(self, text: str, role: str = "user", **fields: Any) -> None:
        """Add a line to the transcript, as Claude Code does."""
        number = len(self.transcript.read_text().splitlines()) if self.transcript.exists() else 0
        line = {
            "parentUuid": None,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/ann/boat",
            "sessionId": "s1",
            "version": "2.1.327",
            "type": role,
            "message": {"role": role, "content": text},
            "uuid": f"{self.transcript.name}-{number}",
            "timestamp": now(),
            **fields,
        }
        with self.transcript.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def post(self, token: str, message: dict[str, Any]) -> tuple[int, Any]:
        """Send a message to the Being's endpoint."""
        being_id = read_settings(str(self.home)).being_id
        return self.server.post(f"/{being_id}", token, message)

    def log(self) -> str:
        file = self.home / "hooks.log"
        return file.read_text() if file.exists() else ""

    def history(self) -> list[dict[str, Any]]:
        """Return the captured messages, oldest first."""
        file = self.home.parent / "export.nacre"
        file.unlink(missing_ok=True)
        self.nacre("export", str(file))
        records = [json.loads(line) for line in file.read_text().splitlines()]
        return [record["value"] for record in records if record["type"] == "message"]


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def run_hook(text: bytes, event: str, *options: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "nacre.cli", "hook", event, *options],
        input=text,
        env={**os.environ, "PYTHONPATH": str(_PACKAGE)},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    answer: dict[str, Any] = json.loads(done.stdout) if done.stdout else {}
    return answer


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Server]]:
    folder = tmp_path_factory.mktemp("hooks") / "data"
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("NACRE_", "AWS_"))]:
            patch.delenv(name)
        patch.setenv("NACRE_HOME", str(folder))
        with serving() as server:
            yield folder, server


@pytest.fixture
def machine(home: tuple[Path, Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine whose user has allowed nothing yet."""
    folder, server = home
    monkeypatch.setenv("NACRE_HOME", str(folder))
    for name in ("capture.json", "hooks.log"):
        (folder / name).unlink(missing_ok=True)
    for file in folder.glob("capture/*"):
        file.unlink()
    return Machine(folder, server, tmp_path / f"{tmp_path.name}.jsonl")


@pytest.fixture
def allowed(machine: Machine) -> Machine:
    """A machine whose user has allowed capturing."""
    machine.nacre("capture", "allow")
    return machine


def in_time(machine: Machine, act: Callable[[], Result]) -> Result:
    """Run a hook, and again if a busy machine's server needs longer than a hook waits for it."""
    for _ in range(_TRIES):
        (machine.home / "hooks.log").unlink(missing_ok=True)
        result = act()
        if not machine.log().endswith(_TOO_SLOW):
            break
    return result


def texts(machine: Machine) -> list[str]:
    """Return the captured texts that the transcript of this test has."""
    own = machine.transcript.read_text()
    return [
        entry["content"]
        for entry in machine.history()
        if entry.get("client") and any(part in own for part in entry["content"].split(" [")[:1])
    ]


def test_without_consent_a_hook_asks_once_and_sends_nothing(machine: Machine) -> None:
    machine.say("not yet allowed one")

    first, second = machine.hook("session-start"), machine.hook("session-start")

    assert "nacre capture allow" in first["systemMessage"]
    assert second == {}
    assert machine.hook("user-prompt", prompt="hi") == machine.hook("stop") == {}
    assert texts(machine) == []
    machine.nacre("capture", "deny")
    (machine.home / "capture" / "asked").unlink()
    assert machine.hook("session-start") == {}


def test_a_session_is_captured_without_its_secrets_and_noise(allowed: Machine) -> None:
    allowed.say(f"deploy it with {KEY} please")
    allowed.say("meta text", isMeta=True)
    allowed.say("of a subagent", isSidechain=True)
    allowed.say("<command-name>/clear</command-name>")
    allowed.say([{"type": "tool_result", "tool_use_id": "t", "content": "result"}])  # type: ignore[arg-type]
    allowed.say(
        [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Deployed to staging."}],  # type: ignore[arg-type]
        role="assistant",
    )
    assert allowed.hook("stop") == {}
    allowed.say("<system-reminder>be nice</system-reminder>thanks a lot")
    assert allowed.hook("pre-compact") == {}
    allowed.say("unfinished")
    with allowed.transcript.open("a") as file:
        file.write('{"type": "user", "mess')
    assert allowed.hook("session-end") == {}

    assert allowed.log() == ""
    mine = allowed.history()[-4:]
    assert [entry["content"] for entry in mine] == [
        "deploy it with [redacted: github-token] please",
        "Deployed to staging.",
        "thanks a lot",
        "unfinished",
    ]
    assert {(entry["client"], entry["session"], entry["project"]) for entry in mine} == {
        ("claude-code", "s1", "/home/ann/boat")
    }


def test_a_transcript_that_comes_after_its_hook_is_captured_by_the_next(allowed: Machine) -> None:
    assert allowed.hook("stop") == allowed.hook("pre-compact") == {}
    assert allowed.log() == ""
    allowed.say("The tide is out until noon.")
    assert allowed.hook("session-end") == {}

    assert texts(allowed) == ["The tide is out until noon."]
    assert allowed.log() == ""


def test_a_session_without_a_transcript_is_told_once(allowed: Machine) -> None:
    assert allowed.hook("stop") == allowed.hook("session-end") == {}

    assert allowed.log().endswith(" session-end: the session has no transcript\n")
    assert allowed.log().count("\n") == 1


def test_nothing_is_captured_twice_when_a_session_is_forked(allowed: Machine) -> None:
    allowed.say("said once in the first session")
    allowed.hook("stop")
    allowed.hook("stop", session_id="fork")
    allowed.say("said later in the fork")
    allowed.hook("stop", session_id="fork")

    assert texts(allowed) == ["said once in the first session", "said later in the fork"]


def test_a_pause_and_exclusions_keep_messages_out(allowed: Machine) -> None:
    old = (datetime.now(UTC) - timedelta(days=1)).isoformat()
    allowed.say("before the consent alpha", timestamp=old)
    allowed.say("captured bravo")
    time.sleep(0.01)
    allowed.nacre("capture", "pause")
    time.sleep(0.01)
    allowed.say("in the pause charlie")
    time.sleep(0.01)
    allowed.nacre("capture", "resume")
    time.sleep(0.01)
    allowed.nacre("capture", "exclude", "word", "Waterloo", "c++")
    allowed.say("about WATERLOO delta")
    allowed.say("about c++ echo")
    allowed.say("about Waterloos foxtrot")
    allowed.hook("stop")
    allowed.nacre("capture", "exclude", "project", "/home/ann/boat")
    allowed.say("in the project golf")
    allowed.hook("stop")
    assert allowed.hook("user-prompt", prompt="what is captured?") == {}
    allowed.nacre("capture", "exclude", "project", "/home/ann/boat", "--remove")

    allowed.nacre("capture", "exclude", "project", "taxes")
    opened = {"cwd": "/home/ann/boat", "workspace_roots": ["/home/ann/boat", "/home/ann/taxes"]}
    allowed.hook("stop", **opened)
    allowed.nacre("capture", "exclude", "project", "taxes", "--remove")

    assert texts(allowed) == ["captured bravo", "about Waterloos foxtrot"]
    status = json.loads(allowed.nacre("capture", "status", "--json"))
    assert (status["state"], status["excluded_projects"]) == ("allowed", [])
    assert status["excluded_words"] == ["Waterloo", "c++"]


def test_context_and_recall_reach_the_client(allowed: Machine) -> None:
    token = read_settings(str(allowed.home)).token
    arguments = {
        "scenes": [
            {"action": "Ann's boat Juno lies in Kiel", "actors": ["Ann"], "when": ["2026-07-01"]}
        ]
    }
    allowed.post(token, call("update_notes", arguments))

    start_ = allowed.hook("session-start")["hookSpecificOutput"]
    prompt = allowed.hook("user-prompt", prompt="Where does the boat Juno lie?")[
        "hookSpecificOutput"
    ]

    assert start_["hookEventName"] == "SessionStart"
    assert "Juno lies in Kiel" in start_["additionalContext"]
    assert len(start_["additionalContext"]) <= 9000
    assert prompt["hookEventName"] == "UserPromptSubmit"
    assert "Juno lies in Kiel" in prompt["additionalContext"]
    assert allowed.hook("user-prompt", prompt="What is 17 times 23?") == {}
    assert allowed.hook("user-prompt", prompt="/clear") == {}
    gemini = allowed.hook("user-prompt", "--client", "gemini-cli", prompt="Where does Juno lie?")
    assert gemini["hookSpecificOutput"]["hookEventName"] == "BeforeAgent"


HEAVY = {
    *("asyncio", "base64", "click", "contextlib", "dataclasses", "http", "importlib.metadata"),
    *("inspect", "logging", "pathlib", "ssl", "subprocess", "typing", "unicodedata", "warnings"),
    *("encodings.idna", "nacre.core.errors", "nacre.wiring.settings"),
}


def imports_of(code: str, text: str = "") -> set[str]:
    """Return the modules that a process imports until its end."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code],
        input=text,
        env={**os.environ, "PYTHONPATH": str(_PACKAGE)},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines[1:]}


@pytest.mark.parametrize("event", ["session-start", "user-prompt", "stop"])
def test_a_hook_imports_little_before_its_answer(allowed: Machine, event: str) -> None:
    allowed.say("november oscar")

    payload = {
        "session_id": "s1",
        "transcript_path": str(allowed.transcript),
        "prompt": "Where does the boat lie?",
    }
    start_it = (
        f"import sys; sys.argv = ['nacre', 'hook', {event!r}]; from nacre.cli.main import main"
    )
    # What Python and its site load anyway is not the hook's.
    imported = in_time(
        allowed, lambda: imports_of(f"{start_it}; main()", json.dumps(payload))
    ) - imports_of("pass")
    own = {name for name in imported if name.partition(".")[0] == "nacre"}

    assert allowed.log() == ""
    assert not HEAVY & imported
    # Each costs 0.1 to 1 ms, at each prompt of the user.
    assert len(own) <= 21
    assert len(imported) <= 60


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


@pytest.mark.parametrize("client", CLIENTS)
def test_the_audit_names_the_client_whose_hook_called(allowed: Machine, client: str) -> None:
    allowed.say("papa")

    allowed.hook("session-start", "--client", client)

    text = "".join(file.read_text() for file in (allowed.home / "audit").rglob("*.jsonl"))
    record = next(json.loads(line) for line in reversed(text.splitlines()) if "hook:" in line)
    assert hook_client(record["request"]) == client_name(client) != client or client == "opencode"


def test_clients_without_transcripts_pass_their_messages(allowed: Machine) -> None:
    allowed.transcript.write_text("hotel india juliet")
    message = {"id": "msg_1", "role": "user", "text": "hotel", "at": now()}
    allowed.hook("stop", "--client", "opencode", messages=[message, {"role": "tool"}, 7])
    allowed.hook(
        "user-prompt",
        "--client",
        "cursor",
        session_id="",
        conversation_id="c1",
        generation_id="g1",
        prompt="india",
        workspace_roots=["/home/ann/car"],
        cwd="",
    )
    allowed.hook(
        "stop", "--client", "cursor", conversation_id="c1", generation_id="g1", text="juliet"
    )

    assert texts(allowed) == ["hotel", "india", "juliet"]
    assert [entry.get("project") for entry in allowed.history()[-2:]] == [
        "/home/ann/car",
        "/home/ann/boat",
    ]


@pytest.mark.parametrize(
    ("client", "name", "content"),
    [
        ("claude-code", "5f1c.jsonl", transcripts.claude_code()),
        ("codex", "rollout-1.jsonl", transcripts.codex()),
        ("gemini-cli", "session-1.jsonl", transcripts.gemini_lines()),
    ],
    ids=["claude-code", "codex", "gemini-cli"],
)
def test_what_hooks_captured_is_not_imported_again(
    allowed: Machine, tmp_path: Path, client: str, name: str, content: bytes
) -> None:
    settings = read_settings(str(allowed.home))
    early = dict.fromkeys(settings.consented, "2020-01-01T00:00:00.000Z")
    write_settings(str(allowed.home), replace(settings, consented=early))
    file = tmp_path / name
    file.write_bytes(content)
    allowed.hook("stop", "--client", client, transcript_path=str(file), session_id=f"h-{client}")
    hooked = len(allowed.history())

    done = json.loads(allowed.nacre("import", str(file), "--json"))["imports"][0]

    assert allowed.log() == ""
    assert (done["new"], done["format"]) == (0, client.removesuffix("-cli"))
    assert done["repeated"] >= 2
    assert len(allowed.history()) == hooked


def test_what_hooks_of_cursor_captured_is_not_imported_again(
    allowed: Machine, tmp_path: Path
) -> None:
    file = tmp_path / "state.vscdb"
    transcripts.write_cursor(file)
    turn = {"session_id": "", "conversation_id": "c-new", "generation_id": "g1"}
    before = len(allowed.history())
    for text in ("Sorting now.", "Sorted."):  # two answers in one generation
        allowed.hook("stop", "--client", "cursor", **turn, text=text)
    allowed.hook("user-prompt", "--client", "cursor", **turn, prompt=" Sort by  name\n")
    assert len(allowed.history()) == before + 3

    first = json.loads(allowed.nacre("import", str(file), "--json"))["imports"][0]
    again = json.loads(allowed.nacre("import", str(file), "--json"))["imports"][0]

    assert allowed.log() == ""
    assert (first["new"], first["repeated"]) == (4, 2)
    assert (again["new"], again["repeated"]) == (0, 6)
    said = [entry["content"] for entry in allowed.history() if entry.get("session") == "c-new"]
    assert sorted(said) == ["Sort by  name", "Sorted.", "Sorting now."]


def test_a_long_transcript_is_finished_in_the_background(allowed: Machine) -> None:
    for number in range(600):
        allowed.transcript.open("a").close()
        with allowed.transcript.open("a") as file:
            line = {
                "type": "user",
                "message": {"role": "user", "content": f"kilo {number} " + "x " * 2000},
                "uuid": f"kilo-{number}",
                "timestamp": now(),
            }
            file.write(json.dumps(line) + "\n")

    in_time(allowed, lambda: allowed.hook("stop"))

    end = time.monotonic() + _SECONDS
    place = allowed.home / "capture" / "claude-code-s1"
    while not place.exists() or int(place.read_text() or 0) < allowed.transcript.stat().st_size:
        assert allowed.log() == ""
        assert time.monotonic() < end
        time.sleep(0.05)
    count = sum(entry["content"].startswith("kilo ") for entry in allowed.history())
    assert count == 600


# Whatever happens, the client notices nothing


def test_half_an_emoji_and_impossible_times_hold_nothing_up(allowed: Machine) -> None:
    allowed.say("half \ud83d of it", uuid="half-\ud83d")
    allowed.say("before all time", timestamp="0001-01-01T00:00:00+14:00")
    allowed.say("after all time", timestamp="9999-12-31T23:59:59-14:00")
    allowed.say("My boat Juno lies in Kiel")

    allowed.hook("stop", cwd="/home/ann/\udcff", session_id="s-\ud83d")
    allowed.hook("user-prompt", prompt="Where is Juno \ud83d?")

    session = [each for each in allowed.history() if each.get("session") == "s-?"]
    assert [each["content"] for each in session] == ["half ? of it", "My boat Juno lies in Kiel"]
    assert allowed.log() == ""


def test_texts_reach_a_client_whose_locale_cannot_write_them(
    allowed: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = read_settings(str(allowed.home)).token
    scene = {"action": "Ann sails to Ωmega 🚤", "actors": ["Ann"], "when": ["2026-07-02"]}
    allowed.post(token, call("update_notes", {"scenes": [scene]}))
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")

    answer = allowed.hook("session-start")

    assert "Ωmega 🚤" in answer["hookSpecificOutput"]["additionalContext"]


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"[]", b'"x"', b"\xff\xfe", b"{}", b'{"session_id": 7}', b"[" * 100_000],
)
@pytest.mark.parametrize("event", ["session-start", "stop"])
def test_a_malformed_input_ends_with_a_line_in_the_log(
    allowed: Machine, text: bytes, event: str
) -> None:
    assert run_hook(text, event) == {}
    assert len(allowed.log().splitlines()) == 1


def test_an_unknown_event_or_client_is_harmless(allowed: Machine) -> None:
    assert run_hook(b"{}", "another-event") == {}
    assert allowed.hook("stop", "--client", "another") == {}
    assert len(allowed.log().splitlines()) == 2


@pytest.mark.security
def test_a_bad_token_a_closed_port_and_a_silent_server_only_reach_the_log(
    allowed: Machine,
) -> None:
    settings = read_settings(str(allowed.home))
    allowed.say("lima")

    write_settings(str(allowed.home), replace(settings, token="brt_wrong"))
    assert allowed.hook("user-prompt", prompt="hi there") == {}
    assert allowed.hook("stop") == {}
    serving_folder = allowed.home / "serving"
    (file,) = (file for file in serving_folder.iterdir() if not file.suffix)
    url = file.read_text()
    try:
        with closing(socket.create_server(("127.0.0.1", 0))) as silent:
            file.write_text(f"http://127.0.0.1:{silent.getsockname()[1]}/mcp")
            started = time.monotonic()
            assert allowed.hook("user-prompt", prompt="hi there") == {}
            assert time.monotonic() - started < 30
        assert allowed.hook("stop") == {}
        file.write_text("http://example.com/mcp")
        assert "--url" in allowed.hook("session-start")["systemMessage"]
        assert allowed.hook("stop") == {}
    finally:
        file.write_text(url)

    lines = allowed.log().splitlines()
    assert [line.split(": ", 1)[1].split(" (")[0] for line in lines] == [
        "the server answered with 401: the token is not valid; run 'nacre capture allow' again",
        "the server answered with 401: the token is not valid; run 'nacre capture allow' again",
        "the server did not answer in time",
        "the server cannot be reached",
    ]
    assert settings.token not in allowed.log()
    assert "lima" not in allowed.log()
    # The server is back, and what was said meanwhile arrives.
    write_settings(str(allowed.home), settings)
    allowed.hook("stop")
    assert texts(allowed) == ["lima"]


def test_a_client_that_never_closes_its_pipe_does_not_hang(allowed: Machine) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "nacre.cli", "hook", "stop"],
        env={**os.environ, "PYTHONPATH": str(_PACKAGE)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.wait(timeout=60) == 0
    process.communicate()
    assert "took too long" in allowed.log()


@pytest.mark.parametrize("text", ["{broken", "[]", "{}"])
def test_settings_that_cannot_be_read_allow_nothing(allowed: Machine, text: str) -> None:
    (allowed.home / "capture.json").write_text(text)
    allowed.say("mike")
    assert allowed.hook("stop") == {}
    assert "failed" in allowed.log()
    code, _, err = finish(start("capture", "status"))
    assert code != 0
    assert "cannot be read" in err


def test_many_hooks_at_once_capture_each_message_once(allowed: Machine) -> None:
    allowed.say("november one")
    allowed.say("november two")
    threads = [threading.Thread(target=allowed.hook, args=("stop",)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts(allowed) == ["november one", "november two"]


def test_the_token_and_the_settings_are_private_and_deny_revokes_them(allowed: Machine) -> None:
    file = allowed.home / "capture.json"
    assert file.stat().st_mode & 0o077 == 0
    settings = read_settings(str(allowed.home))
    allowed.nacre("capture", "allow")  # again: the first token ends
    assert allowed.post(settings.token, call("get_context", {}))[0] == 401
    renewed = read_settings(str(allowed.home))
    assert allowed.post(renewed.token, call("get_context", {}))[0] == 200

    allowed.nacre("capture", "deny")

    assert renewed.token not in file.read_text()
    assert allowed.post(renewed.token, call("get_context", {}))[0] == 401


@pytest.mark.security
def test_another_being_or_place_ends_the_token_before(allowed: Machine) -> None:
    first = read_settings(str(allowed.home))
    path = f"/{first.being_id}"
    status = json.loads(allowed.nacre("capture", "status", "--json"))
    name = next(
        being["name"]
        for being in json.loads(allowed.nacre("being", "list", "--json"))
        if being["being_id"] == first.being_id
    )
    assert status["being"] == name
    other = f"other-{first.token_id}"
    allowed.nacre("being", "create", other)
    try:
        allowed.nacre("capture", "allow", "--being", other)
        second = read_settings(str(allowed.home))
        assert json.loads(allowed.nacre("capture", "status", "--json"))["being"] == other
        assert allowed.server.post(path, first.token, call("get_context", {}))[0] == 401
        url = "https://nacre.example.com/mcp"
        allowed.nacre("capture", "allow", "--yes", "--url", url, text="brt_token\n")
        path = f"/{second.being_id}"
        assert allowed.server.post(path, second.token, call("get_context", {}))[0] == 401
    finally:
        allowed.nacre("forget", "being", other, "--yes", "--being", other)


@pytest.mark.security
def test_a_read_only_token_captures_nothing(allowed: Machine) -> None:
    token = allowed.nacre("token", "create", "--scope", "read-only").strip()
    arguments = {"client": "codex", "session": "s", "messages": []}
    status, answer = allowed.post(token, call("capture_messages", arguments))
    assert status == 403 or "error" in answer


def test_a_hook_calls_a_server_by_the_settings_of_the_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(tmp_path)
    monkeypatch.setenv("NACRE_CA_FILE", authority.file)
    tls = authority.server("far.example", "localhost")
    with http_upstream(tls) as upstream, connect_proxy(credentials="ann:s3cret") as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        upstream.closes = True
        port = upstream.server.server_port
        for host in ("far.example", "LOCALHOST"):  # one through the proxy, and one directly
            address = address_of(f"https://{host}:{port}/mcp")
            assert call_tool(address, "token", "echo", {}, seconds=30, client="claude-code") == "hh"
        proxy.status = 403
        with pytest.raises(ServerCallError, match=r"does not connect to far.example.* \(403\)"):
            call_tool(
                address_of(f"https://far.example:{port}/mcp"),
                "t",
                "echo",
                {},
                seconds=30,
                client="claude-code",
            )
    assert proxy.asked == [f"CONNECT far.example:{port}"] * 2


def test_a_server_elsewhere_needs_a_consent_of_its_own(machine: Machine) -> None:
    url = "https://nacre.example.com/mcp"
    code, _, err = finish(start("capture", "allow", "--url", url, stdin=subprocess.PIPE), "n\n")
    assert code != 0
    assert "not this machine" in err
    assert not read_settings(str(machine.home)).is_allowed
    for wrong in ("http://nacre.example.com/mcp", machine.server.url, "nacre"):
        assert finish(start("capture", "allow", "--yes", "--url", wrong))[0] != 0

    machine.nacre("capture", "allow", "--yes", "--url", url, text="brt_token\n")

    settings = read_settings(str(machine.home))
    assert (settings.url, settings.token, set(settings.consented)) == (url, "brt_token", {url})
