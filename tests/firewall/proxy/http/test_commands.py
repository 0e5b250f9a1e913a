"""The forms of `nacre proxy` for remote servers, as somebody at a terminal meets them."""

import http.client
import http.server
import json
import os
import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from nacre.cli.proxy.proxy_command import run
from tests.firewall.guarding import ALLOW, notification, request
from tests.firewall.proxy.programs import NACRE, environment
from tests.scaffolding.certificates import Authority
from tests.scaffolding.connect_proxy import connect_proxy
from tests.scaffolding.server_threads import answering

OPENING = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c"}}


class Far(http.server.BaseHTTPRequestHandler):
    """A remote server that says which headers it was sent."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "id" not in message:
            self.send_response(202)
            self.send_header("content-length", "0")
            self.end_headers()
            return
        sent = {name.lower(): value for name, value in self.headers.items()}
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"sent": sent}})
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: Any) -> None:
        return


@pytest.fixture(scope="module")
def far() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Far)
    with answering(server):
        yield f"http://127.0.0.1:{server.server_port}/mcp"


@pytest.fixture
def place(tmp_path: Path) -> list[str]:
    (tmp_path / "policy.toml").write_text(ALLOW)
    return ["--data-dir", str(tmp_path / "data"), "--policy", str(tmp_path / "policy.toml")]


def started(*arguments: str, **variables: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [*NACRE, "proxy", *arguments],
        env={**environment(), **variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@contextmanager
def listening(*arguments: str) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    process = started(*arguments, "--listen", "127.0.0.1:0")
    try:
        assert process.stdout is not None
        url = process.stdout.readline().decode().strip()
        assert url, process.stderr and process.stderr.read()
        yield url, process
    finally:
        process.kill()
        process.communicate()


def post(url: str, message: Any, **headers: str) -> Any:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port or 80, timeout=60)
    named = {"content-type": "application/json", **headers}
    connection.request("POST", parts.path, json.dumps(message), named)
    reply = connection.getresponse()
    body = reply.read()
    connection.close()
    if reply.headers.get_content_type() == "text/event-stream":  # the call was held
        body = next(line[5:] for line in body.splitlines() if line.startswith(b"data: {"))
    return json.loads(body) if body else reply.status


@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {"url": {}}}])
def test_over_http_the_command_that_a_denied_call_names_can_be_pasted(
    far: str, place: list[str], tmp_path: Path, capabilities: dict[str, Any]
) -> None:
    (tmp_path / "policy.toml").write_text(
        '[[rule]]\naction = "prompt"\ntool = "t"\n[settings]\nwait_seconds = 0\n'
    )
    call = request(1, "tools/call", {"name": "t"})
    with listening(*place, "--url", far) as (url, _):
        post(url, request(0, "initialize", {**OPENING, "capabilities": capabilities}))
        text = post(url, call)["result"]["content"][0]["text"]
        command = text.partition("with '")[2].partition("'; then")[0]
        subprocess.run(shlex.split(command), env=environment(), check=True)
        done = post(url, call)
        again = post(url, call)

    assert "sent" in done["result"]
    assert again["result"]["isError"] is True


def test_lines_in_are_answered_by_lines_and_the_end_of_input_ends_it(
    far: str, place: list[str]
) -> None:
    lines = [
        request(0, "initialize", OPENING),
        notification("notifications/initialized"),
        request("two", "tools/call", {"name": "t"}),
    ]
    process = started(
        *place, "--url", far, "--header", "X-Team=a ${TEAM}", "--bearer-env", "KEY",
        TEAM="b", KEY="s3cret-value",
    )  # fmt: skip

    out, err = process.communicate("".join(f"{json.dumps(line)}\n" for line in lines).encode(), 30)

    answers = [json.loads(line) for line in out.splitlines()]
    assert process.returncode == 0, err
    assert [answer["id"] for answer in answers] == [0, "two"]
    sent = answers[1]["result"]["sent"]
    assert sent["x-team"] == "a b"
    assert sent["authorization"].startswith("[redacted: ")  # as whatever else a server shows
    assert err == b""


def test_a_server_elsewhere_is_reached_through_the_proxy_with_a_certificate(
    place: list[str], tmp_path: Path
) -> None:
    authority, clients = Authority(tmp_path / "ca"), Authority(tmp_path / "clients", "clients")
    certificate, key = clients.issue("nacre")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Far)
    tls = authority.server("far.example", clients=clients)
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    url = f"https://far.example:{server.server_port}/mcp"
    with answering(server), connect_proxy(credentials="ann:s3cret") as proxy:
        process = started(
            *place, "--url", url, "--client-cert", certificate, "--client-key", key,
            https_proxy=proxy.url, NACRE_CA_FILE=authority.file,
        )  # fmt: skip
        out, err = process.communicate(json.dumps(request(0, "initialize", OPENING)).encode(), 60)
    assert json.loads(out)["id"] == 0, err
    assert proxy.asked == [f"CONNECT far.example:{server.server_port}"]
    assert b"s3cret" not in out + err


def test_a_certificate_that_cannot_be_used_ends_the_proxy_at_once(
    place: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    url = ["--url", "https://far.example/mcp"]
    assert run([*place, *url, "--client-cert", "/nowhere.pem"]) == 2
    assert "client_cert or client_key names a file that cannot be read" in capsys.readouterr().err
    assert run([*place, *url, "--client-key", "/nowhere.pem"]) == 2
    assert "--client-key: give --client-cert too" in capsys.readouterr().err


def test_links_are_followed_for_a_server_at_an_address_of_this_machine(
    far: str, place: list[str], tmp_path: Path
) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "link").symlink_to("secret")
    deny = f'[[rule]]\naction = "deny"\ntool = "*"\nargs."*" = "{tmp_path}/secret/**"\n'
    (tmp_path / "policy.toml").write_text(deny + ALLOW)
    lines = [request(0, "initialize", OPENING), notification("notifications/initialized")]
    for number, path in enumerate(("link/x", "other/x"), start=1):
        arguments = {"path": f"{tmp_path}/{path}"}
        lines.append(request(number, "tools/call", {"name": "t", "arguments": arguments}))
    process = started(*place, "--url", far)

    out, err = process.communicate("".join(f"{json.dumps(line)}\n" for line in lines).encode(), 30)

    answers = {answer["id"]: answer["result"] for answer in map(json.loads, out.splitlines())}
    assert answers[1]["isError"] is True, err
    assert "sent" in answers[2]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
@pytest.mark.parametrize("form", ["stdio", "listen"])
def test_it_ends_when_it_is_told_to(
    far: str, place: list[str], form: str, number: signal.Signals, code: int
) -> None:
    if form == "listen":
        with listening(*place, "--url", far) as (url, process):
            assert post(url, request(1, "ping"))["id"] == 1
            process.send_signal(number)
            assert process.wait(60) == code
        return
    process = started(*place, "--url", far)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(request(1, "ping")).encode() + b"\n")
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["id"] == 1
    process.send_signal(number)
    assert process.wait(60) == code
    process.communicate()


def test_a_client_that_stops_reading_ends_it_quietly(far: str, place: list[str]) -> None:
    process = started(*place, "--url", far)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stdin.write(json.dumps(request(1, "ping")).encode() + b"\n")
    process.stdin.flush()
    assert process.wait(60) == 0
    assert process.stderr.read() == b""
    process.stdin.close()
    process.stderr.close()


def test_what_passes_is_recorded_under_the_name_of_the_server(
    far: str, place: list[str], tmp_path: Path
) -> None:
    with listening(*place, "--url", far) as (url, process):
        post(url, request(1, "tools/call", {"name": "t", "arguments": {"a": "private"}}))
        process.terminate()
        process.wait(60)
    (log,) = (tmp_path / "data" / "audit").rglob("*.jsonl")
    records = [json.loads(line) for line in log.read_text().splitlines()]
    port = urlsplit(far).port
    assert [(record["outcome"], record["server"], record["tool"]) for record in records] == [
        ("allow", f"127.0.0.1-{port}", "t")
    ]
    assert "private" not in log.read_text()


def test_a_port_in_use_is_named(
    far: str, place: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    taken = f"127.0.0.1:{urlsplit(far).port}"
    assert run([*place, "--url", far, "--listen", taken]) == 4
    told = capsys.readouterr().err
    assert f"port {urlsplit(far).port} of 127.0.0.1 is in use" in told
    assert "with --listen" in told


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--url", "far.example"], "--url: give an http or https URL"),
        (["--url", "ftp://far.example/"], "--url: give an http or https URL"),
        (["--url", "http://[::1/mcp"], "--url: this is not a URL"),
        (["--url", "http://far.example:99999/"], "--url: this is not a URL"),
        (["--url", "https://me:hunter2@far.example/"], "a name and password in a URL are visible"),
        (["--url", "https://far.example/a b"], "must be percent-encoded"),
        (["--url", "https://far.example/", "--header", "hunter2"], "--header: give NAME=VALUE"),
        (["--url", "https://far.example/", "--header", "A B=hunter2"], "give NAME=VALUE"),
        (["--url", "https://far.example/", "--header", "A=${NO_SUCH}"], "NO_SUCH is not set"),
        (["--url", "https://far.example/", "--header", "A=hunter2\nB: x"], "holds a line break"),
        (["--url", "https://far.example/", "--header", "Mcp-Name=x"], "follows from each message"),
        (["--url", "https://far.example/", "--header", "Host=x"], "follows from each message"),
        (["--url", "https://far.example/", "--bearer-env", "NO_SUCH"], "NO_SUCH is not set"),
        (["--url", "https://far.example/", "--header-env", "A=a-b"], "name of an environment"),
        (["--url-env", "NO_SUCH"], "NO_SUCH is not set"),
        (["--url", "https://far.example/", "--name", "nacre"], "otherwise with --name"),
        (["--url", "https://nacre/mcp"], "otherwise with --name"),
        (["--url", "https://far.example/", "--listen", ":0", "--name", "NACRE"], "otherwise with"),
        (["--url", "https://far.example/", "--timeout", "soon"], "--timeout: give seconds"),
        (["--url", "https://far.example/", "--pass-authorization"], "sends no headers"),
        (["--url", "https://far.example/", "--listen", "8080x"], "--listen: give HOST:PORT"),
        (["--url", "https://far.example/", "--listen", "127.0.0.1:70000"], "give HOST:PORT"),
        (
            ["--url", "https://far.example/", "--listen", ":0", "--transport", "sse"],
            "the client chooses",
        ),
    ],
)
def test_wrong_input_is_explained_without_repeating_a_secret(
    arguments: list[str], told: str, place: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*place, *arguments]) == 2
    said = capsys.readouterr().err
    assert told in said
    assert "hunter2" not in said


def test_a_listener_that_others_can_reach_is_warned_about(far: str, place: list[str]) -> None:
    process = started(*place, "--url", far, "--listen", "0.0.0.0:0")
    assert process.stdout is not None
    url = process.stdout.readline().decode()
    process.terminate()
    _, err = process.communicate(timeout=60)
    assert url.startswith("http://127.0.0.1:")
    assert b"warning: 0.0.0.0 can be reached from other machines" in err


def test_neither_form_loads_a_framework_or_an_sdk(far: str, place: list[str]) -> None:
    probe = (
        "import sys; from nacre.cli.proxy.proxy_command import run; code = run(sys.argv[1:]);"
        "print(sorted({'mcp', 'pydantic', 'fastapi', 'starlette', 'uvicorn', 'httpx', 'boto3',"
        " 'numpy', 'click'} & {name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [NACRE[0], "-c", probe, *place, "--url", far],
        input=json.dumps(request(1, "ping")).encode() + b"\n",
        env={**os.environ, **environment()},
        capture_output=True,
        check=True,
        timeout=30,
    )
    assert done.stdout.splitlines()[-1] == b"[]"
