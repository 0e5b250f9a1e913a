"""`nacre mcp-server` as a process."""

import gc
import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from nacre import __version__
from nacre.cli.main import main
from nacre.cli.serve.mcp_server import mcp_server
from nacre.cli.serve.stdio_command import HELP, run
from tests.cli.conftest import Nacre
from tests.cli.processes import finish, start
from tests.scaffolding.handshake import handshake
from tests.scaffolding.model_server import model_server, saying, slow

OPENING: list[dict[str, Any]] = [
    handshake("2025-06-18"),
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
]
CALL: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 3,
    "method": "tools/call",
    "params": {"name": "get_current_time", "arguments": {}},
}


def talk(*arguments: str, messages: list[dict[str, Any]]) -> tuple[int, list[Any], str]:
    process = start(*arguments, stdin=subprocess.PIPE)
    text = "".join(json.dumps(message) + "\n" for message in messages)
    code, out, err = finish(process, text)
    return code, [json.loads(line) for line in out.splitlines()], err


@pytest.mark.requirement("000.cli.mcp-server")
@pytest.mark.requirement("000.stdio.ends-with-client")
def test_a_client_is_served_until_its_input_ends(nacre: Nacre) -> None:
    code, answers, err = talk("mcp-server", messages=[*OPENING, CALL])

    assert (code, err) == (0, "")
    answers.sort(key=lambda answer: answer["id"])  # they may come in any order
    assert [answer["id"] for answer in answers] == [1, 2, 3]
    assert answers[0]["result"]["serverInfo"]["version"] == __version__
    assert len(answers[1]["result"]["tools"]) == 12
    assert answers[2]["result"]["structuredContent"]["timezone"] == "UTC"
    assert [being["name"] for being in nacre("being", "list", "--json").json()] == ["Pearl"]


@pytest.mark.requirement("000.cli.mcp-server.verbose")
@pytest.mark.parametrize("flag", ["-v", "--verbose"])
def test_verbose_writes_what_happens_to_standard_error(flag: str) -> None:
    _, answers, err = talk("mcp-server", flag, messages=[*OPENING, CALL])

    assert len(answers) == 3
    methods = [json.loads(line).get("method") for line in err.splitlines()]
    assert "tools/call" in methods


@pytest.mark.requirement("000.cli.mcp-server.verbose")
def test_verbose_tells_the_shape_of_every_request_and_answer_and_no_content(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with model_server() as model:
        model.reply = saying("the answer in private")
        monkeypatch.setenv("NACRE_LLM_BASE_URL", model.url)
        monkeypatch.setenv("NACRE_LLM_API_KEY", "sk-private")
        arguments = {"message": "a private question", "sessionKey": "private-key"}
        _, answers, err = talk("mcp-server", "-v", messages=[*OPENING, ordering(arguments)])

    assert answers[-1]["result"]["content"][0]["text"] == "the answer in private"
    lines = [json.loads(line) for line in err.splitlines()]
    told = {line["event"]: line for line in lines if line.get("id") == 3}
    assert told["request"]["arguments"] == "message: text of 18, sessionKey: text of 11"
    assert told["request"]["name"] == "order_being"
    assert told["answer"]["content"] == "text of 21"
    assert "private" not in err


def ordering(arguments: dict[str, Any], name: str = "order_being") -> dict[str, Any]:
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params}


def test_verbose_says_why_an_order_failed() -> None:
    _, _, err = talk("mcp-server", "-v", messages=[*OPENING, ordering({"message": "x"})])

    assert "no language model is configured" in err


@pytest.mark.requirement("000.order.single-tool")
def test_only_the_order_tool_is_there_when_that_is_asked_for(nacre: Nacre) -> None:
    lists = [
        {"jsonrpc": "2.0", "id": n, "method": method}
        for n, method in enumerate(("resources/list", "prompts/list"), 4)
    ]
    unknown = {**CALL, "id": 6}
    messages = [*OPENING, ordering({"message": ""}, "order_clawdbot"), *lists, unknown]
    options = ("--only-order", "--name", "Clawdbot")
    code, answers, _ = talk("mcp-server", *options, messages=messages)

    found = {answer["id"]: answer for answer in answers}
    assert code == 0
    assert [tool["name"] for tool in found[2]["result"]["tools"]] == ["order_clawdbot"]
    assert "'message' is empty" in found[3]["result"]["content"][0]["text"]
    assert found[4]["result"]["resources"] == found[5]["result"]["prompts"] == []
    assert "Unknown tool: get_current_time" in found[6]["error"]["message"]
    # The name is this process's; the Being keeps its own.
    assert nacre("being", "order-name").out == "order_being\n"


@pytest.mark.slow
def test_a_client_that_cancels_stops_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    with model_server() as model:
        model.reply = slow(threading.Event())
        monkeypatch.setenv("NACRE_LLM_BASE_URL", model.url)
        monkeypatch.setenv("NACRE_LLM_API_KEY", "sk-test")
        process = start("mcp-server", stdin=subprocess.PIPE)
        assert process.stdin is not None
        assert process.stdout is not None
        for message in [*OPENING, ordering({"message": "x"})]:
            process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
        for _ in range(2):
            process.stdout.readline()
        while not model.questions:
            time.sleep(0.01)
        cancelled = {"requestId": 3, "reason": "enough"}
        ended = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}
        began = time.monotonic()
        code, out, err = finish(process, json.dumps(ended) + "\n")

    assert (code, out, err) == (0, "", "")
    assert time.monotonic() - began < 30  # which calls in flight are given


@pytest.mark.requirement("000.client.stdio-config")
def test_options_choose_being_and_folder(nacre: Nacre, tmp_path: Path) -> None:
    place = ["--data-dir", str(tmp_path / "elsewhere")]
    for name in ("Ann", "Bob"):
        nacre("being", "create", name, *place)

    unclear = talk("mcp-server", *place, messages=OPENING)
    chosen = talk("mcp-server", *place, "--being=bob", messages=OPENING)
    before = talk(*place, "--being", "Ann", "mcp-server", "-v", messages=OPENING)

    assert (unclear[0], unclear[1]) == (2, [])
    assert "choose one with --being" in unclear[2]
    assert (chosen[0], len(chosen[1])) == (0, 2)
    assert (before[0], len(before[1])) == (0, 2)


@pytest.mark.requirement("000.cli.mcp-server.version")
def test_version_is_printed_without_a_store(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"nacre {__version__}\n"
    assert not folder.exists()


@pytest.mark.requirement("000.cli.mcp-server.help")
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_is_the_same_by_either_way(
    flag: str, nacre: Nacre, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run([flag]) == 0
    assert capfd.readouterr().out == HELP
    assert nacre("mcp-server", flag).out == HELP


def test_the_help_names_every_option_of_the_seed() -> None:
    for option in ("-v, --verbose", "--version", "-h, --help"):
        assert option in HELP
    assert mcp_server.get_short_help_str(200).rstrip(".") in HELP


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--loud"], 2, "no such option: --loud"),
        (["extra"], 2, "no such option: extra"),
        (["--being"], 2, "--being needs a value"),
        (["--name", "a/b"], 2, "an order's name has"),
        (["--being", "Nobody"], 3, "me has no Being 'Nobody'"),
        (["--owner", "nobody"], 3, "there is no owner 'nobody'"),
    ],
)
def test_a_wrong_option_is_told_on_standard_error(
    arguments: list[str], code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == code
    written = capsys.readouterr()
    assert written.out == ""
    assert told in written.err


def test_a_server_that_is_told_to_stop_ends_well() -> None:
    process = start("mcp-server", stdin=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(OPENING[0]) + "\n")
    process.stdin.flush()
    process.stdout.readline()

    process.send_signal(signal.SIGTERM)

    assert process.wait(60) == 0
    process.communicate()


@pytest.mark.parametrize("stream", ["stdin", "stdout"])
def test_a_closed_stream_is_told(
    stream: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, stream, None)

    assert run([]) == 2
    assert "closed" in capsys.readouterr().err
    assert gc.isenabled()  # it was off while modules were imported


def _loaded_by(code: str) -> set[str]:
    package = Path(__file__).parents[3] / "shared"
    run_it = f"import sys; sys.path.insert(0, {str(package)!r}); {code}"
    done = subprocess.run(
        [sys.executable, "-c", run_it],
        input="".join(json.dumps(message) + "\n" for message in OPENING),
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.splitlines()[-1].split())


_SHOW = "print(*sys.modules, file=sys.__stderr__)"
HEAVY = {
    *("asyncio", "boto3", "click", "cryptography", "dataclasses", "inspect", "mcp", "pydantic"),
    *("ssl", "tomllib", "uvicorn"),
}


def test_the_first_answers_need_nothing_heavy() -> None:
    code = f"from nacre.cli.serve.stdio_command import run; run([]); {_SHOW}"
    _loaded_by(code)  # makes the Being, so that the second start is like every other one

    loaded = _loaded_by(code)
    own = {name for name in loaded if name.partition(".")[0] == "nacre"}

    assert not HEAVY & loaded
    # Each costs about 0.15 ms: more of them make every client wait longer for this server.
    assert len(own) <= 129
    assert len(loaded) <= 235


@pytest.mark.requirement("000.cli.version")
def test_both_ways_tell_the_same_version(nacre: Nacre, capfd: pytest.CaptureFixture[str]) -> None:
    main(["--version"])

    assert capfd.readouterr().out == f"nacre {__version__}\n"
    assert nacre("--version").out == f"nacre {__version__}\n"


def test_the_version_needs_nothing_at_all() -> None:
    loaded = _loaded_by(f"from nacre.cli.main import main; main(['--version']); {_SHOW}")

    assert {name for name in loaded if name.startswith("nacre")} == {
        "nacre",
        "nacre.cli",
        "nacre.cli.main",
    }


def test_help_imports_no_command() -> None:
    code = f"from nacre.cli.commands import run_commands; run_commands(['--help']); {_SHOW}"

    assert not {"uvicorn", "boto3", "sqlite3", "nacre.cli.serve.serve"} & _loaded_by(code)


def test_ten_notes_over_stdio_make_a_patrol_happen(nacre: Nacre) -> None:
    """No other process serves this folder, and nobody asks for the patrol."""
    noted = {
        "jsonrpc": "2.0",
        "id": 4,
        "method": "tools/call",
        "params": {
            "name": "update_notes",
            "arguments": {
                "scenes": [
                    {"action": f"Ann met friend {n}", "actors": ["Ann"], "when": ["2026-07-01"]}
                    for n in range(10)
                ]
            },
        },
    }
    process = start("mcp-server", stdin=subprocess.PIPE)
    assert process.stdin is not None
    for message in (*OPENING, noted):
        process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()
    deadline = time.monotonic() + 60
    runs: list[dict[str, Any]] = []
    while not runs and time.monotonic() < deadline:
        time.sleep(0.05)
        if nacre("being", "list", "--json").json():
            found = nacre("patrol", "history", "--json").json()
            runs = [run for run in found if run["state"] == "done"]
    code, _, err = finish(process, "")

    assert (code, err) == (0, "")
    [run] = runs
    assert (run["trigger"], run["counts"]["scenes_taken"]) == ("auto", 10)
