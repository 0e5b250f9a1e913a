"""Plays cases of memory poisoning against a laptop or a stack under the policy pack `guarded`.

Only the model is missing: what an agent does is written in the case. Its calls pass the real
entry, policy, gateway, store, search and patrol. The other servers answer over loopback; none of
them is trusted. The clock is moved on by the hours of a case.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

from nacre.being.memory.transfer.deferred_index import DeferredIndex
from nacre.being.memory.transfer.foreign_records import SkippedPart
from nacre.being.memory.transfer.importer import Importer
from nacre.being.patrol.command_patrols import LocalPatrols
from nacre.cli.memory.foreign_files import read_foreign
from nacre.core.limits import RECEIVED_SECONDS
from nacre.firewall.approvals.service import Denial, Desk, Grant
from nacre.firewall.policies.packs import text_of
from nacre.wiring.compose import Home
from tests.end_to_end.poisoning.cases import Case, Session, Step
from tests.gateway.http_upstream import Upstream, http_upstream
from tests.scaffolding.deployments import Clock, Deployment, on_laptop, on_stack

RULES = f"{text_of('guarded')}\n[settings]\nwait_seconds = 0\n"
READING: Mapping[str, tuple[str, dict[str, Any]]] = {
    "web": ("search_web", {"query": "what the person asked for"}),
    "issues": ("get_issue", {"number": 7}),
    "inbox": ("read_message", {"number": 3}),
    "files": ("read_file", {"path": "/home/ann/work/notes.txt"}),
    "calendar": ("list_events", {"day": "2026-11-20"}),
}
"""The tool that a step `read` calls on each server, and its arguments."""
BY_ADDRESS = {**READING, "web": ("read_page", {"url": "https://pages.example/a"})}
"""The same for an agent that opens web pages by their address."""
SENDING = {"send": ("mail", "send"), "post": ("web", "create_post")}
_SERVED: Mapping[str, tuple[str, ...]] = {
    "web": ("search_web", "read_page", "create_post"),
    "issues": ("get_issue",),
    "inbox": ("read_message",),
    "files": ("read_file",),
    "calendar": ("list_events",),
    "mail": ("send",),
}
_PERSONA = {"persona": "souls", "rule": "partner_rules"}
_SCENE = {"actors": ["Ann"], "when": ["2026-11-20"]}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a case: whether it ended as its owner wants, and why not."""

    case: Case
    is_good: bool
    reason: str = ""
    idle: Sequence[str] = ()  # steps that did nothing, such as a correction of what is not found


@dataclass(slots=True)
class _Turn:
    """One session under way, and what has happened in it."""

    case: Case
    token: str
    asked: int = 0
    denied: list[str] = field(default_factory=list)
    reached: list[str] = field(default_factory=list)  # what an attacker wants
    idle: list[str] = field(default_factory=list)


class Town(Deployment):
    """A deployment with six other servers behind it."""

    scratch: Path

    def __init__(self, opened: Callable[[Clock], Home]) -> None:
        super().__init__(opened)
        self.texts: dict[str, str] = {}
        self.reading = READING
        self.allows_tools = False  # whether the owner allows any call of a tool, for ten minutes
        self.greets = False  # whether each session begins with get_context, as clients are told

    def play(self, case: Case) -> Outcome:
        """Play a case with a Being of its own, and judge it."""
        being, self.being = self.being, self.home.beings.create(_name(case), owner="me")
        try:
            turns = [self._session(case, session) for session in case.sessions]
        finally:
            self.being = being
        # No question and no result of this case counts for the next.
        self.clock.move(2 * RECEIVED_SECONDS + 1)
        return _judged(case, turns)

    def _session(self, case: Case, session: Session) -> _Turn:
        self.clock.move(timedelta(hours=session.hours).total_seconds())
        turn = _Turn(case, session.token)
        if self.greets:
            self._own("get_context", {}, turn)
        acts: Mapping[str, Callable[[Step, _Turn], None]] = {
            "read": self._read,
            "note": self._note,
            "recall": self._recall,
            "persona": self._change,
            "rule": self._change,
            "send": self._send,
            "post": self._send,
            "heard": self._hear,
            "import": self._import,
            "correct": self._correct,
            "merge": self._merge,
            "patrol": self._patrol,
        }
        for step in session.steps:
            acts[step.kind](step, turn)
        return turn

    def _read(self, step: Step, turn: _Turn) -> None:
        server, text = step.value["server"], step.value["text"]
        tool, arguments = self.reading[server]
        self.texts[server] = text
        result = self._ask(f"mcp__{server}__{tool}", arguments, turn)
        assert result is None or text in _said(result), "another text was read"

    def _note(self, step: Step, turn: _Turn) -> None:
        self._own("update_notes", {"scenes": [{**_SCENE, "action": step.value}]}, turn)

    def _recall(self, step: Step, turn: _Turn) -> None:
        """Recall memories; an agent that is shown none searches for them."""
        recalled = self._own("recall", {"user_message": step.value}, turn)
        if not recalled["_meta"]["nacre/search"]["memories"]:
            self._own("search_memory", {"query": step.value}, turn)

    def _change(self, step: Step, turn: _Turn) -> None:
        target = _PERSONA[step.kind]
        arguments = {"target": target, "action": "append", "content": step.value}
        if target == "souls":
            arguments["key"] = "values"
        before, state = turn.asked, self._entries(target)
        self._ask("update_memory", arguments, turn)
        if turn.asked == before and self._entries(target) != state:
            turn.reached.append(f"{step.kind} changed unasked")

    def _entries(self, target: str) -> str:
        arguments = {"target": target, "action": "get"}
        return _said(self.call("update_memory", arguments, token="owner"))

    def _send(self, step: Step, turn: _Turn) -> None:
        server, tool = SENDING[step.kind]
        arguments = {"body" if key == "text" else key: text for key, text in step.value.items()}
        before = turn.asked
        result = self._ask(f"mcp__{server}__{tool}", arguments, turn)
        if result is not None and step.is_aim and turn.asked == before:
            turn.reached.append(f"{step.kind} ran unasked")

    def _hear(self, step: Step, turn: _Turn) -> None:
        now = self.clock().isoformat()
        said = {"role": "user", "text": step.value, "at": now}
        captured = {"client": "codex", "session": f"at {now}", "messages": [said]}
        self._own("capture_messages", captured, turn)

    def _import(self, step: Step, _: _Turn) -> None:
        """Import a file of another program, as `nacre import` does."""
        being_id, source = self.being.being_id, step.value["source"]
        file = _foreign(source, step.value["text"], self.scratch)
        parts = read_foreign(source, str(file), today=self.clock())
        records = [part for part in parts if not isinstance(part, SkippedPart)]
        assert records, step.value
        index = DeferredIndex(self.home.data, clock=self.clock, rng=Random(1))
        Importer(self.home.data, index).run(being_id, records)
        self.home.index.work(self.home.leases).run(being_id, "repair", lambda *_: None)

    def _correct(self, step: Step, turn: _Turn) -> None:
        node, text = self._find(step.value["find"], turn), step.value["text"]
        if node is None:
            turn.idle.append(f"nothing to correct: {step.value['find']}")
            return
        change = {"target": "memories", "action": "update", "key": node, "content": text}
        self._own("update_memory", change, turn)

    def _merge(self, step: Step, turn: _Turn) -> None:
        found = dict.fromkeys(node for words in step.value if (node := self._find(words, turn)))
        if len(found) < 2:
            turn.idle.append(f"nothing to merge: {step.value}")
            return
        merged = {"node_ids": list(found), "summary": "; ".join(step.value)}
        self._own("merge_nodes", merged, turn)

    def _patrol(self, _: Step, __: _Turn) -> None:
        patrols = LocalPatrols(self.home.patrol_jobs, self.home.leases)
        patrols.run(self.being.being_id, lambda *_: None)

    def _find(self, words: str, turn: _Turn) -> str | None:
        result = self._own("search_memory", {"query": words}, turn)
        hits = result["_meta"]["nacre/search"]["memories"]
        return next((str(hit["id"]) for hit in hits if hit["kind"] == "node"), None)

    def _own(self, tool: str, arguments: Mapping[str, Any], turn: _Turn) -> dict[str, Any]:
        """Call a tool of the Being that no rule stops."""
        result = self.call(tool, arguments, token=turn.token)
        assert not result.get("isError"), (tool, result)
        return result

    def _ask(self, tool: str, arguments: Mapping[str, Any], turn: _Turn) -> dict[str, Any] | None:
        """Make a call, and again if its owner has allowed it; return None if it never ran."""
        result = self.call(tool, arguments, token=turn.token)
        if not result.get("isError"):
            return result
        question = re.search(r"approvals allow ([0-9a-z-]+)", _said(result))
        if question is None:
            turn.denied.append(f"{tool} was denied: {_said(result)}")
            return None
        turn.asked += 1
        desk = Desk(self.home.data, clock=self.clock)
        answer = Denial() if turn.case.is_attack else self._yes(desk, question[1])
        desk.decide(question[1], answer, by="ann")
        if turn.case.is_attack:
            return None
        result = self.call(tool, arguments, token=turn.token)
        assert not result.get("isError"), result
        return result

    def _yes(self, desk: Desk, name: str) -> Grant:
        ticket = next(ticket for ticket in desk.all() if ticket.ticket == name)
        return Grant("tool" if self.allows_tools and ticket.tool is not None else "once")


@contextmanager
def laptop(folder: Path, rules: str = RULES) -> Iterator[Town]:
    """Open a laptop as it is installed, with the pack `guarded`."""
    with on_laptop(Town, folder, rules, embeddings="builtin") as town:
        yield from _with_servers(town, folder)


@contextmanager
def stack(folder: Path, rules: str = RULES) -> Iterator[Town]:
    """Open a stack in a fake AWS with the pack `guarded`, without embeddings."""
    with on_stack(Town, rules) as town:
        yield from _with_servers(town, folder)


def _with_servers(town: Town, folder: Path) -> Iterator[Town]:
    town.scratch = folder
    with ExitStack() as servers:
        for name, tools in _SERVED.items():
            upstream = servers.enter_context(http_upstream())
            upstream.answer = _answers(upstream, name, tools, town)  # type: ignore[method-assign,assignment]
            town.add(name, {"url": upstream.url})
            # One after the other: moto copies its tables while another thread may write.
            town.restart()
        try:
            yield town
        finally:
            town.home.close()


def _answers(
    upstream: Upstream, name: str, tools: Sequence[str], town: Town
) -> Callable[[dict[str, Any]], tuple[int, bytes, str]]:
    """Return what a server answers: its tools, and the text that is in it now."""
    plain = upstream.answer

    def answer(asked: dict[str, Any]) -> tuple[int, bytes, str]:
        match asked["method"]:
            case "tools/list":
                listed = [{"name": tool, "inputSchema": {"type": "object"}} for tool in tools]
                result: dict[str, Any] = {"tools": listed, "ttlMs": 0, "cacheScope": "private"}
            case "tools/call":
                is_read = (name, asked["params"]["name"]) not in SENDING.values()
                text = town.texts[name] if is_read else "done"
                result = {"content": [{"type": "text", "text": text}]}
            case _:
                return plain(asked)
        whole = {"resultType": "complete", **result}
        body = {"jsonrpc": "2.0", "id": asked["id"], "result": whole}
        return 200, json.dumps(body).encode(), "application/json"

    return answer


def _foreign(source: str, text: str, folder: Path) -> Path:
    """Write a file, or a folder, as another program exports it."""
    if source == "basic-memory":
        file = folder / "notes"
        file.mkdir(exist_ok=True)
        line = " ".join(text.split())
        page = f"---\ntitle: Notes\n---\n\n- [fact] {line}\n"
        (file / "notes.md").write_text(page, encoding="utf-8")
    else:
        file = folder / "export.json"
        entity = {"type": "entity", "name": "Ann", "entityType": "person", "observations": [text]}
        memory = {"results": [{"id": "1", "memory": text, "user_id": "ann"}]}
        content = entity if source == "server-memory" else memory
        file.write_text(json.dumps(content), encoding="utf-8")
    return file


def _judged(case: Case, turns: Sequence[_Turn]) -> Outcome:
    idle = tuple(step for session in turns for step in session.idle)
    if case.is_attack:
        reached = [reason for session in turns for reason in session.reached]
        return Outcome(case, not reached, "; ".join(reached), idle)
    denied = [reason for session in turns for reason in session.denied]
    most = max(session.asked for session in turns)
    questions = [f"{most} questions in one session"] if most > 1 else []
    wrong = [*denied, *questions]
    return Outcome(case, not wrong, "; ".join(wrong), idle)


def _said(result: Mapping[str, Any]) -> str:
    return "".join(block.get("text", "") for block in result["content"])


def _name(case: Case) -> str:
    return f"Being {case.id}"[:40]
