"""Logging in to a server in the browser of this machine."""

import http.client
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from nacre.gateway.login.logins import LoginServer
from nacre.wiring.laptop import open_home
from tests.cli.conftest import Nacre
from tests.cli.processes import finish, start
from tests.gateway.login.provider import Provider, provider


@contextmanager
def logging_in(*arguments: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Run `nacre server login`, and yield it with the address for the browser."""
    process = start("server", "login", "--no-browser", *arguments, stdin=subprocess.PIPE)
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def come_back(url: str, answer: dict[str, str]) -> tuple[int, str]:
    """Send the browser to the address of the login, and return the page."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=60)
    try:
        connection.request("GET", f"{parts.path}?{urlencode(answer)}")
        reply = connection.getresponse()
        return reply.status, reply.read().decode()
    finally:
        connection.close()


def redirect_of(at: Provider) -> str:
    [client] = at.clients.values()
    return str(client["redirect_uris"][0])


@pytest.mark.requirement("002.external.login")
def test_an_owner_logs_in_with_the_browser_and_out_again(nacre: Nacre, folder: Path) -> None:
    with provider() as at:
        nacre("server", "add", "web", "--url", at.url)
        with logging_in("web") as (process, url):
            answer = at.consent(url)
            status, _ = come_back(redirect_of(at), {**answer, "state": "x" * 43})
            assert status == 404  # another page knows no state, and ends no login
            status, page = come_back(redirect_of(at), answer)
            assert (status, "logged in" in page) == (200, True)
            code, out, err = finish(process)
        assert (code, out) == (0, "")
        assert "Logged in to web." in err
        [token] = at.access
        assert token not in err + page
        checked = nacre("server", "check", "web", "--json").json()
        assert checked[0]["tools"] == ["whoami", "write"]
        [listed] = nacre("server", "list", "--json").json()
        assert listed["login"] == {"owner": "me", "issuer": at.base, "scopes": []}
        ended = nacre("server", "logout", "web")
        assert (ended.code, ended.err) == (0, "Logged out of web.\n")
        assert len(at.revoked) == 2
        assert nacre("server", "logout", "web").code == 3


def test_a_login_that_is_declined_fails(nacre: Nacre) -> None:
    with provider() as at:
        nacre("server", "add", "web", "--url", at.url)
        with logging_in("web") as (process, url):
            state = at.consent(url)["state"]
            refusal = {"error": "access_denied", "state": state, "iss": at.base}
            status, page = come_back(redirect_of(at), refusal)
            code, _, err = finish(process)
        assert (status, "failed" in page) == (400, True)
        assert (code, "declined" in err) == (4, True)


def test_the_address_can_be_pasted_where_the_browser_is_elsewhere(
    nacre: Nacre, folder: Path
) -> None:
    with provider() as at:
        nacre("server", "add", "web", "--url", at.url)
        with logging_in("web", "--paste") as (process, url):
            ended_at = f"{redirect_of(at)}?{urlencode(at.consent(url))}"
            code, _, err = finish(process, f"{ended_at}\n")
        assert (code, "Logged in to web." in err) == (0, True)
        home = open_home(str(folder))
        assert home.logins.token("me", LoginServer("web", at.url)) in at.access
        home.close()


@pytest.mark.parametrize("name", ["of the server", "of its URL"])
def test_a_proxy_uses_the_login_to_its_url(name: str, nacre: Nacre, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[[rule]]\naction = "allow"\ntool = "**"\n')
    with provider() as at:
        nacre("server", "add", "web", "--url", at.url)
        with logging_in("web" if name == "of the server" else at.url) as (process, url):
            come_back(redirect_of(at), at.consent(url))
            assert finish(process)[0] == 0
        at.access.clear()  # so that the proxy has to renew the token
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {"name": "whoami", "arguments": {}, "_meta": meta}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        proxy = start(*("proxy", "--url", at.url, "--policy", str(policy)), stdin=subprocess.PIPE)
        code, out, err = finish(proxy, json.dumps(call) + "\n")
        assert code == 0, err
        assert json.loads(out)["result"]["content"][0]["text"] == "ann"
        assert at.calls == [("whoami", "ann")]
        assert not [token for token in (*at.access, *at.refresh) if token in out + err]


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (["--", "true"], "is a program"),
        (["--url", "https://a.example/mcp", "--header", "Authorization: ${secret:T}"], "a token"),
    ],
)
def test_a_server_that_takes_no_login_says_so(entry: list[str], said: str, nacre: Nacre) -> None:
    nacre("server", "add", "web", *entry)
    outcome = nacre("server", "login", "web")
    assert (outcome.code, said in outcome.err) == (2, True)


def test_an_unknown_server_is_told(nacre: Nacre) -> None:
    nacre("owner", "list")
    assert nacre("server", "login", "nobody").code == 3


def test_a_client_of_ones_own_is_used(nacre: Nacre) -> None:
    with provider(metadata={"registration_endpoint": None}) as at:
        nacre("secret", "set", "APP", "--value", "hush")
        nacre("server", "add", "web", "--url", at.url, "--client-id", "mine", "--scope", "read")
        with logging_in("web") as (_, url):
            assert "client_id=mine" in url
            assert "scope=read" in url


def test_a_client_secret_on_the_command_line_is_refused(nacre: Nacre) -> None:
    options = ("--client-id", "mine", "--client-secret", "very-secret")
    outcome = nacre("server", "add", "web", "--url", "https://a.example/mcp", *options)
    assert (outcome.code, "very-secret" in outcome.err) == (2, False)
