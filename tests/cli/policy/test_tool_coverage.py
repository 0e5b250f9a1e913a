"""`nacre policy coverage` and `replay`, on the laptop and on a stack."""

import json
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest

from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.firewall.audit.entry import AuditEntry
from nacre.firewall.pins import GLOBAL, Pins
from nacre.ports.items.table import Table
from nacre.wiring.data_folder import DATABASE
from nacre.wiring.laptop import LaptopPorts
from tests.cli.conftest import Nacre
from tests.scaffolding.aws_stack import REGION
from tests.wiring.deployed import deployed, outputs_of

OWN = '[[rule]]\naction = "allow"\ntool = "*"\nserver = "nacre"\n'
READ = '[[rule]]\naction = "allow"\ntool = "read"\nargs.path = "/srv/**"\n'
SHELL = '[[rule]]\naction = "deny"\ntool = "shell"\n'


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return tmp_path / "policy.toml"


# ------------------------------------------------------------------ coverage


@pytest.fixture(params=["laptop", "stack"])
def store(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, nacre: Nacre, folder: Path
) -> Iterator[tuple[list[str], Table]]:
    """The options that name a place, and its table."""
    if request.param == "laptop":
        nacre("owner", "list")  # makes the folder
        database = SqliteDatabase(folder / DATABASE)
        yield [], SqliteTable(database)
        database.close()
        return
    with deployed(monkeypatch) as stack:
        session = boto3.Session(region_name=REGION)
        outputs = outputs_of(stack)
        yield (
            ["--stack", stack],
            DynamoTable(session.client("dynamodb"), outputs["DataTableName"]),
        )


def test_pinned_tools_are_covered_or_not(
    nacre: Nacre, policy: Path, store: tuple[list[str], Table]
) -> None:
    options, table = store
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("read", "write")]
    Pins(table, GLOBAL).observe("files", tools, is_first=True)
    policy.write_text(OWN + READ + SHELL)

    covered = nacre("policy", "coverage", "--policy", str(policy), *options)

    lines = [line.split() for line in covered.out.splitlines()]
    assert covered.code == 1
    assert lines[0] == ["SERVER", "TOOL", "CALLS", "ARE", "RULES"]
    assert lines[1:3] == [
        ["files", "read", "depends", "rule", "2"],
        ["files", "write", "unmentioned", "-"],
    ]
    assert ["nacre", "update_notes", "allowed", "rule", "1"] in lines
    assert covered.err.splitlines() == [
        "rule 3 matches no known tool",
        f"1 of {len(lines) - 1} tools is unmentioned",
    ]


def test_tools_may_come_from_a_file(nacre: Nacre, policy: Path, tmp_path: Path) -> None:
    policy.write_text(READ)
    tools = tmp_path / "tools.json"
    tools.write_text('{"files": ["read"]}')
    command = ["policy", "coverage", "--policy", str(policy), "--tools", str(tools), "--json"]

    assert nacre(*command).json() == {
        "tools": [{"server": "files", "tool": "read", "fate": "depends", "rules": [1]}],
        "idle_rules": [],
    }


@pytest.mark.parametrize("text", ["", "[]", '{"files": "read"}', '{"files": [1]}'])
def test_a_list_of_tools_that_is_none_is_said(
    nacre: Nacre, policy: Path, tmp_path: Path, text: str
) -> None:
    policy.write_text(READ)
    (tmp_path / "tools.json").write_text(text)

    covered = nacre(
        *("policy", "coverage", "--policy", str(policy)),
        *("--tools", str(tmp_path / "tools.json")),
    )

    assert (covered.code, str(tmp_path / "tools.json") in covered.err) == (2, True)


# ------------------------------------------------------------------ replay


def entry(tool: str, outcome: str, *names: str, method: str = "tools/call") -> AuditEntry:
    shape = dict.fromkeys(names, "text 5")
    return AuditEntry(
        outcome=outcome,  # type: ignore[arg-type]  # a text of the test
        server="files",
        method=method,
        tool=tool if method == "tools/call" else None,
        shape=shape or None,
    )


@pytest.fixture
def audit(nacre: Nacre, folder: Path) -> list[AuditEntry]:
    """Records in the audit of this machine."""
    entries = [
        entry("shell", "allow", "command"),
        entry("shell", "allow", "command"),
        entry("shell", "deny"),
        entry("read", "allow", "path"),
        entry("read", "deny"),
        entry("", "allow", "uri", method="resources/read"),
        entry("", "pass", method="ping"),
        entry("", "note", method="tools/list"),
    ]
    nacre("owner", "list")  # makes the folder
    ports = LaptopPorts(folder)
    for each in entries:
        ports.trail.record(each)
    ports.close()
    return entries


REPLAYED = [
    "allow -> deny  files/shell, 2 calls (rule 2)",
    "allow -> deny  files/resources/read, 1 call (no rule)",
    "allow -> allow or deny  files/read, 1 call (rule 1, no rule)",
]


def test_the_audit_of_this_machine_is_decided_anew(
    nacre: Nacre, policy: Path, audit: list[AuditEntry]
) -> None:
    policy.write_text(READ + SHELL)

    replayed = nacre("policy", "replay", "--policy", str(policy))

    assert replayed.code == 1
    assert replayed.out.splitlines() == REPLAYED
    assert replayed.err == "6 calls: 3 decided differently, 1 depends on values\n"


def test_a_copy_of_an_audit_is_decided_anew(
    nacre: Nacre, policy: Path, audit: list[AuditEntry], tmp_path: Path
) -> None:
    policy.write_text(READ + SHELL)
    nacre("audit", "export", str(tmp_path / "copy.jsonl"))

    replayed = nacre("policy", "replay", "--policy", str(policy), str(tmp_path / "copy.jsonl"))

    assert replayed.out.splitlines() == REPLAYED


def test_a_policy_that_changes_nothing_succeeds(nacre: Nacre, policy: Path, tmp_path: Path) -> None:
    policy.write_text(READ + SHELL)
    lines = [entry("shell", "deny").facts(), entry("read", "deny").facts()]
    kept = [
        {**entry("read", outcome, "path").facts(), "arguments": {"path": path}}
        for path, outcome in (("/srv/a", "allow"), ("/etc/passwd", "deny"))
    ]
    prompted = {**entry("ask", "allow").facts(), "approval": "x once ann"}
    file = tmp_path / "copy.jsonl"
    file.write_text("\n".join(json.dumps(each) for each in (*lines, *kept)) + "\n\n")
    same = nacre("policy", "replay", "--policy", str(policy), str(file), "--json")
    file.write_text(json.dumps(prompted))
    other = nacre("policy", "replay", "--policy", str(policy), str(file), "--json")

    assert (same.code, same.json()) == (0, [])
    assert json.loads(other.out) == [
        {
            "server": "files",
            "name": "ask",
            "before": "prompt",
            "after": ["deny"],
            "rules": ["no rule"],
            "calls": 1,
        }
    ]


def test_more_arguments_than_are_kept_leave_it_open(
    nacre: Nacre, policy: Path, tmp_path: Path
) -> None:
    policy.write_text(READ)
    many = {**entry("read", "allow").facts(), "shape": {"…": "12 more"}}
    (tmp_path / "copy.jsonl").write_text(json.dumps(many))

    replayed = nacre("policy", "replay", "--policy", str(policy), str(tmp_path / "copy.jsonl"))

    assert (replayed.code, "allow or deny" in replayed.out) == (0, True)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "7",
        "{}",
        '{"outcome": "allow"}\nx',
        '{"outcome": ["allow"]}',
        '{"outcome": "allow", "method": ["tools/call"]}',
        '{"outcome": "allow", "method": "tools/call", "tool": 5, "server": []}',
        '{"outcome": "allow", "method": "tools/call", "tool": "x", "shape": 5}',
        "[" * 100_000,
    ],
)
def test_what_is_no_audit_is_said(nacre: Nacre, policy: Path, tmp_path: Path, text: str) -> None:
    policy.write_text(READ)
    (tmp_path / "copy.jsonl").write_text(text)

    replayed = nacre("policy", "replay", "--policy", str(policy), str(tmp_path / "copy.jsonl"))

    assert (replayed.code, "is not a record of an audit" in replayed.err) == (2, True)


def test_an_audit_that_is_not_there_is_said(nacre: Nacre, policy: Path) -> None:
    policy.write_text(READ)

    assert nacre("policy", "replay", "--policy", str(policy), "none.jsonl").code == 3
