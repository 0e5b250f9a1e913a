"""`nacre serve` as a process."""

import http.client
import json
import re
import shlex
import signal
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from nacre.cli.serve.listening import fences, is_loopback, url_of
from nacre.cli.serve.serve import ask_name
from nacre.cli.serve.terminal_log import terminal_log
from nacre.cli.wrap.client_config import command_to_type
from nacre.core.limits import REGISTRATIONS_A_MINUTE
from nacre.core.names import BEING_NAMES
from nacre.core.token_prefixes import SCANNER_PATTERN
from nacre.protocol.http.allowed_origins import Fences
from nacre.wiring.settings import Settings
from tests.cli.conftest import Nacre, Terminal
from tests.cli.processes import Server, finish, serving, start

PING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


def test_the_first_start_shows_a_url_and_a_token_that_work(nacre: Nacre) -> None:
    with serving() as server:
        being = nacre("being", "list", "--json").json()[0]
        path = f"/{being['being_id']}"
        without = server.post(path, None, PING)
        _, out, _ = server.stop(signal.SIGTERM)
        token = re.findall(SCANNER_PATTERN, out)[0]

    assert being["name"] == "Pearl"
    assert f"URL:   {server.url}{path}\n" in out
    assert f"Token: {token}\n" in out
    assert without[0] == 401
    with serving() as server:
        status, answer = server.post(path, token, PING)
        no_being = server.post("", token, PING)
        in_query = server.post(f"?being_id={being['being_id']}", token, PING)
        in_query_only = server.post(f"{path}?access_token={token}", None, PING)

    assert status == 200
    assert len(answer["result"]["tools"]) == 12
    assert no_being[0] == 403
    assert "/mcp/BEING_ID" in json.dumps(no_being[1])
    assert in_query[0] == 200
    assert in_query_only[0] == 401


def test_other_programs_may_ask_what_the_policy_makes_of_a_call(
    nacre: Nacre, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nacre("being", "create", "Ann")
    token = nacre("token", "create", "--scope", "read-only").out.strip()
    (tmp_path / "policy.toml").write_text('[[rule]]\naction = "allow"\ntool = "read"\n')
    monkeypatch.setenv("NACRE_POLICY", str(tmp_path / "policy.toml"))
    call = {"method": "tools/call", "params": {"name": "read"}, "server": "files"}
    with serving() as server:
        evaluate = f"{server.url.removesuffix('/mcp')}/policy/evaluate"
        server.url = evaluate
        allowed = server.post("", token, call)
        without = server.post("", None, call)

    assert (allowed[0], allowed[1]["decision"], allowed[1]["rule"]) == (200, "allow", 1)
    assert (without[0], without[1]["decision"]) == (401, "deny")


def test_a_policy_that_is_wrong_stops_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "policy.toml").write_text('[[rule]]\naction = "alow"\ntool = "read"\n')
    monkeypatch.setenv("NACRE_POLICY", str(tmp_path / "policy.toml"))

    code, out, err = finish(start("serve", "--port", "0"))

    assert (code, out) == (2, "")
    assert "policy.toml: rule 1: unknown action 'alow'" in err


def test_later_starts_show_the_url_and_no_token(nacre: Nacre) -> None:
    being_id = nacre("being", "create", "Ann").out.strip()

    with serving() as server:
        _, out, err = server.stop(signal.SIGTERM)

    shown, _, link = out.partition("\nSign in once: ")
    assert shown == f"Ann: {server.url}/{being_id}\n"
    assert link.startswith(f"{server.url.removesuffix('/mcp')}/sign-in#bos_")
    assert re.search(
        r"^To create a token, run: .*token create --being \w+ --scope full$", err, re.MULTILINE
    )
    assert nacre("token", "list", "--json").json() == []


@pytest.mark.parametrize("count", [2, 20])
def test_a_start_with_many_beings_shows_at_most_fifteen_lines(nacre: Nacre, count: int) -> None:
    for number in range(count):
        nacre("being", "create", f"Being {number}")

    with serving() as server:
        _, out, err = server.stop(signal.SIGTERM)

    lines = [*out.splitlines(), *err.splitlines()]
    assert len(lines) <= 15
    assert len(re.findall(r"^Being \d+: http", out, re.MULTILINE)) == min(count, 8)
    assert ("… and 12 more, see: " in out) == (count == 20)
    assert "token create --being NAME --scope full" in err


def test_the_advice_names_the_place_that_was_served(nacre: Nacre, tmp_path: Path) -> None:
    elsewhere = ["--data-dir", str(tmp_path / "else where"), "--owner", "me"]

    with serving(*elsewhere) as server:
        _, out, _ = server.stop(signal.SIGTERM)

    advice = next(line for line in out.splitlines() if "For another one, run: " in line)
    command = shlex.split(advice.partition("For another one, run: ")[2])
    made = nacre(*command[command.index("token") :], "--json").json()
    assert made["being"] == "Pearl"


def test_the_first_screen_has_at_most_fifteen_lines_and_the_next_step(nacre: Nacre) -> None:
    process = start("serve", "--port", "0")
    assert process.stdout is not None
    assert process.stderr is not None
    shown = [process.stderr.readline(), process.stdout.readline()]
    while "For another one, run: " not in shown[-1]:
        shown.append(process.stdout.readline())
    address = re.search(r"127\.0\.0\.1:\d+", shown[3])
    assert address is not None
    connection = http.client.HTTPConnection(address[0], timeout=60)
    connection.request("GET", "/mcp")  # it is answered once the server handles signals
    connection.getresponse().read()
    connection.close()
    process.send_signal(signal.SIGTERM)
    code, out, err = finish(process)

    assert (code, out, err) == (0, "", "")
    assert len(shown) <= 15
    assert shown[0].startswith("Setting up ")
    assert shown[1] == "Your Being 'Pearl' is ready.\n"
    text = "".join(shown)
    link = re.search(r"^Sign in once: http://127\.0\.0\.1:\d+/sign-in#bos_\w+$", text, re.MULTILINE)
    assert link is not None
    following = re.search(r"^Next, connect your clients: (.* connect --all)$", text, re.MULTILINE)
    assert following is not None
    assert shlex.split(following[1])[-2:] == ["connect", "--all"]


@pytest.mark.parametrize(("place", "is_short"), [("bin", True), ("uv/archive-v0/ab12/bin", False)])
def test_advice_names_a_command_that_a_terminal_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, is_short: bool
) -> None:
    script = tmp_path / place / "nacre"
    script.parent.mkdir(parents=True)
    script.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(script.parent))
    monkeypatch.setattr("sys.argv", [str(script)])

    advice = command_to_type("connect", "--all")

    assert advice == ("nacre connect --all" if is_short else f"{script} connect --all")


def test_a_quiet_server_shows_nothing_and_creates_no_credentials(nacre: Nacre) -> None:
    with serving("--quiet") as server:
        _, out, err = server.stop(signal.SIGTERM)

    assert out == ""
    assert {json.loads(line)["event"] for line in err.splitlines()} == {"serving", "stopped"}
    assert [being["name"] for being in nacre("being", "list", "--json").json()] == ["Pearl"]
    assert nacre("token", "list", "--json").json() == []


def test_without_a_log_only_warnings_and_errors_are_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = terminal_log()

    log.write("info", "serving", url="http://127.0.0.1:1/mcp")
    log.write("warning", "policy", said="the file is wrong", times=None)
    log.write("warning", "mcp", status=401)
    log.count("error", "mcp", {"Faults": 1}, status=500)

    assert capsys.readouterr().err == (
        "warning: policy said=the file is wrong\nerror: mcp status=500\n"
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_told_to_stop_ends_well(number: int) -> None:
    with serving() as server:
        code, _, err = server.stop(number)

    assert code == 0
    events = [json.loads(line)["event"] for line in err.splitlines() if line.startswith("{")]
    assert events == ["serving", "stopped"]


def test_no_token_is_written_to_the_log(nacre: Nacre) -> None:
    being_id = nacre("being", "create", "Ann").out.strip()
    token = nacre("token", "create", "--scope", "full").out.strip()
    wrong = token[:-1] + ("0" if token[-1] != "0" else "1")

    with serving() as server:
        server.post(f"/{being_id}", token, PING)
        server.post(f"/{being_id}", wrong, PING)
        server.post(f"/{being_id}?token={token}", None, PING)
        _, out, err = server.stop(signal.SIGTERM)

    lines = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    assert [line["status"] for line in lines if line["event"] == "mcp"] == [200, 401, 401]
    [link] = re.findall(SCANNER_PATTERN, out)  # to sign in with, for who started it
    assert link.startswith("bos_")
    assert not re.findall(SCANNER_PATTERN, err)
    assert wrong not in err


def test_what_is_no_beings_id_is_not_found_and_not_repeated(nacre: Nacre) -> None:
    being_id = nacre("being", "create", "Ann").out.strip()
    token = nacre("token", "create", "--scope", "full").out.strip()
    two_ids = f"/{being_id}?being_id={being_id}&being_id={being_id}"
    paths = ["/Abc", f"/{being_id}x", f"/{being_id}?being_id=%00", two_ids, "/%0d%0aX"]

    with serving() as server:
        answers = [server.post(path, token, PING) for path in paths]

    assert [status for status, _ in answers] == [404] * len(paths)
    words = set(re.findall(r"[\w-]+", json.dumps([answer for _, answer in answers])))
    assert not {"Abc", being_id, "X"} & words


@pytest.mark.slow
def test_two_servers_on_one_folder_share_it(nacre: Nacre) -> None:
    being_id = nacre("being", "create", "Ann").out.strip()
    with serving() as first, serving() as second:
        token = nacre("token", "create", "--scope", "full", "--json").json()
        opened = [
            server.post(f"/{being_id}", token["token"], PING)[0] for server in (first, second)
        ]
        nacre("token", "revoke", token["token_id"])
        closed = [
            server.post(f"/{being_id}", token["token"], PING)[0] for server in (first, second)
        ]
        codes = [server.stop(signal.SIGTERM)[0] for server in (first, second)]

    assert first.url != second.url
    assert (opened, closed, codes) == ([200, 200], [401, 401], [0, 0])


@pytest.mark.slow
def test_of_two_first_starts_at_once_one_makes_the_being(nacre: Nacre) -> None:
    processes = [start("serve", "--port", "0", "--log") for _ in range(2)]
    shown = [Server(process).stop(signal.SIGTERM)[1] for process in processes]

    assert len(nacre("being", "list", "--json").json()) == 1
    assert sorted(len(re.findall(r"^Token: ", out, re.MULTILINE)) for out in shown) == [0, 1]


def test_a_port_in_use_is_told_and_nothing_is_made(nacre: Nacre) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        code, out, err = finish(start("serve", "--port", str(port)))

    assert (code, out) == (4, "")
    assert err.partition("\n")[2] == (
        f"error: port {port} of 127.0.0.1 is in use, perhaps by another nacre\n"
        "hint: stop that server, or choose another port with --port\n"
    )
    assert nacre("being", "list", "--json").json() == []


def test_a_host_beyond_this_machine_is_warned_about(nacre: Nacre) -> None:
    refused = nacre("serve", "--host", "192.0.2.1")

    assert refused.code == 2
    assert "warning: 192.0.2.1 can be reached from other machines." in refused.err
    assert "error: --host: '192.0.2.1' is not an address of this machine" in refused.err


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("localhost", True),
        ("LOCALHOST", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.0.2.2", False),
        ("nacre.example", False),
        ("", False),
    ],
)
def test_only_loopback_addresses_stay_on_this_machine(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


LOCAL = Settings(data_folder="")
PUBLIC = Settings(
    data_folder="",
    public_url="https://nacre.example:8443",
    allowed_origins=("https://app.example",),
)
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})


def test_a_loopback_server_is_called_by_loopback_names_only() -> None:
    found = fences("127.0.0.1", LOCAL)

    assert found == Fences(hosts=LOOPBACK, origins=LOOPBACK)


def test_a_public_address_and_allowed_origins_are_let_through() -> None:
    found = fences("0.0.0.0", PUBLIC)

    assert found.hosts is not None
    assert found.hosts >= LOOPBACK | {"nacre.example"}
    assert found.cors == {"https://app.example"}


def test_a_public_address_may_be_a_number() -> None:
    settings = Settings.from_environment({"HOME": "/", "NACRE_PUBLIC_URL": "https://[2001:DB8::1]"})

    assert fences("127.0.0.1", settings).hosts == LOOPBACK | {"[2001:db8::1]"}


def test_a_server_on_every_address_leaves_the_choice_of_callers_to_tokens() -> None:
    assert fences("0.0.0.0", LOCAL).hosts is None
    assert fences("::", LOCAL).hosts is None


def test_the_url_to_give_to_clients_can_be_called() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]

        assert url_of("0.0.0.0", listener, LOCAL) == f"http://127.0.0.1:{port}/mcp"
        assert url_of("localhost", listener, LOCAL) == f"http://localhost:{port}/mcp"
        assert url_of("::1", listener, LOCAL) == f"http://[::1]:{port}/mcp"
        assert url_of("127.0.0.1", listener, PUBLIC) == "https://nacre.example:8443/mcp"


@pytest.mark.slow
@pytest.mark.parametrize(("trusted", "by_another"), [("127.0.0.1", 201), ("", 429)])
def test_only_a_trusted_proxy_says_who_attempts_are_counted_by(
    nacre: Nacre, monkeypatch: pytest.MonkeyPatch, trusted: str, by_another: int
) -> None:
    monkeypatch.setenv("NACRE_TRUSTED_PROXIES", trusted)
    client = {"redirect_uris": ["http://127.0.0.1:7777/back"], "client_name": "c"}
    with serving() as server:
        address = urlsplit(server.url).netloc

        def register(caller: str) -> int:
            connection = http.client.HTTPConnection(address, timeout=60)
            headers = {"Content-Type": "application/json", "X-Forwarded-For": caller}
            try:
                connection.request("POST", "/register", json.dumps(client), headers)
                return connection.getresponse().status
            finally:
                connection.close()

        many = [register("192.0.2.1") for _ in range(REGISTRATIONS_A_MINUTE + 1)]
        another = register("192.0.2.2")

    assert (many[0], many[-1], another) == (201, 429, by_another)


@pytest.mark.parametrize(
    ("typed", "name"), [("Iris\n", "Iris"), ("\n", "Pearl"), ("  \n\x07\nWren\n", "Wren")]
)
def test_the_first_start_asks_for_a_name_at_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str, name: str
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)

    assert ask_name() == name
    assert "You are NAME" in capsys.readouterr().err


def test_no_proposed_name_is_me() -> None:
    assert "me" not in {each.lower() for each in BEING_NAMES}
    assert len(set(BEING_NAMES)) == len(BEING_NAMES) >= 5
