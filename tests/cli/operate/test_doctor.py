"""`nacre doctor`: each line says what is wrong and what to do."""

import json
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import boto3
import pytest

from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.being.memory.model import keys
from nacre.being.memory.text.searchable_text import IndexEntry
from nacre.cli.operate import doctor_checks
from nacre.wiring.laptop import open_laptop
from nacre.wiring.settings import Settings
from tests.cli.conftest import Nacre
from tests.cli.processes import serving
from tests.scaffolding.aws_stack import REGION
from tests.scaffolding.certificates import Authority
from tests.scaffolding.server_threads import answering
from tests.wiring.deployed import MCP_URL, OUTPUTS, deployed, outputs_of


@pytest.fixture
def port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def states(findings: list[dict[str, Any]]) -> dict[str, str]:
    return {finding["check"]: finding["state"] for finding in findings}


def finding(findings: list[dict[str, Any]], check: str) -> dict[str, Any]:
    return next(each for each in findings if each["check"] == check)


@pytest.mark.requirement("000.cli.doctor")
def test_a_machine_in_use_is_well(nacre: Nacre, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_LLM_API_KEY", "sk-test")
    nacre("being", "create", "Ann")
    nacre("token", "create", "--scope", "full")
    (Path.home() / ".claude.json").write_text('{"mcpServers": {"nacre": {"type": "http"}}}')

    found = nacre("doctor", "--port", str(port), "--json").json()

    assert set(states(found).values()) == {"ok"}
    assert set(states(found)) == {
        *("version", "settings", "data folder", "permissions", "store", "beings"),
        *("tokens of Ann", "keys", "port", "client Claude Code"),
        *("policy of Ann", "language model", "embedding", "service"),
    }


def test_the_embedding_and_a_change_of_it_are_told(
    nacre: Nacre, folder: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    being_id = nacre("being", "create", "Ann", "--json").json()["being_id"]
    with closing(open_laptop(folder, Settings(str(folder), embeddings="builtin-static"))) as home:
        entry = IndexEntry("a", "node", "a pearl", "active", None, (), ())
        home.data.transact(home.index.indexing.prepare(being_id, [entry]).writes)

    lines = {}
    for embeddings in ("builtin-static", "builtin-best", "none"):
        monkeypatch.setenv("NACRE_EMBEDDINGS", embeddings)
        lines[embeddings] = [
            (line["state"], line["found"], line["advice"])
            for line in nacre("doctor", "--port", str(port), "--json").json()
            if line["check"].startswith("embedding")
        ]

    static = "its index has builtin:potion-base-8m:256:1"
    assert lines == {
        "builtin-static": [("ok", "NACRE_EMBEDDINGS is builtin-static", "")],
        "builtin-best": [
            ("ok", "NACRE_EMBEDDINGS is builtin-best, run by onnxruntime", ""),
            ("ok", f"{static}, and changes after the next search or note", ""),
        ],
        "none": [
            ("ok", "NACRE_EMBEDDINGS is none", ""),
            ("warn", static, "run 'nacre reindex'"),
        ],
    }


def test_a_new_machine_is_told_where_to_begin_and_nothing_is_made(
    nacre: Nacre, folder: Path, port: int
) -> None:
    outcome = nacre("doctor", "--port", str(port))

    assert outcome.code == 0
    assert f"warn  data folder: {folder} does not exist yet\n      hint: run 'nacre serve'\n" in (
        outcome.out
    )
    assert not folder.exists()


def test_an_empty_folder_stays_empty(nacre: Nacre, folder: Path, port: int) -> None:
    folder.mkdir(mode=0o700)

    found = nacre("doctor", "--port", str(port), "--json").json()

    assert finding(found, "store")["state"] == "warn"
    assert list(folder.iterdir()) == []


@pytest.mark.requirement("000.cli.doctor")
def test_a_wrong_setting_is_the_last_thing_looked_at(
    nacre: Nacre, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NACRE_LOG_LEVEL", "LOUD")

    outcome = nacre("doctor", "--json")

    assert outcome.code == 1
    found = json.loads(outcome.out)
    assert states(found) == {"version": "ok", "settings": "fail"}
    assert "NACRE_LOG_LEVEL" in finding(found, "settings")["found"]


def test_what_others_can_read_is_named(nacre: Nacre, folder: Path, port: int) -> None:
    nacre("being", "create", "Ann")
    (folder / "nacre.db").chmod(0o644)

    found = nacre("doctor", "--port", str(port), "--json").json()

    assert finding(found, "permissions") == {
        "check": "permissions",
        "state": "warn",
        "found": f"other users can read {folder / 'nacre.db'}",
        "advice": f"run: chmod -R go= {folder}",
    }


@pytest.mark.parametrize("damage", ["other file", "torn"])
def test_a_damaged_store_is_broken(nacre: Nacre, folder: Path, port: int, damage: str) -> None:
    for name in range(40):
        nacre("being", "create", f"Being {name}")
    store = folder / "nacre.db"
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    content = bytearray(store.read_bytes())
    content[0 if damage == "other file" else 4096 :] = b"\x99" * (
        len(content) - (0 if damage == "other file" else 4096)
    )
    store.write_bytes(content)

    outcome = nacre("doctor", "--port", str(port), "--json")

    assert outcome.code == 1
    found = json.loads(outcome.out)
    assert states(found)["store"] == "fail"
    assert "damaged" in finding(found, "store")["found"]
    assert "beings" not in states(found)
    assert store.read_bytes() == bytes(content)


def test_a_being_without_a_token_is_told(nacre: Nacre, port: int) -> None:
    nacre("being", "create", "Ann")
    nacre("being", "create", "Bob")
    nacre("token", "create", "--scope", "full", "--ttl", "6d", "--being", "Bob")

    found = nacre("doctor", "--port", str(port), "--json").json()

    assert finding(found, "tokens of Ann")["found"] == "none is active"
    assert finding(found, "tokens of Bob")["found"] == "the last one expires within a week"
    assert "nacre token create --being Ann" in finding(found, "tokens of Ann")["advice"]


def test_a_name_that_needs_quoting_is_quoted_in_the_advice(nacre: Nacre, port: int) -> None:
    nacre("being", "create", "Ann's twin; rm")

    found = nacre("doctor", "--port", str(port), "--json").json()

    assert (
        """--being 'Ann'"'"'s twin; rm'""" in finding(found, "tokens of Ann's twin; rm")["advice"]
    )


def test_our_own_server_is_known_by_its_answer(nacre: Nacre) -> None:
    with serving() as server:
        port = server.url.split(":")[2].split("/")[0]

        found = nacre("doctor", "--port", port, "--json").json()

    assert (
        finding(found, "port")["found"] == f"an MCP server answers on {port} and asks for a token"
    )


@pytest.fixture
def stranger() -> Iterator[int]:
    """Run another program's web server."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(404)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    with answering(server):
        yield server.server_port


def test_another_program_on_the_port_is_told(nacre: Nacre, stranger: int) -> None:
    found = nacre("doctor", "--port", str(stranger), "--json").json()

    assert finding(found, "port")["state"] == "warn"
    assert "nacre serve --port" in finding(found, "port")["advice"]


URL = '{"type": "http", "url": "http://127.0.0.1:PORT/mcp"}'


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (f'{{"mcpServers": {{"nacre": {URL}}}}}', "ok"),
        (f'{{"projects": {{"/home/ann": {{"mcpServers": {{"nacre": {URL}}}}}}}}}', "ok"),
        (f'\ufeff{{"mcpServers": {{"nacre": {URL}}}}}', "ok"),
        ('{"mcpServers": {"nacre": {"command": "/no/such/nacre"}}}', "warn"),
        (f'{{"mcpServers": {{"nacre": {URL.replace("PORT", "1")}}}}}', "warn"),
        ('{"mcpServers": {"other": {}}}', "warn"),
        ('{"nacre": {}}', "warn"),
        ("[]", "warn"),
        ("{", "warn"),
        ("[" * 100_000, "warn"),
        ("\udcff", "warn"),
    ],
)
def test_a_clients_configuration_is_looked_into(
    nacre: Nacre, port: int, text: str, state: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        text = text.replace("PORT", str(listener.getsockname()[1]))
        (Path.home() / ".claude.json").write_bytes(text.encode("utf-8", "surrogateescape"))
        found = nacre("doctor", "--port", str(port), "--json").json()

    assert finding(found, "client Claude Code")["state"] == state


@pytest.mark.parametrize(
    ("title", "file", "key"),
    [
        ("VS Code", ".config/Code/User/mcp.json", "servers"),
        ("Cursor", ".cursor/mcp.json", "mcpServers"),
        ("Claude Desktop", ".config/Claude/claude_desktop_config.json", "mcpServers"),
    ],
)
@pytest.mark.parametrize(("server", "state"), [("nacre", "ok"), ("other", "warn")])
def test_a_clients_file_may_have_comments(
    nacre: Nacre, port: int, title: str, file: str, key: str, server: str, state: str
) -> None:
    path = Path.home() / file
    path.parent.mkdir(parents=True)
    command = json.dumps(sys.executable)
    path.write_text(f'{{ // nacre\n "{key}": {{"{server}": {{"command": {command},}},}} }}')

    found = nacre("doctor", "--port", str(port), "--json").json()

    assert finding(found, f"client {title}")["state"] == state
    assert "cannot be read" not in finding(found, f"client {title}")["found"]


def test_a_stack_is_looked_at_from_its_outputs_to_its_address(
    nacre: Nacre, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs = {**OUTPUTS, "McpUrl": "http://127.0.0.1:9/mcp"}
    with deployed(monkeypatch, outputs) as stack:
        nacre("being", "create", "Ann", "--stack", stack)

        outcome = nacre("doctor", "--stack", stack, "--json")

    found = json.loads(outcome.out)
    assert outcome.code == 1
    assert states(found) == {
        **{"version": "ok", "settings": "ok", "stack": "ok", "beings": "ok"},
        **{"tokens of Ann": "warn", "index": "ok", "url": "fail", "clients": "warn"},
    }
    assert "does not answer" in finding(found, "url")["found"]


def test_a_stack_says_when_it_has_outgrown_its_index(
    nacre: Nacre, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor_checks, "EXACT_ITEM_POINTS", 3)
    with deployed(monkeypatch, parameters={"SearchFiles": "off"}) as stack:
        nacre("being", "create", "Ann", "--stack", stack)
        [being] = nacre("being", "list", "--stack", stack, "--json").json()
        table = DynamoTable(
            boto3.Session().client("dynamodb", region_name=REGION),
            outputs_of(stack)["DataTableName"],
        )

        def grown(points: int) -> str:
            for number in range(points):
                table.put({**keys.point(being["being_id"], f"n{number}").attributes(), "schema": 1})
            told = nacre("doctor", "--stack", stack, "--json")
            return str(finding(json.loads(told.out), "index")["found"])

        assert grown(3) == "searches read the items, which is enough for each Being"
        assert grown(4) == "Ann: more than 3 memories, of which only the newest 3 are searched"
        advice = finding(json.loads(nacre("doctor", "--stack", stack, "--json").out), "index")
        assert "deploy with SearchFiles=on" in advice["advice"]


def test_a_stack_whose_searches_read_files_has_not_outgrown_them(
    nacre: Nacre, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor_checks, "EXACT_ITEM_POINTS", 0)
    with deployed(monkeypatch, parameters={"SearchFiles": "on"}) as stack:
        nacre("being", "create", "Ann", "--stack", stack)

        found = json.loads(nacre("doctor", "--stack", stack, "--json").out)

    assert finding(found, "index")["state"] == "ok"
    assert finding(found, "index")["found"] == "searches read a file for each Being"


def test_live_checks_need_a_stack_and_ask_its_resources_and_its_address(
    nacre: Nacre, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = nacre("doctor", "--live")
    with deployed(monkeypatch, {**OUTPUTS, "McpUrl": "http://127.0.0.1:9/mcp"}) as stack:
        nacre("being", "create", "Ann", "--stack", stack)
        found = json.loads(nacre("doctor", "--stack", stack, "--live", "--json").out)
        tokens = nacre("token", "list", "--being", "Ann", "--stack", stack, "--json").json()

    assert "--live needs --stack" in alone.err
    assert {"no token", "wrong token", "read-only token", "key", "expiry", "bucket"} <= {
        each["check"] for each in found
    }
    assert finding(found, "no token")["state"] == "fail"
    assert [token["state"] for token in tokens] == ["revoked"]  # the token of the check


def test_a_stack_that_is_not_there_is_broken(nacre: Nacre, monkeypatch: pytest.MonkeyPatch) -> None:
    with deployed(monkeypatch):
        outcome = nacre("doctor", "--stack", "other", "--json")

    assert outcome.code == 1
    assert finding(json.loads(outcome.out), "stack")["found"].startswith(
        "there is no stack 'other'"
    )
    assert MCP_URL not in outcome.out


def test_a_program_that_is_not_there_is_told(nacre: Nacre, port: int) -> None:
    nacre("being", "create", "Ann")
    nacre("server", "add", "far", "--", "no-such-program-here", "x")
    cursor = Path.home() / ".cursor" / "mcp.json"
    cursor.parent.mkdir(parents=True)
    cursor.write_text('{"mcpServers": {"files": {"command": "/no/such/npx", "args": ["a"]}}}')
    nacre("wrap", "files")

    outcome = nacre("doctor", "--port", str(port), "--json")

    assert outcome.code == 1
    found = json.loads(outcome.out)
    assert finding(found, "servers")["found"] == (
        "far starts 'no-such-program-here', which is not installed"
    )
    assert finding(found, "wrapped servers")["found"] == (
        "files of Cursor starts '/no/such/npx', which is not installed"
    )


def test_a_misspelt_setting_is_told(
    nacre: Nacre, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NACRE_LLM_MODLE", "x")
    monkeypatch.setenv("nacre_home", "/x")
    monkeypatch.setenv("NACRE_ZZZ", "x")

    found = nacre("doctor", "--port", str(port), "--json").json()

    assert [(each["found"], each["advice"]) for each in found if each["check"] == "settings"] == [
        ("NACRE_LLM_MODLE is not a setting, so it has no effect", "did you mean NACRE_LLM_MODEL?"),
        ("NACRE_ZZZ is not a setting, so it has no effect", "see docs/reference/settings.md"),
        ("nacre_home is not a setting, so it has no effect", "did you mean NACRE_HOME?"),
    ]


def test_proxies_and_authorities_are_told_without_credentials(
    nacre: Nacre, port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def network() -> list[tuple[str, str]]:
        answer = nacre("doctor", "--port", str(port), "--json")
        assert "s3cret" not in answer.out
        return [
            (each["state"], each["found"])
            for each in json.loads(answer.out)
            if each["check"] == "network"
        ]

    assert network() == []
    monkeypatch.setenv("HTTPS_PROXY", "http://ann:s3cret@proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", "10.0.0.0/8")
    authority = Authority(tmp_path / "ca")
    monkeypatch.setenv("NACRE_CA_FILE", authority.file)
    assert network() == [
        ("ok", "https goes through the proxy proxy.example:3128, but for 10.0.0.0/8"),
        ("ok", f"the authorities in {authority.file} are trusted too"),
    ]
    monkeypatch.setenv("HTTPS_PROXY", "socks5://ann:s3cret@proxy.example")
    assert network()[0][0] == "fail"
    monkeypatch.setenv("HTTPS_PROXY", "http://s3cret:12/34@proxy.example:3128")
    assert network()[0][0] == "fail"


def test_an_unreadable_policy_is_told_once(
    nacre: Nacre, port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "policy.toml").write_text("[[rule]]")
    monkeypatch.setenv("NACRE_POLICY", str(tmp_path / "policy.toml"))
    for name in ("Ann", "Bob", "Cleo"):
        nacre("being", "create", name)

    found = json.loads(nacre("doctor", "--port", str(port), "--json").out)

    assert [each["check"] for each in found if "policy" in each["check"]] == ["policy"]
    assert sum("policy.toml" in each["found"] for each in found) == 1


def test_the_port_of_the_server_that_runs_is_looked_at(nacre: Nacre) -> None:
    with serving() as server:
        found = nacre("doctor", "--json").json()
        link = nacre("owner", "bootstrap").out

    base = server.url.removesuffix("/mcp")
    assert f"the server at {base}/mcp answers" in finding(found, "port")["found"]
    assert link.startswith(f"{base}/")


def test_a_server_that_was_killed_is_not_taken_for_one_that_runs(
    nacre: Nacre, folder: Path
) -> None:
    nacre("being", "create", "Ann")
    (folder / "serving").mkdir(mode=0o700)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    (folder / "serving" / str(ended.pid)).write_text("http://127.0.0.1:1/mcp")

    assert "http://127.0.0.1:1" not in nacre("doctor").out


def test_own_tools_that_cannot_be_loaded_are_told_with_the_reason(
    nacre: Nacre, port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nacre("being", "create", "Ann")
    nacre("token", "create", "--scope", "full")
    (tmp_path / "wrong.py").write_text(
        "from nacre import ToolServer, tool\n"
        'server = ToolServer("mine", "1")\n'
        "@server.register_tool\n@tool\ndef early() -> str:\n    return 'x'\n"
        '@server.register_tool\n@tool(input_schema={"type": "object", "required": 5})\n'
        "async def late() -> str:\n    return 'x'\n"
    )
    (tmp_path / "good.py").write_text(
        'from nacre import ToolServer\nserver = ToolServer("good", "1")\n'
    )
    (tmp_path / "ends.py").write_text("raise SystemExit(3)\n")
    names = ("wrong", "ends", "good")
    monkeypatch.setenv(
        "NACRE_TOOL_SERVERS", ",".join(f"{tmp_path}/{name}.py:server" for name in names)
    )

    outcome = nacre("doctor", "--port", str(port), "--json")
    findings = [each for each in json.loads(outcome.out) if each["check"] == "own tools"]

    assert outcome.code == 1
    assert {each["state"] for each in findings} == {"fail"}
    one_tool, file, schema = (each["found"] for each in findings)
    assert one_tool.startswith("mine: the tool 'early' is left out (TypeError: early must be")
    assert "ends.py:server' could not be loaded (SystemExit: 3)" in file
    assert schema.startswith("mine: the schema of a tool is wrong (InvalidSchemaError: tool 'late'")

    monkeypatch.setenv("NACRE_TOOL_SERVERS", f"{tmp_path}/good.py:server")
    told = finding(nacre("doctor", "--port", str(port), "--json").json(), "own tools")
    assert (told["state"], told["found"]) == ("ok", "loaded: good")
