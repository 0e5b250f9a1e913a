"""Servers at a URL: tokens, odd answers, lost connections, private addresses, and a stack."""

import gc
import json
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import boto3
import pytest

from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.core.clock import system_clock
from nacre.core.coroutines import Looper, step
from nacre.core.limits import GATHERED_SECONDS
from nacre.faces.mcp_endpoint import Rules
from nacre.firewall.policies.version_store import PolicyVersions
from nacre.gateway.catalogue.store import Entry, StoredCatalogue
from nacre.gateway.servers.config import server_from
from nacre.gateway.servers.store import ServerStore
from nacre.protocol.caller import Caller, Peer
from nacre.protocol.context import Silence
from nacre.protocol.dispatch.calls import Call
from nacre.protocol.dispatch.methods import Dispatcher
from nacre.protocol.dispatch.request_state import RequestStates, SigningKeys
from nacre.protocol.messages import Request, parse_message
from nacre.protocol.principal import FULL, Principal
from nacre.wiring.aws import StackPorts
from nacre.wiring.compose import Home, compose
from nacre.wiring.settings import Secret, Settings
from tests.gateway.http_upstream import Upstream, http_upstream
from tests.scaffolding.aws_stack import REGION, aws_stack
from tests.scaffolding.certificates import Authority
from tests.scaffolding.connect_proxy import connect_proxy
from tests.scaffolding.deployments import stack_settings
from tests.scaffolding.dynamodb_http import DynamoDb, dynamodb_over_http
from tests.scaffolding.gateway_world import EVERYTHING_GOES, World, world

BEING = "11111111-1111-4111-8111-111111111111"


@contextmanager
def behind(folder: Path, **more: Any) -> Iterator[tuple[World, Upstream]]:
    with http_upstream() as upstream:
        entry = {"url": upstream.url, **more}
        with world(folder / "w", {"web": entry}) as gateway:
            yield gateway, upstream


def told(gateway: World, tool: str) -> str:
    text: str = gateway.call(f"mcp__web__{tool}")["content"][0]["text"]
    return text


@pytest.mark.requirement("002.external.http")
def test_calls_share_connections(tmp_path: Path) -> None:
    with behind(tmp_path) as (gateway, upstream):
        gateway.tools()
        assert [told(gateway, "echo") for _ in range(5)] == ["hh"] * 5
        assert upstream.connections == 1


@pytest.mark.parametrize("kind", ["http", "sse"])
def test_a_server_on_this_machine_is_connected_to_directly(kind: str, tmp_path: Path) -> None:
    nobody = Secret("http://127.0.0.1:9")
    with http_upstream() as upstream:
        path = "/mcp" if kind == "http" else "/sse"
        entry = {"type": kind, "url": upstream.url.replace("/mcp", path)}
        with world(
            tmp_path / "w", {"web": entry}, https_proxy=nobody, http_proxy=nobody, all_proxy=nobody
        ) as gateway:
            gateway.tools()
            assert told(gateway, "echo") == "hh"


@pytest.mark.parametrize("kind", ["http", "sse"])
@pytest.mark.parametrize("is_tls", [True, False])
def test_a_server_elsewhere_is_connected_to_through_the_proxy(
    kind: str, tmp_path: Path, *, is_tls: bool
) -> None:
    authority = Authority(tmp_path / "ca")
    tls = authority.server("far.example") if is_tls else None
    with http_upstream(tls) as upstream, connect_proxy(credentials="ann:s3cret") as proxy:
        path = "/mcp" if kind == "http" else "/sse"
        url = upstream.url.replace("127.0.0.1", "far.example").replace("/mcp", path)
        with world(
            tmp_path / "w",
            {"web": {"type": kind, "url": url}},
            https_proxy=Secret(proxy.url),
            http_proxy=Secret(proxy.url),
            ca_file=authority.file,
        ) as gateway:
            gateway.tools()
            assert told(gateway, "echo") == "hh"
            upstream.answers.put(None)
    port = upstream.server.server_port
    assert f"CONNECT far.example:{port}" in proxy.asked or not is_tls
    assert f"{'POST' if kind == 'http' else 'GET'} {url}" in proxy.asked or is_tls


def test_a_proxy_that_refuses_is_named_without_its_credentials(tmp_path: Path) -> None:
    with connect_proxy(credentials="ann:s3cret") as proxy:
        proxy.status = 403
        server = {"web": {"url": "https://far.example/mcp"}}
        with world(tmp_path / "w", server, https_proxy=Secret(proxy.url)) as gateway:
            assert gateway.tools() == []
            assert gateway.missing() == {
                "web": f"does not work: the proxy 127.0.0.1:{proxy.port} does not connect to"
                " far.example (403)"
            }


def test_a_proxy_that_is_not_trusted_is_named_in_place_of_the_server(tmp_path: Path) -> None:
    tls = Authority(tmp_path / "ca").server("localhost")
    with connect_proxy(tls=tls) as proxy:
        server = {"web": {"url": "https://far.example/mcp"}}
        with world(tmp_path / "w", server, https_proxy=Secret(proxy.url)) as gateway:
            assert gateway.tools() == []
            assert gateway.missing()["web"].startswith(
                f"does not work: the proxy localhost:{proxy.port} has a certificate that is not"
            )


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ({"https_proxy": Secret("socks5://ann:s3cret@h:1")}, "HTTPS_PROXY or ALL_PROXY names a"),
        ({"ca_file": "/nowhere.pem"}, "NACRE_CA_FILE: '/nowhere.pem' is not a readable PEM file"),
    ],
)
def test_a_wrong_setting_of_the_network_is_told(
    setting: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    server = {"web": {"url": "https://far.example/mcp"}}
    with world(tmp_path / "w", server, **setting) as gateway:
        assert gateway.tools() == []
        assert reason in gateway.missing()["web"]
        assert "s3cret" not in gateway.missing()["web"]


def test_a_server_that_wants_a_certificate_is_shown_the_one_of_its_entry(tmp_path: Path) -> None:
    authority, clients = Authority(tmp_path / "ca"), Authority(tmp_path / "clients", "clients")
    certificate, key = clients.issue("nacre")
    with http_upstream(authority.server("127.0.0.1", clients=clients)) as upstream:
        entry = {"url": upstream.url, "client_cert": certificate, "client_key": "${secret:KEY}"}
        servers = {"shown": entry, "silent": {"url": upstream.url}}
        with world(tmp_path / "w", servers, ca_file=authority.file) as gateway:
            gateway.laptop.ports.secrets.set("KEY", Path(key).read_text())
            assert gateway.tools() == [f"mcp__shown__{each}" for each in TOOLS]
            assert list(gateway.missing()) == ["silent"]
            result = gateway.call("mcp__shown__echo")
            assert result["content"][0]["text"] == "hh"


def test_a_certificate_without_its_key_is_told(tmp_path: Path) -> None:
    clients = Authority(tmp_path / "clients", "clients")
    certificate, _ = clients.issue("nacre")
    servers = {"web": {"url": "https://127.0.0.1:9/mcp", "client_cert": certificate}}
    with world(tmp_path / "w", servers) as gateway:
        assert gateway.tools() == []
        assert "client_cert and client_key are not a PEM certificate" in gateway.missing()["web"]


def test_a_connection_that_ended_while_nobody_used_it_is_opened_again(tmp_path: Path) -> None:
    with behind(tmp_path) as (gateway, upstream):
        gateway.tools()
        upstream.closes = True  # from here on: a list sends one request right after another
        for _ in range(4):
            assert told(gateway, "echo") == "hh"
            upstream.wait_until_nobody_is_connected()


@pytest.mark.requirement("002.external.sse")
def test_a_server_of_the_older_kind_of_stream_is_reached(tmp_path: Path) -> None:
    with http_upstream() as upstream:
        entry = {"type": "sse", "url": upstream.url.replace("/mcp", "/sse")}
        with world(tmp_path / "w", {"web": entry}) as gateway:
            assert gateway.tools() == [f"mcp__web__{each}" for each in TOOLS]
            assert told(gateway, "echo") == "hh"


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("huge", "Error: the server 'web' answered with more than 10 MB"),
        ("html", "Error: the server 'web' answers, but not with MCP"),
    ],
)
def test_what_is_no_answer_is_said_so(tool: str, text: str, tmp_path: Path) -> None:
    with behind(tmp_path) as (gateway, _):
        gateway.tools()
        assert told(gateway, tool).startswith(text)
        assert told(gateway, "echo") == "hh"


def test_a_list_without_end_is_given_up_before_it_is_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages: list[str | None] = []

    def answer(asked: dict[str, Any]) -> tuple[int, bytes, str]:
        if asked["method"] != "tools/list":
            return usual(asked)
        pages.append(asked["params"].get("cursor"))
        tool = {"name": f"t{len(pages)}", "inputSchema": {"type": "object"}}
        listed = {
            "tools": [{**tool, "description": "x" * 1_000_000}],
            "nextCursor": str(len(pages)),
            "resultType": "complete",
            "ttlMs": 0,
            "cacheScope": "private",
        }
        whole = {"jsonrpc": "2.0", "id": asked["id"], "result": listed}
        return 200, json.dumps(whole).encode(), "application/json"

    with http_upstream() as upstream:
        usual = upstream.answer
        monkeypatch.setattr(upstream, "answer", answer)
        with world(tmp_path / "w", {"web": {"url": upstream.url}}) as gateway:
            assert gateway.tools() == []
            missing = gateway.missing()

    assert missing == {"web": "lists more than this gateway accepts"}
    assert len(pages) == 3


def test_a_server_that_wants_a_token_says_how_to_give_it_one(tmp_path: Path) -> None:
    with behind(tmp_path) as (gateway, upstream):
        upstream.token = "Bearer right"
        assert gateway.tools() == []
        assert gateway.missing()["web"].startswith("wants you to log in; run 'nacre server login")


def test_a_server_that_refuses_its_token_says_how_to_give_it_another_one(tmp_path: Path) -> None:
    with behind(tmp_path, headers={"Authorization": "Bearer wrong"}) as (gateway, upstream):
        upstream.token = "Bearer right"
        assert gateway.tools() == []
        assert gateway.missing()["web"].startswith("refuses its token (HTTP 401). Send another")


@pytest.mark.parametrize(("status", "reason"), [(403, "refuses these"), (404, "is not at this")])
def test_a_refusal_is_told_by_its_status(status: int, reason: str, tmp_path: Path) -> None:
    with behind(tmp_path) as (gateway, upstream):
        upstream.status = status
        assert gateway.missing()["web"].startswith(reason)


def test_a_call_is_sent_once_whatever_becomes_of_it(tmp_path: Path) -> None:
    with behind(tmp_path) as (gateway, upstream):
        gateway.tools()
        told(gateway, "echo")
        upstream.status = 503
        assert told(gateway, "echo") == "Error: the server 'web' answers with HTTP 503"
        upstream.status = 200
        assert upstream.calls == 1


def test_a_secret_is_taken_from_where_it_is_kept(tmp_path: Path) -> None:
    headers = {"Authorization": "Bearer ${secret:WEB_TOKEN}"}
    with behind(tmp_path, headers=headers) as (gateway, upstream):
        upstream.token = "Bearer right"
        gateway.laptop.ports.secrets.set("WEB_TOKEN", "right")
        gateway.tools()
        assert told(gateway, "echo") == "hh"


# A stack. What reads and writes its items keeps its connections as long as the process.
kept = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")


@dataclass(frozen=True, slots=True)
class Stack:
    """The gateway of a function that has just started, and what it stands on."""

    settings: Settings
    table: DynamoTable
    front: DynamoDb

    def gateway(self, **settings: Any) -> Home:
        chosen = self.settings._replace(**settings)
        return compose(StackPorts(chosen, clients=client), chosen)

    def ask(self, gateway: Home, method: str, **params: Any) -> dict[str, Any]:
        states = RequestStates(lambda: SigningKeys(b"k" * 32), system_clock)
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        request = parse_message(json.dumps(message).encode())
        assert isinstance(request, Request)
        caller = Caller("2025-11-25", Principal("t1", BEING, FULL), Peer(), None)
        begun = Dispatcher(gateway.surface, rules=Rules(), states=states).begin(request, caller)
        if isinstance(begun, Call):
            running = begun.run(Silence())
            begun = step(running) if begun.blocking else Looper().run(running)
        result: dict[str, Any] = json.loads(begun.body)["result"]
        return result


def client(service: str) -> Any:
    return boto3.client(service, region_name=REGION)  # type: ignore[call-overload]


@pytest.fixture
def stack() -> Iterator[Stack]:
    with aws_stack() as deployed, dynamodb_over_http(deployed) as front:
        table = DynamoTable(deployed.dynamodb, deployed.ids["DataTable"])
        PolicyVersions(table, clock=system_clock).push(
            "global", EVERYTHING_GOES, source="p.toml", based_on=0, by="ann"
        )
        yield Stack(stack_settings(deployed, front), table, front)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()


def add(stack: Stack, name: str, entry: dict[str, Any]) -> None:
    ServerStore(lambda: stack.table).add(name, entry)
    unasked = Entry(server_from(name, entry).digest, 0.0, None)
    StoredCatalogue(lambda: stack.table).update(lambda found: {**found, name: unasked})


def of_others(tools: list[dict[str, Any]]) -> list[str]:
    """Return the names of the tools of other servers."""
    return [tool["name"] for tool in tools if tool["name"].startswith("mcp__")]


@kept
def test_a_stack_serves_urls_with_secrets_of_systems_manager(stack: Stack) -> None:
    with http_upstream() as upstream:
        upstream.token = "Bearer right"
        client("ssm").put_parameter(Name="/nacre/test/T", Value="right", Type="SecureString")
        headers = {"Authorization": "Bearer ${secret:T}"}
        add(stack, "web", {"url": upstream.url, "headers": headers})
        gateway = stack.gateway(private_networks=("127.0.0.0/8",))
        try:
            listed = stack.ask(gateway, "tools/list")["tools"]
            called = stack.ask(gateway, "tools/call", name="mcp__web__echo", arguments={})
        finally:
            gateway.close()

    assert of_others(listed) == [f"mcp__web__{each}" for each in TOOLS]
    assert called["content"] == [{"type": "text", "text": "hh"}]


TOOLS = ("echo", "huge", "html")


@kept
def test_a_function_that_starts_lists_with_one_read_and_asks_nobody(stack: Stack) -> None:
    with http_upstream() as upstream:
        add(stack, "web", {"url": upstream.url})
        first = stack.gateway(private_networks=("127.0.0.0/8",))
        stack.ask(first, "tools/list")
        first.close()
    second = stack.gateway()
    before = stack.front.requests
    second.mounts.gather()
    reads = stack.front.requests - before
    listed = stack.ask(second, "tools/list")["tools"]

    assert reads == 1
    assert len(of_others(listed)) == 3


@kept
def test_a_slow_server_of_a_stack_keeps_its_last_list_and_is_asked_more_rarely(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function has no background, so a list waits a moment, but not every time."""
    catalogue = StoredCatalogue(lambda: stack.table)
    with http_upstream() as fine, http_upstream() as slow:
        add(stack, "fine", {"url": fine.url})
        add(stack, "slow", {"url": slow.url})
        gateway = stack.gateway(private_networks=("127.0.0.0/8",))
        stack.ask(gateway, "tools/list")
        gateway.close()
        catalogue.update(
            lambda found: {name: replace(each, at=0.0) for name, each in found.items()}
        )
        monkeypatch.setattr("nacre.gateway.catalogue.fetcher.GATHER_SECONDS", 0.3)
        usual, answered = slow.answer, threading.Event()

        def answer(asked: dict[str, Any]) -> tuple[int, bytes, str]:
            answered.wait(60)
            return usual(asked)

        monkeypatch.setattr(slow, "answer", answer)
        gateway = stack.gateway(private_networks=("127.0.0.0/8",))
        listed = stack.ask(gateway, "tools/list")
        entry = catalogue.load()["slow"]
        answered.set()
        gateway.close()

    assert of_others(listed["tools"]) == [
        f"mcp__{server}__{tool}" for server in ("fine", "slow") for tool in TOOLS
    ]
    problem = "takes longer than 0.3 s to list what it offers"
    assert listed["_meta"]["nacre/missing"]["slow"] == problem
    assert (entry.problem, entry.health.failures) == (problem, 1)
    seconds = entry.at + GATHERED_SECONDS - entry.health.error_at
    assert 24 <= seconds <= 36


@kept
def test_a_function_that_starts_compares_before_its_first_call(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = {"name": "mcp__web__echo", "arguments": {}}
    with http_upstream() as upstream:
        add(stack, "web", {"url": upstream.url})
        told: list[str] = []
        for description in ("A tool", "A tool", "Another tool"):
            tool = {"name": "echo", "description": description, "inputSchema": {"type": "object"}}
            monkeypatch.setattr("tests.gateway.http_upstream.TOOLS", [tool])
            gateway = stack.gateway(private_networks=("127.0.0.0/8",))
            if not told:
                stack.ask(gateway, "tools/list")
            told.append(stack.ask(gateway, "tools/call", **call)["content"][0]["text"])
            gateway.close()

    assert told[:2] == ["hh", "hh"]
    assert "has changed since it was approved" in told[2]
    assert upstream.calls == 2


@kept
def test_a_stack_reaches_no_private_address_and_starts_no_program(stack: Stack) -> None:
    add(stack, "web", {"url": "http://127.0.0.1:1/mcp"})
    add(stack, "meta", {"url": "http://[::ffff:a9fe:a9fe]/latest"})
    add(stack, "run", {"command": "true"})
    gateway = stack.gateway()
    told = stack.ask(gateway, "tools/list")["_meta"]["nacre/missing"]
    gateway.close()

    assert told == {
        "web": "leads to a private address",
        "meta": "leads to a private address",
        "run": "is not set up: a stack starts no programs; give it a 'url'",
    }


DOCS_ONLY = """
[settings]
wait_seconds = 0

[[rule]]
action = "deny"
tool = "*"
args.path = "/srv/docs/private/**"

[[rule]]
action = "allow"
tool = "*"
args.path = "/srv/docs/**"
"""
PATHS = ("notes.md", "private/key", "../elsewhere")
BASES: list[tuple[Any, list[bool]]] = [
    (None, [False, False, False]),
    ("/srv/docs", [True, False, False]),
    (["/srv/docs", "/srv/docs/old"], [True, False, False]),
    (["/srv/docs", "/srv/other"], [False, False, False]),
    ("/srv/other", [False, False, False]),
]


@kept
@pytest.mark.parametrize(("base", "answered"), BASES[:3])
def test_a_stack_reads_relative_paths_from_the_declared_base(
    base: Any, answered: list[bool], stack: Stack
) -> None:
    PolicyVersions(stack.table, clock=system_clock).push(
        "global", DOCS_ONLY, source="p.toml", based_on=1, by="ann"
    )
    with http_upstream() as upstream:
        add(stack, "web", {"url": upstream.url} | ({} if base is None else {"base": base}))
        gateway = stack.gateway(private_networks=("127.0.0.0/8",))
        call = {"name": "mcp__web__echo"}
        stack.ask(gateway, "tools/list")
        try:
            results = [
                stack.ask(gateway, "tools/call", **call, arguments={"path": path}) for path in PATHS
            ]
        finally:
            gateway.close()

    assert ["hh" in json.dumps(result) for result in results] == answered
    assert upstream.calls == sum(answered)


@pytest.mark.parametrize(("base", "answered"), BASES)
def test_a_laptop_reads_relative_paths_from_the_declared_base_of_a_url(
    base: Any, answered: list[bool], tmp_path: Path
) -> None:
    with http_upstream() as upstream:
        entry = {"url": upstream.url} | ({} if base is None else {"base": base})
        with world(tmp_path / "w", {"web": entry}, policy=DOCS_ONLY) as gateway:
            gateway.tools()
            results = [gateway.call("mcp__web__echo", path=path) for path in PATHS]

    assert ["hh" in json.dumps(result) for result in results] == answered
    assert upstream.calls == sum(answered)


def test_links_are_followed_for_a_server_at_an_address_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "link").symlink_to("secret")
    rules = f"""
[[rule]]
action = "deny"
tool = "*"
args."*" = "{tmp_path}/secret/**"
{EVERYTHING_GOES}"""
    with http_upstream() as upstream:
        entries = {
            "web": {"url": upstream.url},
            "named": {"url": upstream.url.replace("127.0.0.1", "localhost")},
        }
        with world(tmp_path / "w", entries, policy=rules) as gateway:
            gateway.tools()
            for name in entries:
                for path, is_denied in (("link/x", True), ("other/x", False)):
                    asked = gateway.call(f"mcp__{name}__echo", text=f"{tmp_path}/{path}")
                    assert ("Blocked by policy" in json.dumps(asked)) is is_denied
