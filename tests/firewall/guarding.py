"""A guard with all its parts in memory, and short ways to speak to it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.core.clock import system_clock
from nacre.core.errors import UnavailableError
from nacre.firewall.approvals.approver import (
    Approval,
    ApprovalRequest,
    Approver,
    Granted,
    Nobody,
    Question,
    Refused,
    Waiting,
)
from nacre.firewall.audit.entry import AuditEntry, Record
from nacre.firewall.enforce.content_check import Screen
from nacre.firewall.enforce.guard import Guard
from nacre.firewall.enforce.judge import Judge, Limits, Uncounted
from nacre.firewall.enforce.verdicts import Answer, Drop, Forward, Verdict
from nacre.firewall.pins import Pins
from nacre.firewall.policies.live_policy import FixedPolicy
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import NOWHERE, Surroundings
from nacre.protocol.dispatch.request_state import RequestStates, SigningKeys
from tests.firewall.deciding import policy

ALLOW = '[[rule]]\naction = "allow"\ntool = "**"\n'
SEED = """
[[rule]]
action = "deny"
tool = "shell_execute"
description = "Block all shell execution"
[[rule]]
action = "prompt"
tool = "filesystem_*"
args.path = "/etc/**"
description = "Ask before accessing system config"
[[rule]]
action = "allow"
tool = "filesystem_read"
args.path = "/home/user/projects/**"
[[rule]]
action = "deny"
tool = "*"
"""
MODERN = "2026-07-28"


class Notebook:
    """A trail that keeps what it is told, and fails when it should."""

    def __init__(self) -> None:
        self.entries: list[AuditEntry] = []
        self.fails = False

    def record(self, entry: Record) -> str:
        if self.fails:
            raise UnavailableError("the disk is full")
        self.entries.append(entry if isinstance(entry, AuditEntry) else entry.whole())
        return f"w/{len(self.entries)}"

    def outcomes(self) -> list[tuple[str, str]]:
        return [(entry.outcome, entry.method) for entry in self.entries]


@dataclass
class Person:
    """Somebody who is asked in one way and answers in one way."""

    by: Question | Waiting | None = None
    says: Approval = field(default_factory=lambda: Granted("g1"))
    asked: list[ApprovalRequest] = field(default_factory=list)
    grants: int = 0

    def ask(self, request: ApprovalRequest, *, can_elicit: bool) -> Approval:
        self.asked.append(request)
        if self.grants:
            self.grants -= 1
            return Granted("earlier")
        if isinstance(self.by, Question) and not can_elicit:
            return Refused("no form can be shown here; run: nacre approvals")
        return self.by or self.says

    def answered(
        self, request: ApprovalRequest, ticket: str, result: Mapping[str, Any]
    ) -> Granted | Refused:
        del request
        accepted = result.get("action") == "accept" and ticket == "t1"
        return Granted("g1") if accepted else Refused("Not approved")

    def look(self, request: ApprovalRequest, ticket: str) -> Granted | Refused | Waiting:
        del request, ticket
        assert not isinstance(self.says, Question)
        return self.says


FORM = Question("t1", {"message": "May it?", "requestedSchema": {"type": "object"}})


class Ticks:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Scene:
    """One conversation through a guard; ids count up from 1."""

    def __init__(
        self,
        text: str | Policy = ALLOW,
        *,
        server: str = "fs",
        approver: Approver | None = None,
        pins: bool = False,
        screen: Screen | None = None,
        where: Surroundings = NOWHERE,
        lines: bool = True,
        audit: Notebook | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.audit = audit or Notebook()
        self.told: list[str] = []
        self.ticks = Ticks()
        self.database = SqliteDatabase(":memory:") if pins else None
        self.pins = Pins(SqliteTable(self.database), "laptop") if self.database else None
        self.judge = Judge(
            FixedPolicy(policy(text) if isinstance(text, str) else text),
            self.audit,
            self.told.append,
            server,
            where,
            approver or Nobody(),
            limits=limits or Uncounted(),
        )
        self.screen = screen
        self.lines = lines
        self.guard = self.new_guard()
        self.last_id = 0

    def new_guard(self) -> Guard:
        """Return the guard of another conversation with the same server."""
        return Guard(
            self.judge,
            screen=self.screen,
            pins=self.pins,
            states=RequestStates(lambda: SigningKeys(b"k" * 32), system_clock),
            lines=self.lines,
            tick=self.ticks,
        )

    def close(self) -> None:
        if self.database is not None:
            self.database.close()

    def up(self, message: Any) -> Verdict:
        return self.guard.from_client(encoded(message))

    def down(self, message: Any) -> Verdict:
        return self.guard.from_server(encoded(message))

    def request(self, method: str, params: Any = None, **meta: Any) -> dict[str, Any]:
        self.last_id += 1
        return request(self.last_id, method, params, **meta)

    def call(self, tool: str, arguments: Any = None, **more: Any) -> dict[str, Any]:
        params = {"name": tool, "arguments": {} if arguments is None else arguments, **more}
        return self.request("tools/call", params)

    def opened(self, version: str, capabilities: Any = None) -> "Scene":
        """Open the conversation as the older generation does."""
        opening = self.request(
            "initialize", {"protocolVersion": version, "capabilities": capabilities or {}}
        )
        assert isinstance(self.up(opening), Forward)
        answer = {"protocolVersion": version, "capabilities": {}, "serverInfo": {"name": "x"}}
        assert isinstance(self.down(response(self.last_id, answer)), Forward)
        return self

    def answered(self, message: dict[str, Any], result: Any) -> Verdict:
        """Send a request that is allowed, and return what becomes of the server's answer."""
        assert isinstance(self.up(message), Forward)
        return self.down(response(message["id"], result))


def request(id_: Any, method: str, params: Any = None) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "id": id_, "method": method}
    return body if params is None else {**body, "params": params}


def response(id_: Any, result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "result": result}


def notification(method: str, params: Any = None) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "method": method}
    return body if params is None else {**body, "params": params}


def modern(params: dict[str, Any], **capabilities: Any) -> dict[str, Any]:
    """Return parameters as the stateless generation sends them."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    }
    return {**params, "_meta": meta}


def encoded(message: Any) -> bytes:
    return message if isinstance(message, bytes) else json.dumps(message).encode()


def told(verdict: Verdict) -> Any:
    """Return the message that the sender gets."""
    assert isinstance(verdict, Answer), verdict
    return json.loads(verdict.raw)


def passed(verdict: Verdict) -> Any:
    """Return the message that goes on."""
    assert isinstance(verdict, Forward), verdict
    return json.loads(verdict.raw)


def error_code(verdict: Verdict) -> int:
    return int(told(verdict)["error"]["code"])


def is_dropped(verdict: Verdict) -> bool:
    return isinstance(verdict, Drop)
