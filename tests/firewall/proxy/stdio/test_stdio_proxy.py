"""The proxy as a process, before servers of good and of bad manners."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from nacre.core.limits import MAX_WIRE_BYTES
from tests.firewall.proxy.conftest import Start, ended, is_running
from tests.firewall.proxy.programs import NACRE, ROOT, environment

DENY = '[[rule]]\naction = "deny"\ntool = "**"\ndescription = "Not today"\n'


def result(id_: Any, value: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "result": value}


# What goes through.


@pytest.mark.requirement("004.proxy.stdio")
def test_allowed_bytes_arrive_as_they_were_sent(start: Start) -> None:
    proxy = start("mirror")
    line = '  {"params": {"name":"work","arguments" : {"n":1.0e2, "t":"\\u00e9\u00e9"}},  '
    line += '"id": "a\\u0062","method":"tools\\/call","jsonrpc":"2.0"}\t\n'

    proxy.write(line.encode())

    heard = proxy.message()["result"]["heard"]
    assert heard == line.rstrip("\n")


def test_a_denied_call_does_not_arrive(start: Start) -> None:
    proxy = start("echo", policy=DENY)

    proxy.call(1, path="/etc/passwd")
    proxy.send(2)
    denied, answered = proxy.message(), proxy.message()

    assert denied["id"] == 1
    assert denied["result"]["isError"] is True
    assert denied["result"]["content"] == [{"type": "text", "text": "Not today"}]
    assert answered == result(2, {"echo": {}})


def test_every_call_is_on_record(start: Start, tmp_path: Path) -> None:
    proxy = start("echo")
    proxy.call(1, path="/secret/place")
    proxy.rest()
    proxy.code()

    (lines,) = (tmp_path / "data" / "audit").glob("*.jsonl")
    (record,) = (json.loads(line) for line in lines.read_text().splitlines())

    assert (record["outcome"], record["server"], record["tool"]) == ("allow", "odd", "work")
    assert "/secret/place" not in lines.read_text()


def test_answers_in_pieces_are_put_together(start: Start) -> None:
    proxy = start("pieces")

    for id_ in (1, 2, 3, 4):
        proxy.send(id_)

    assert proxy.rest() == [result(id_, {"n": id_}) for id_ in (1, 2, 3, 4)]
    assert proxy.code() == 0


def test_requests_in_pieces_are_put_together(start: Start) -> None:
    proxy = start("echo")
    raw = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}'

    for place in range(0, len(raw), 7):
        proxy.write(raw[place : place + 7])
    proxy.write(b"\r\n\n  \n" + raw.replace(b":1,", b":2,"))  # the last without its end

    assert [each["id"] for each in proxy.rest()] == [1, 2]


def test_what_is_no_message_does_not_reach_the_client(start: Start) -> None:
    proxy = start("noise")

    assert proxy.asked(1) == result(1, {})
    assert proxy.rest() == []


@pytest.mark.parametrize("last", [False, True])
def test_a_large_answer_arrives_and_one_that_is_too_large_is_an_error(
    start: Start, last: bool
) -> None:
    proxy = start("large")

    proxy.call(1, size=MAX_WIRE_BYTES // 4, last=last)
    proxy.call(2, size=MAX_WIRE_BYTES * 2, last=last)
    proxy.call(3, size=6, last=last)
    # What is large is screened meanwhile, and so may come later.
    messages = {each["id"]: each for each in (proxy.message(), proxy.message(), proxy.message())}
    large, refused, small = messages[1], messages[2], messages[3]

    assert len(large["result"]["content"][0]["text"]) > MAX_WIRE_BYTES // 8
    assert refused["id"] == 2
    assert "larger than 10485760 bytes" in refused["error"]["message"]
    assert small["id"] == 3


def test_a_request_that_is_too_large_is_refused_and_the_next_one_is_not(start: Start) -> None:
    proxy = start("echo")

    proxy.call("big", text="x" * (MAX_WIRE_BYTES + 1))
    proxy.send(2)
    refused = proxy.message()

    assert (refused["id"], refused["error"]["code"]) == ("big", -32600)
    assert proxy.message() == result(2, {"echo": {}})


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system tells no times")
def test_a_proxy_sleeps_while_nothing_comes(start: Start) -> None:
    proxy = start("echo")
    for id_ in range(200):  # fast enough for it to wait awake
        assert proxy.asked(id_) == result(id_, {"echo": {}})

    before = processor_seconds(proxy.process.pid)
    time.sleep(0.3)

    assert processor_seconds(proxy.process.pid) - before <= 0.05


def processor_seconds(process: int) -> float:
    times = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


def test_standard_error_goes_past_the_proxy_however_much_it_is(start: Start) -> None:
    proxy = start("flood", stderr=subprocess.PIPE)
    proxy.send(1)

    assert proxy.process.stderr is not None
    heard = proxy.process.stderr.read(5 * 1_048_576)

    assert set(heard) == set(b"x\n")
    assert proxy.message() == result(1, {})


# Who does not read for a while.


def test_a_server_that_talks_before_it_listens_holds_nothing_up(start: Start) -> None:
    proxy = start("talker")
    # More than two pipes take, before the client reads anything.
    for id_ in range(200):
        proxy.send(id_, params={"text": "y" * 3000})

    said = proxy.rest()

    assert len(said) == 5200
    assert [each["id"] for each in said if "id" in each] == [*range(200)]


def test_a_server_that_asks_and_does_not_read_the_refusals_holds_nothing_up(start: Start) -> None:
    proxy = start("asker", policy=DENY)

    assert proxy.message()["params"]["data"] == 5000


# How it ends.


def test_the_exit_code_is_the_servers(start: Start) -> None:
    proxy = start("code")

    assert proxy.asked(1) == result(1, {})
    assert proxy.said() == []
    assert proxy.code() == 7


def test_what_a_server_said_before_it_ended_arrives(start: Start) -> None:
    proxy = start("burst")
    proxy.send(1)

    assert len(proxy.said()) == 2000
    assert proxy.code() == 7


def test_a_server_that_a_signal_ends_ends_the_proxy_alike(start: Start) -> None:
    proxy = start("crash")

    proxy.send(1)
    proxy.send(2)

    assert proxy.said() == [result(1, {})]  # and no half of an answer
    assert proxy.code() == -signal.SIGKILL


def test_a_server_may_speak_and_end_as_it_likes_once_its_input_has_ended(start: Start) -> None:
    proxy = start("after_end")

    assert proxy.rest() == [{"jsonrpc": "2.0", "method": "notifications/bye"}]
    assert proxy.code() == 5


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_ends_goes_to_the_server_whose_exit_code_counts(
    start: Start, number: signal.Signals
) -> None:
    proxy = start("signals")
    proxy.asked(1)

    proxy.process.send_signal(number)

    assert [each["params"]["number"] for each in proxy.said()] == [number]
    assert proxy.code() == 9


def test_other_signals_go_to_the_server_and_the_conversation_goes_on(start: Start) -> None:
    proxy = start("signals")
    proxy.asked(1)

    for number in (signal.SIGHUP, signal.SIGUSR1):
        proxy.process.send_signal(number)
        assert proxy.message()["params"]["number"] == number

    assert proxy.asked(2) == result(2, {"echo": {}})


def test_a_server_that_ignores_signals_is_killed_by_the_second_one(start: Start) -> None:
    proxy = start("stubborn")
    server = proxy.asked(1)["result"]["pid"]

    proxy.process.send_signal(signal.SIGINT)
    proxy.process.terminate()

    assert proxy.code() == -signal.SIGKILL
    assert not is_running(server)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["once", "left"])
def test_a_stubborn_server_is_given_some_seconds(start: Start, how: str) -> None:
    proxy = start("stubborn")
    server = proxy.asked(1)["result"]["pid"]

    if how == "once":
        proxy.process.terminate()
    else:
        assert proxy.process.stdin is not None
        assert proxy.process.stdout is not None
        proxy.process.stdin.close()
        proxy.process.stdout.close()

    assert proxy.code() == -signal.SIGKILL
    assert not is_running(server)


def test_nothing_is_left_of_a_server_when_the_proxy_is_killed(start: Start) -> None:
    proxy = start("family")
    child = proxy.asked(1)["result"]["pid"]

    proxy.process.kill()

    assert ended(child)


def test_nothing_is_left_of_a_server_that_left_a_child_behind(start: Start) -> None:
    proxy = start("family")
    child = proxy.asked(1)["result"]["pid"]

    assert proxy.rest() == []  # although the child holds the pipe
    assert proxy.code() == 0
    assert ended(child)


def test_a_client_that_no_longer_reads_is_gone(start: Start) -> None:
    proxy = start("echo")
    proxy.asked(1)

    assert proxy.process.stdout is not None
    proxy.process.stdout.close()

    assert proxy.code() == 0


def test_a_client_finds_its_pipe_closed_when_the_server_closes_its_own(start: Start) -> None:
    proxy = start("deaf")
    proxy.asked(1)
    assert proxy.process.stdin is not None

    def write_for_ever() -> None:
        while True:
            proxy.send(2, params={"text": "y" * 4096})

    with pytest.raises(BrokenPipeError):
        write_for_ever()


def test_a_client_sees_that_the_server_closed_its_output(start: Start) -> None:
    proxy = start("mute")
    proxy.asked(1)

    assert proxy.said() == []
    assert proxy.process.poll() is None
    assert proxy.process.stdin is not None
    proxy.process.stdin.close()
    assert proxy.code() == 4


# How it begins.


def test_the_server_is_started_as_it_would_be_without(start: Start, tmp_path: Path) -> None:
    facts = start("about", "a b", "--", "--name").asked(1)["result"]

    assert facts["arguments"] == ["a b", "--", "--name"]
    assert facts["cwd"] == str(tmp_path)
    assert facts["environment"] == environment()
    assert facts["descriptors"] == []


def run(*arguments: str, folder: Path) -> tuple[int, str, str]:
    done = subprocess.run(
        [*NACRE, "proxy", *arguments],
        cwd=folder,
        env={**environment(), "NACRE_HOME": str(folder / "data")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr


def test_a_command_that_cannot_be_started_says_so(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o700)
    plain = tmp_path / "plain"
    plain.write_text("nothing\n")
    plain.chmod(0o700)

    assert run("--", "no-such-program", folder=tmp_path)[::2] == (
        127,
        "error: no-such-program: no such program\nhint: give its whole path, or put it on PATH\n",
    )
    for command, reason in (
        (str(tmp_path), "it is a folder, or not yours to run (chmod +x)"),
        (str(script), "the program that its first line names is not here"),
        (str(plain), "give the interpreter before it"),
    ):
        code, said, told = run("--", command, folder=tmp_path)
        assert (code, said) == (126, "")
        assert told.startswith(f"error: {command}: cannot be started")
        assert told.endswith(f"hint: {reason}\n")


def test_a_wrong_policy_starts_nothing(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text('[[rule]]\naction = "alow"\ntool = "*"\n')
    marker = tmp_path / "started"

    code, said, told = run("--policy", "policy.toml", "--", "touch", str(marker), folder=tmp_path)

    assert (code, said) == (2, "")
    assert "policy.toml: rule 1: unknown action 'alow'" in told
    assert not marker.exists()


@pytest.mark.parametrize(
    "arguments", [["--name", "nacre", "--", "touch"], ["--name=Nacre", "--", "touch"]]
)
def test_no_server_takes_the_name_whose_calls_are_allowed(
    arguments: list[str], tmp_path: Path
) -> None:
    marker = tmp_path / "started"

    code, said, told = run(*arguments, str(marker), folder=tmp_path)

    assert (code, said) == (2, "")
    assert "call this server otherwise with --name" in told
    assert not marker.exists()


def test_ctrl_c_in_a_terminal_ends_both(start: Start) -> None:
    import pty

    outside, inside = pty.openpty()
    proxy = start("echo", stdin=inside, stdout=inside, stderr=inside, start_new_session=True)
    os.close(inside)
    os.write(outside, b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}\n')
    heard = b""
    while b'"result"' not in heard:
        heard += os.read(outside, 4096)

    os.killpg(proxy.process.pid, signal.SIGINT)  # what a terminal sends to who is in front

    assert proxy.code() in (0, -signal.SIGINT)
    os.close(outside)


def test_it_loads_no_sdk_no_web_framework_and_no_command_line_library(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom nacre.cli.main import main\n"
        "try:\n    main(['proxy', '--', 'true'])\nexcept SystemExit:\n    pass\n"
        "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**environment(), "NACRE_HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "shared")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(done.stderr.split())

    assert "nacre" in loaded
    assert not loaded & {"mcp", "pydantic", "fastapi", "starlette", "uvicorn", "click", "asyncio"}
    assert not loaded & {"numpy", "httpx", "h11", "cryptography", "jsonschema_rs"}


def test_a_tool_that_is_new_waits_for_the_command_that_the_refusal_names(
    start: Start, tmp_path: Path
) -> None:
    """The command is run as it was told, and the tool may be called then."""
    for name in ("work", "more"):
        proxy = start("lister", name)
        proxy.asked(1, "tools/list")
        refused = proxy.asked(2, "tools/call", {"name": name, "arguments": {}})["result"]
        proxy.rest()
    assert refused["isError"] is True
    told = refused["content"][0]["text"]

    command = told.rpartition("look at it with: ")[2].removesuffix(")")
    subprocess.run(
        f"{command} --yes",
        shell=True,
        env=environment(),
        check=True,
        capture_output=True,
    )

    proxy = start("lister", "more")
    assert proxy.asked(1, "tools/call", {"name": "more", "arguments": {}})["result"] == {}
