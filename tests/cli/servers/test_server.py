"""Other servers by command, on the laptop and on a stack."""

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre.gateway.catalogue.store import Entries, Entry, StoredCatalogue, release
from nacre.gateway.servers.store import ServerStore
from nacre.ports.other_programs.upstream import Offered
from nacre.wiring.laptop import open_home
from tests.cli.conftest import Nacre
from tests.gateway.http_upstream import TOOLS, http_upstream
from tests.wiring.deployed import deployed

ODD = Path(__file__).parents[2] / "gateway" / "odd_upstream.py"


@pytest.fixture(params=["laptop", "stack"])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    if request.param == "laptop":
        yield []
        return
    with deployed(monkeypatch) as stack:
        yield ["--stack", stack]


def test_a_server_is_added_listed_replaced_and_removed(nacre: Nacre, place: list[str]) -> None:
    nacre("owner", "list", *place)
    url = "https://a.example/mcp?key=1"
    added = nacre("server", "add", "web", "--url", url, "--header", "X: ${secret:T}", *place)
    again = nacre("server", "add", "web", "--url", "https://b.example/mcp", *place)
    replaced = nacre("server", "add", "web", "--url", "https://b.example/sse", "--replace", *place)
    (listed,) = nacre("server", "list", "--json", *place).json()
    removed = nacre("server", "remove", "web", *place)

    assert (added.code, added.out) == (0, "")
    assert (again.code, "already" in again.err) == (5, True)
    assert replaced.code == 0
    assert listed == {
        "name": "web",
        "kind": "sse",
        "where": "https://b.example/sse",
        "from": "nacre server",
        "state": "not asked yet",
        "tools": 0,
        "waiting": 0,
        "tokens": 0,
        "latency_ms": None,
        "opening_ms": None,
        "asked_at": None,
        "last_error": None,
        "last_error_at": None,
        "failures": 0,
        "retry_at": None,
    }
    assert removed.code == 0
    assert nacre("server", "list", "--json", *place).json() == []
    assert nacre("server", "remove", "web", *place).code == 3


def test_a_credential_on_the_command_line_is_refused(nacre: Nacre, place: list[str]) -> None:
    outcome = nacre(
        *("server", "add", "web", "--url", "https://a.example"),
        *("--header", "Authorization: Bearer very-secret", *place),
    )

    assert outcome.code == 2
    assert "nacre secret set NAME" in outcome.err
    assert "very-secret" not in outcome.err


@pytest.mark.parametrize(
    "given",
    [
        ["--url", "https://a.example/mcp?api_key=very-secret"],
        ["--url", "https://a.example/ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"],
        ["--", "npx", "server", "--api-key", "very-secret"],
        ["--", "npx", "server", "--token=very-secret"],
        ["--", "env", "PASSWORD=very-secret", "server"],
    ],
)
def test_a_credential_in_a_url_or_a_command_is_refused(
    given: list[str], nacre: Nacre, place: list[str]
) -> None:
    outcome = nacre("server", "add", "web", *place, *given)

    assert outcome.code == 2
    assert "nacre secret set NAME" in outcome.err
    assert "very-secret" not in outcome.err
    assert "ghp_" not in outcome.err


def test_what_only_sounds_like_a_credential_is_taken(nacre: Nacre, place: list[str]) -> None:
    wanted = ["--url", "https://a.example/mcp?api_key=${secret:KEY}&max_tokens=100"]
    assert nacre("server", "add", "web", *place, *wanted).code == 0
    program = ["--", "npx", "server", "--token", "${secret:KEY}", "--max-tokens", "100", "-y"]
    outcome = nacre("server", "add", "files", *place, *program)
    assert outcome.code == 0 or "which a stack cannot start" in outcome.err


def test_a_stack_takes_no_program(nacre: Nacre, monkeypatch: pytest.MonkeyPatch) -> None:
    with deployed(monkeypatch) as stack:
        outcome = nacre("server", "add", "run", "--stack", stack, "--", "true")

    assert (outcome.code, "which a stack cannot start" in outcome.err) == (2, True)


@pytest.mark.parametrize(
    "arguments", [["x"], ["x", "--url", "https://a.example", "--", "true"], ["nacre", "--", "true"]]
)
def test_what_is_no_server_is_refused(nacre: Nacre, arguments: list[str]) -> None:
    assert nacre("server", "add", *arguments).code == 2


def test_check_says_what_each_server_offers_and_what_is_wrong(nacre: Nacre, tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([{"name": "echo", "inputSchema": {"type": "object"}}]))
    nacre("server", "add", "odd", "--", sys.executable, str(ODD), "legacy", str(tools))
    nacre("server", "add", "gone", "--", "/no/such/program")
    missing = str(tmp_path / "missing.json")
    nacre("server", "add", "mute", "--", sys.executable, str(ODD), "legacy", missing)
    with http_upstream() as upstream:
        nacre("server", "add", "web", "--url", upstream.url)
        everything = nacre("server", "check", "--json")
        fine = nacre("server", "check", "odd")

    assert everything.code == 1
    assert json.loads(everything.out) == [
        {"name": "gone", "problem": "cannot be started: '/no/such/program' was not found"},
        {"name": "mute", "problem": "cannot list what it offers (No list)"},
        {
            "name": "odd",
            "protocol": "2025-11-25",
            "tools": ["echo"],
            "resources": 2,
            "prompts": 1,
            "waiting": {},
        },
        {
            "name": "web",
            "protocol": "2026-07-28",
            "tools": ["echo", "huge", "html"],
            "resources": 0,
            "prompts": 0,
            "waiting": {},
        },
    ]
    assert (fine.code, fine.out) == (
        0,
        "odd: 1 tool, 2 resources, 1 prompt (MCP 2025-11-25)\n  echo\n",
    )


OFFERS = (
    ("tools", {"name": "echo", "inputSchema": {"type": "object"}}, "echo"),
    ("prompts", {"name": "greet"}, "prompt:greet"),
    ("resources", {"uri": "odd://a", "name": "a"}, "resource:odd://a"),
    ("resourceTemplates", {"uriTemplate": "odd://t/{id}", "name": "t"}, "template:odd://t/{id}"),
)


def offer(folder: Path, description: str) -> Path:
    """Write what the odd server offers, with this description of everything."""
    offers = {key: [{**each, "description": description}] for key, each, _ in OFFERS}
    (folder / "offers.json").write_text(json.dumps(offers))
    tools = folder / "tools.json"
    tools.write_text(json.dumps(offers["tools"]))
    return tools


def test_check_trusts_a_first_list_and_holds_what_changes_later(
    nacre: Nacre, tmp_path: Path
) -> None:
    tools = offer(tmp_path, "first")
    nacre("server", "add", "odd", "--", sys.executable, str(ODD), "legacy", str(tools))
    first = nacre("server", "check", "--json").json()
    trusted = nacre("approve", "--json").json()
    offer(tmp_path, "second")
    second = nacre("server", "check", "--json").json()
    shown = nacre("server", "check")
    waiting = nacre("approve", "odd", "--json").json()
    listed = nacre("server", "list", "--json").json()
    table = nacre("server", "list").out
    nacre("approve", "odd", "--yes")
    approved = nacre("server", "check", "--json").json()

    labels = {label for _, _, label in OFFERS}
    assert (first[0]["waiting"], trusted) == ({}, {"odd": []})
    assert second[0]["waiting"] == dict.fromkeys(labels, "changed")
    assert shown.code == 0
    assert "Waiting for approval: echo (changed), prompt:greet (changed)" in shown.out
    assert "nacre approve odd" in shown.out
    assert {each["now"]["description"] for each in waiting} == {"second"}
    assert len(waiting) == len(OFFERS)
    assert (listed[0]["state"], listed[0]["tools"], listed[0]["waiting"]) == ("ok", 1, 4)
    assert "1, 4 to approve (nacre approve odd)" in table
    assert approved[0]["waiting"] == {}


@pytest.mark.parametrize("pins", ["record", "off"])
def test_check_holds_only_what_the_policy_holds(
    pins: str, nacre: Nacre, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(f'[settings]\npins = "{pins}"\n')
    monkeypatch.setenv("NACRE_POLICY", str(policy))
    tools = offer(tmp_path, "first")
    nacre("server", "add", "odd", "--", sys.executable, str(ODD), "legacy", str(tools))
    nacre("server", "check")
    offer(tmp_path, "second")

    assert nacre("server", "check", "--json").json()[0]["waiting"] == {}
    assert ("echo" in nacre("approve", "--json").out) == (pins == "record")


def test_a_check_of_a_stack_holds_what_changed(
    nacre: Nacre, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NACRE_PRIVATE_NETWORKS", "127.0.0.0/8")
    with deployed(monkeypatch) as stack, http_upstream() as upstream:
        place = ("--stack", stack)
        nacre("owner", "list", *place)
        nacre("server", "add", "web", "--url", upstream.url, *place)
        first = nacre("server", "check", "--json", *place).json()
        changed = [{**each, "description": "other"} for each in TOOLS]
        monkeypatch.setattr("tests.gateway.http_upstream.TOOLS", changed)
        second = nacre("server", "check", "--json", *place).json()
        waiting = nacre("approve", "--json", *place).json()

    assert first[0]["waiting"] == {}
    assert second[0]["waiting"] == dict.fromkeys(("echo", "huge", "html"), "changed")
    assert waiting == {"web": ["echo", "html", "huge"]}


def test_import_takes_what_it_can_from_a_clients_file(nacre: Nacre, tmp_path: Path) -> None:
    file = tmp_path / "claude.json"
    servers = {
        "good": {"command": "true", "autoApprove": ["x"]},
        "bad": {"url": "ftp://x"},
        "other": {"url": "https://a.example"},
    }
    file.write_text(json.dumps({"mcpServers": servers, "theme": "dark"}))

    outcome = nacre("server", "import", str(file), "good", "bad")

    assert outcome.code == 1
    assert "Added good (ignored: autoApprove)." in outcome.err
    assert "Left out: 'bad': 'url' must be of the form" in outcome.err
    assert [each["name"] for each in nacre("server", "list", "--json").json()] == ["good"]
    assert nacre("server", "import", str(file), "nobody").code == 2


def test_a_file_that_a_setting_names_is_listed_first(
    nacre: Nacre, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"a": {"command": "x"}, "b": 5}}))
    nacre("server", "add", "a", "--", "y")
    monkeypatch.setenv("NACRE_SERVERS", str(file))

    outcome = nacre("server", "list", "--json")

    assert [(each["where"], each["from"]) for each in json.loads(outcome.out)] == [
        ("x", "servers.json")
    ]
    assert "b: servers.json: 'b': it must be an object" in outcome.err


def test_what_is_approved_leaves_the_catalogue_free(nacre: Nacre, folder: Path) -> None:
    nacre("owner", "list")
    home = open_home(folder)
    try:
        catalogue = StoredCatalogue(lambda: home.data)
        entry = Entry("d", 1.0, Offered(), {"a": "new", "b": "changed"}, {"a": "instructs"})
        catalogue.update(lambda _: {"s": entry})
        release(catalogue, "s", ["a"])
        release(catalogue, "nobody", ["a"])

        assert catalogue.load()["s"] == Entry("d", 1.0, Offered(), {"b": "changed"}, {})
    finally:
        home.close()


def test_two_writers_of_the_catalogue_lose_nothing(nacre: Nacre, folder: Path) -> None:
    nacre("owner", "list")
    home = open_home(folder)
    try:
        catalogue = StoredCatalogue(lambda: home.data)
        entry = Entry("d", 1.0, Offered(tools=({"name": "é", "inputSchema": {}},)), problem="x")
        met: list[Entries] = []

        def first(known: Entries) -> Entries:
            if not met:
                met.append(known)
                catalogue.update(lambda entries: {**entries, "two": entry})
            return {**known, "one": entry}

        catalogue.update(first)

        assert catalogue.load() == {"one": entry, "two": entry}
    finally:
        home.close()


def test_the_folders_of_the_filesystem_server_are_its_bases(
    nacre: Nacre, tmp_path: Path, folder: Path
) -> None:
    line = ("npx", "-y", "@modelcontextprotocol/server-filesystem", "/srv/a", "/srv/b")
    added = nacre("server", "add", "files", "--", *line)
    assert "Relative paths of files begin at /srv/a, /srv/b" in added.err
    told = nacre("server", "add", "other", "--base", "/srv/c", "--", *line)
    joined = "other: its arguments say that relative paths begin at /srv/a, /srv/b as well"
    assert joined in told.err
    told = nacre("server", "add", "same", "--base", "/srv/b", "--base", "/srv/a", "--", *line)
    assert "relative paths" not in told.err
    entry = {"command": "npx", "args": [*line[1:3], "/srv/d"]}
    (tmp_path / "client.json").write_text(json.dumps({"mcpServers": {"taken": entry}}))
    nacre("server", "import", str(tmp_path / "client.json"))

    home = open_home(folder)
    try:
        servers = ServerStore(lambda: home.data).load().servers
    finally:
        home.close()
    assert {each.name: each.base for each in servers} == {
        "files": ("/srv/a", "/srv/b"),
        "other": ("/srv/c", "/srv/a", "/srv/b"),
        "same": ("/srv/b", "/srv/a"),
        "taken": ("/srv/d",),
    }


@pytest.mark.parametrize("name", ["a__b", "my files", "files", "ünïcode", "x" * 60])
def test_the_command_that_add_prints_works_as_does_the_name_that_it_was_given(
    nacre: Nacre, name: str, tmp_path: Path
) -> None:
    nacre("owner", "list")
    tools = tmp_path / "tools.json"
    tools.write_text('[{"name": "t", "inputSchema": {"type": "object"}}]')
    command = (sys.executable, str(ODD), "legacy", str(tools))
    added = nacre("server", "add", name, "--", *command)
    printed = shlex.split(added.err.strip().rpartition("try it with: nacre ")[2])
    (stored,) = [each["name"] for each in nacre("server", "list", "--json").json()]

    assert added.code == 0, added.err
    assert printed == ["server", "check", stored]
    for checked in (nacre(*printed, "--json"), nacre("server", "check", name, "--json")):
        assert [each["name"] for each in checked.json()] == [stored]
    assert nacre("approve", name).code == 0
    missing = nacre("server", "check", "not there")
    assert (missing.code, "'not there'" in missing.err) == (2, True)
    assert nacre("server", "remove", stored if name == "a__b" else name).code == 0
    assert nacre("server", "list", "--json").json() == []


def test_a_refused_name_is_told_without_more(nacre: Nacre) -> None:
    command = ("npx", "-y", "@modelcontextprotocol/server-filesystem", "/srv")
    refused = nacre("server", "add", "nacre", "--", *command)
    added = nacre("server", "add", "files", "--", *command)

    assert refused.code == 2
    assert "Relative paths" not in refused.err
    assert "Relative paths of files begin at /srv" in added.err


def test_a_list_tells_how_each_server_is_doing(nacre: Nacre, tmp_path: Path) -> None:
    """It is what the last check has met; a server's words get neither secrets nor codes through."""
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([{"name": "echo", "inputSchema": {"type": "object"}}]))
    nacre("server", "add", "odd", "--", sys.executable, str(ODD), "legacy", str(tools))
    nacre("server", "add", "gone", "--", "/no/such/program")
    nacre("server", "check")
    first, _ = nacre("server", "list", "--json").json()
    nacre("server", "check")
    tools.unlink()
    nacre("server", "check", "odd")
    gone, odd = nacre("server", "list", "--json").json()
    table = nacre("server", "list").out.splitlines()

    assert (gone["state"], gone["failures"], gone["tokens"]) == ("unreachable", 2, 0)
    assert gone["last_error"] == "cannot be started: '/no/such/program' was not found"
    assert gone["last_error_at"] > first["last_error_at"] or gone["retry_at"] > first["retry_at"]
    assert (odd["state"], odd["tools"], odd["failures"]) == ("failing", 1, 1)
    assert odd["last_error"] == "cannot list what it offers (No list)"
    shown = '{"name":"mcp__odd__echo","inputSchema":{"type":"object"}}'
    assert odd["tokens"] == -(-len(shown) // 4)
    assert odd["latency_ms"] > 0
    assert odd["opening_ms"] > odd["latency_ms"]
    assert [line.split()[0] for line in table] == ["NAME", "gone", "odd", "gone:", "odd:"]
    assert "No list) (20" in table[-1]
    assert "; next attempt at 20" in table[-1]


def test_limits_of_a_server_are_given_when_it_is_added(nacre: Nacre, folder: Path) -> None:
    limits = ["--timeout", "5", "--open-timeout", "90", "--keep-alive", "0"]
    added = nacre("server", "add", "web", "--url", "https://a.example", *limits)
    refused = nacre("server", "add", "web2", "--url", "https://a.example", "--keep-alive", "0.5")

    home = open_home(folder)
    try:
        (config,) = ServerStore(lambda: home.data).load().servers
    finally:
        home.close()
    assert added.code == 0
    assert (config.timeout, config.open_timeout, config.keep_alive) == (5, 90, 0)
    assert refused.code == 2
    assert "'keep_alive_seconds' must be at least 1, or 0 for no pings" in refused.err
