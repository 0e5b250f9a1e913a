"""The MCP entry: the Being's own tools, resources and prompts behind the policy."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from nacre.adapters.files.audit import JsonlRecords
from nacre.being.application import Application
from nacre.core.coroutines import step
from nacre.core.errors import PolicyError
from nacre.faces.mcp_endpoint import dispatcher
from nacre.firewall.audit.log import verify_chain
from nacre.firewall.policies.live_policy import PolicyFile
from nacre.firewall.policies.loader import read_policy
from nacre.protocol.caller import Caller, Peer
from nacre.protocol.context import Silence
from nacre.protocol.messages import Answer, Request
from nacre.protocol.principal import FULL, READ_ONLY, Principal
from nacre.wiring.laptop import first_being, open_laptop
from nacre.wiring.settings import Settings
from tests.firewall.guarding import MODERN

NOW = {"name": "get_current_time", "arguments": {"timezone": "UTC"}}
YES = {"action": "accept", "content": {"decision": "allow once"}}


@dataclass
class Entry:
    """A laptop's application, asked as a face asks it."""

    application: Application
    principal: Principal
    folder: Path

    def ask(
        self, method: str, params: dict[str, Any], capabilities: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        caller = Caller(MODERN, self.principal, Peer(capabilities or {}))
        begun = dispatcher(self.application).begin(Request(1, method, params), caller)
        answer = begun if isinstance(begun, Answer) else step(begun.run(Silence()))
        return dict(json.loads(answer.body))

    def records(self) -> list[dict[str, Any]]:
        stored = JsonlRecords(self.folder / "audit")
        assert [chain.writer for chain in stored.chains() if verify_chain(chain).problem] == []
        return [json.loads(line) for chain in stored.chains() for line in chain.lines]


@contextmanager
def entry(folder: Path, policy: str | None, *, scopes: frozenset[str] = FULL) -> Iterator[Entry]:
    file = folder / "policy.toml"
    if policy is not None:
        file.write_text(policy)
    settings = Settings(
        data_folder=str(folder), embeddings="none", policy_file=str(file) if policy else ""
    )
    laptop = open_laptop(folder / "data", settings)
    try:
        being = first_being(laptop)
        assert being is not None
        yield Entry(laptop.application, Principal("t1", being.being_id, scopes), folder / "data")
    finally:
        laptop.close()


@pytest.fixture(autouse=True)
def nobodys_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


def test_without_a_policy_the_own_tools_resources_and_prompts_are_open(tmp_path: Path) -> None:
    with entry(tmp_path, None) as server:
        assert "isError" not in server.ask("tools/call", NOW)["result"]
        assert server.ask("resources/read", {"uri": "nacre://context/snapshot"})["result"][
            "contents"
        ]
        (prompt, *_) = server.ask("prompts/list", {})["result"]["prompts"]
        server.ask("prompts/get", {"name": prompt["name"], "arguments": {}})
        records = server.records()

    assert [(record["outcome"], record["method"], record.get("tool")) for record in records] == [
        ("allow", "tools/call", "get_current_time"),
        ("allow", "resources/read", None),
        ("allow", "prompts/get", None),
    ]
    assert {record["principal"] for record in records} == {"t1"}
    assert {record["server"] for record in records} == {"nacre"}
    assert records[0]["shape"] == {"timezone": "text 3"}


def test_a_policy_denies_and_hides_a_tool(tmp_path: Path) -> None:
    text = (
        '[[rule]]\naction = "deny"\ntool = "get_current_time"\ndescription = "No clocks"\n'
        '[[rule]]\naction = "deny"\nresource = "nacre://context/**"\n'
        '[[rule]]\naction = "allow"\ntool = "**"\n'
    )
    with entry(tmp_path, text) as server:
        denied = server.ask("tools/call", NOW)["result"]
        names = [tool["name"] for tool in server.ask("tools/list", {})["result"]["tools"]]
        read = server.ask("resources/read", {"uri": "nacre://context/snapshot"})
        records = server.records()

    assert denied["isError"] is True
    assert denied["content"] == [{"type": "text", "text": "No clocks"}]
    facts = {"decision": "deny", "rule": 1, "audit": "laptop-1/1"}
    assert denied["_meta"]["nacre/policy"] == facts
    assert "get_current_time" not in names
    assert "update_notes" in names
    assert (read["error"]["code"], read["error"]["data"]["rule"]) == (-31001, 2)
    assert [record["outcome"] for record in records] == ["deny", "deny"]


def test_a_policy_may_want_errors(tmp_path: Path) -> None:
    text = '[settings]\ndeny_style = "error"\n'
    with entry(tmp_path, text) as server:
        assert server.ask("tools/call", NOW)["error"]["code"] == -31001


def test_monitoring_denies_and_hides_nothing(tmp_path: Path) -> None:
    with entry(tmp_path, '[settings]\nmode = "monitor"\n') as server:
        assert "isError" not in server.ask("tools/call", NOW)["result"]
        assert len(server.ask("tools/list", {})["result"]["tools"]) == 12
        (record,) = server.records()

    assert (record["outcome"], record["enforced"]) == ("deny", False)


ASK = '[[rule]]\naction = "prompt"\ntool = "get_current_time"\ndescription = "Ask first"\n'
ASK += "[settings]\nwait_seconds = 0\n"


def test_the_person_behind_the_client_is_asked(tmp_path: Path) -> None:
    with entry(tmp_path, ASK) as server:
        first = server.ask("tools/call", NOW, {"elicitation": {}})["result"]
        ((name, question),) = first["inputRequests"].items()
        again = {"requestState": first["requestState"], "inputResponses": {name: YES}}
        second = server.ask("tools/call", {**NOW, **again}, {"elicitation": {}})["result"]
        replayed = server.ask("tools/call", {**NOW, **again}, {"elicitation": {}})
        elsewhere = {**NOW, **again, "arguments": {"timezone": "Asia/Tokyo"}}
        changed = server.ask("tools/call", elsewhere, {"elicitation": {}})
        outcomes = [record["outcome"] for record in server.records()]

    assert question["method"] == "elicitation/create"
    assert "Ask first" in question["params"]["message"]
    assert "isError" not in second
    assert "used already" in replayed["error"]["message"]
    assert changed["error"]["code"] == -32602
    assert outcomes == ["prompt", "prompt", "allow"]


def test_a_no_denies(tmp_path: Path) -> None:
    with entry(tmp_path, ASK) as server:
        first = server.ask("tools/call", NOW, {"elicitation": {}})["result"]
        (name,) = first["inputRequests"]
        answer = {"inputResponses": {name: {"action": "decline"}}}
        again = {**NOW, **answer, "requestState": first["requestState"]}
        second = server.ask("tools/call", again, {"elicitation": {}})["result"]

    assert second["isError"] is True


def test_where_nobody_can_be_asked_the_denial_says_how_to_approve(tmp_path: Path) -> None:
    with entry(tmp_path, ASK) as server:
        denied = server.ask("tools/call", NOW)["result"]

    assert denied["isError"] is True
    assert " approvals allow " in denied["content"][0]["text"]


def test_an_audit_that_cannot_be_written_denies(tmp_path: Path) -> None:
    with entry(tmp_path, None) as server:
        (server.folder / "audit").write_text("in the way")
        denied = server.ask("tools/call", NOW)["result"]

    assert denied["isError"] is True
    assert "the audit cannot be written" in denied["content"][0]["text"]


def test_what_a_read_only_token_may_not_do_its_scope_says_before_the_policy(tmp_path: Path) -> None:
    write = {"name": "update_notes", "arguments": {"action": "get"}}
    with entry(tmp_path, None, scopes=READ_ONLY) as server:
        refused = server.ask("tools/call", write)
        assert "isError" not in server.ask("tools/call", NOW)["result"]
        records = server.records()

    assert refused["error"]["code"] == 403
    assert [record["tool"] for record in records] == ["get_current_time"]


def test_a_wrong_policy_is_told_of_at_the_start(tmp_path: Path) -> None:
    text = '[[rule]]\naction = "alow"\ntool = "x"\n'
    with pytest.raises(PolicyError, match="unknown action"), entry(tmp_path, text):
        pass


# A policy that changes while it is in force.


class Watch:
    """Time that stands still until it is moved."""

    def __init__(self) -> None:
        self.passed = 0.0

    def tick(self) -> float:
        return self.passed

    def now(self) -> float:
        return 4e9 + self.passed  # long after any file was written


def digests(path: Path, *texts: str | None) -> tuple[list[bool], list[str]]:
    """Return for each change of the file whether the policy changed, and what was told."""
    warnings: list[str] = []
    watch = Watch()
    source = PolicyFile(path, read_policy, tell=warnings.append, tick=watch.tick, now=watch.now)
    digest = source.current().digest
    changes = []
    for text in texts:
        path.unlink() if text is None else path.write_text(text)
        assert source.current().digest == digest
        watch.passed += 1.0
        changes.append(source.current().digest != digest)
        digest = source.current().digest
    return changes, warnings


GOOD = '[[rule]]\naction = "allow"\ntool = "a"\n'


def test_a_changed_policy_counts_within_a_second(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text("")

    assert digests(path, GOOD, GOOD.replace('"a"', '"b"')) == (
        [True, True],
        [f"{path}: the policy was read again"] * 2,
    )


def test_a_policy_that_becomes_wrong_or_goes_away_leaves_the_last_good_one(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text(GOOD)

    changes, warnings = digests(
        path, "[[rule]]\naction = 1\n", None, "[settings]\nmode = 'monitor'\n"
    )

    assert changes == [False, False, True]
    assert [warning.rpartition("; ")[2] for warning in warnings[:2]] == [
        "the last good policy stays in force"
    ] * 2
    assert "rule 1" in warnings[0]
    assert warnings[1].startswith(f"{path}: is gone")


def test_a_policy_that_is_being_written_is_read_when_it_is_done(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text("")
    watch = Watch()
    changed_at = path.stat().st_mtime
    source = PolicyFile(
        path,
        read_policy,
        tell=lambda _: None,
        tick=watch.tick,
        now=lambda: changed_at + watch.passed,
    )
    path.write_text(GOOD)
    changed_at = path.stat().st_mtime - 0.45
    watch.passed = 0.5

    before = source.current().digest
    watch.passed = 1.0

    assert source.current().digest != before


def test_a_limit_counts_the_calls_of_each_caller(tmp_path: Path) -> None:
    text = """
    [[rule]]
    action = "allow"
    tool = "*"
    [[limit]]
    tool = "get_current_time"
    calls = 2
    per = "day"
    by = "caller"
    """
    with entry(tmp_path, text) as first:
        told = [first.ask("tools/call", NOW)["result"] for _ in range(3)]
        second = replace(first, principal=replace(first.principal, subject="t2"))
        other = second.ask("tools/call", NOW)["result"]
        records = first.records()

    assert ["isError" in result and result["isError"] for result in told] == [False, False, True]
    assert "the limit of 2 calls a day for each caller is used up" in told[2]["content"][0]["text"]
    assert not other.get("isError")
    assert [record["outcome"] for record in records if record.get("tool")] == [
        *("allow", "allow", "deny", "allow")
    ]
