"""The causes of a memory or a scene: tellings, messages, results, runs, merges and corrections.

Only stored ids are followed. The audit names no memory, so a call is matched to its writes by
their time alone; such a cause says so, and if several calls fit, all of them are listed.
"""

from collections.abc import Iterator, Mapping, Sequence

from nacre.being.memory.model.lineage import (
    is_corroborated,
    is_vouched,
    lineage_of_text,
    origins_of,
    standing_of,
    tellings_of,
    without_vouch,
)
from nacre.being.memory.model.types import AUTHORS, UNDONE, Author, Message, Node, Scene
from nacre.being.memory.model.wordings import ORIGIN_OF, Wording, earlier_versions, wordings_of
from nacre.being.memory.repositories import Repositories
from nacre.being.memory.store.evidence import first_scenes
from nacre.being.memory.text.memory_text import counted, scene_line
from nacre.being.patrol.run.runs import Run, Runs
from nacre.being.provenance.audited_calls import Around, AuditedCall, AuditedCalls
from nacre.being.provenance.cause import Cause, cut, facts_of
from nacre.core.errors import NotFoundError
from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.core.limits import (
    KEPT_WORDINGS,
    PROVENANCE_CAUSES,
    PROVENANCE_MERGES,
    PROVENANCE_MESSAGES,
    PROVENANCE_SCENES,
)
from nacre.core.origins import AGENT, Origins, external, texts_of, union
from nacre.ports.audit import AuditRecords
from nacre.ports.items.table import Table

NOTED_BY: Mapping[str, str] = {
    "tool": "by a tool call",
    "extract": "in a conversation",
    "import": "by an import",
    "mirror": "by an edited file",
}
LOCAL = "local"  # the caller over stdio, who has no token
_CALLS = 3  # that may have written one thing
_TOOLS = 10  # of one server that are named
_ORDERS = "order_"


@dataclass(frozen=True, slots=True)
class Sources:
    """Everything that is read to find causes; `callers` are the names of tokens by their ids."""

    table: Table
    memory: Repositories
    records: AuditRecords
    callers: Mapping[str, str]


def why_memory(sources: Sources, being_id: str, id_: str) -> Cause:
    """Return a memory or a scene with its causes; raises NotFoundError for other ids."""
    tree = MemoryTree(sources, being_id)
    id_ = id_.strip()
    node = scene = None
    if id_.isascii() and id_.isprintable() and len(id_) <= _LONGEST_ID:
        node = sources.memory.nodes.get(being_id, id_)
        scene = sources.memory.scenes.get_many(being_id, [id_]).get(id_)
    if node is not None:
        return tree.finished(tree.memory(node))
    if scene is not None:
        return tree.finished(tree.scene(scene))
    raise NotFoundError(
        "this Being has no memory and no scene with this id: it was erased, or the id is another"
        " one; 'recall' and the console show the ids of memories, 'nacre audit tail' the names of"
        " calls"
    )


_LONGEST_ID = 64


class MemoryTree:
    """Builds the causes of one answer, each memory once and only so many in all."""

    def __init__(self, sources: Sources, being_id: str) -> None:
        self._sources = sources
        self._being = being_id
        self._runs = Runs(sources.table)
        self.calls = AuditedCalls(sources.records, being_id)
        self._left = PROVENANCE_CAUSES
        self._shown: set[str] = set()

    def take(self) -> bool:
        """Tell whether there is room for one more cause, and count it."""
        self._left -= 1
        return self._left >= 0

    def finished(self, cause: Cause) -> Cause:
        """Return the answer, which says so if there was no room for some causes."""
        if self._left >= 0:
            return cause
        limit = f"not everything is shown: one answer has {PROVENANCE_CAUSES} causes"
        return replace(cause, unknown=(*cause.unknown, limit))

    # Memories.

    def memory(self, node: Node, relation: str = "", *, merges: int = PROVENANCE_MERGES) -> Cause:
        """Return a memory with everything behind it; merges are followed so many times."""
        whole = self._begun(node, relation)
        if node.node_id in self._shown:
            return replace(whole, text="", facts=(), unknown=("it is shown above",))
        self._shown.add(node.node_id)
        causes: list[Cause] = []
        unknown: list[str] = []
        if is_vouched(node):
            causes.append(_VOUCHED)
        corrections = list(self._corrections(node))
        causes += corrections
        if len(node.wordings) >= KEPT_WORDINGS:
            unknown.append(f"only its last {KEPT_WORDINGS} corrections are kept")
        parents, gone = self._parents(node)
        if node.parents:
            merger, calls = self._merge(node, parents)
            causes += calls
            whole = replace(whole, facts=(*whole.facts, *facts_of(("merged by", merger))))
        if gone:
            unknown.append(
                f"{gone} of the {len(node.parents)} memories that it was merged from:"
                " no longer stored, and erased things leave nothing behind"
            )
        if merges > 0:
            causes += [
                self.memory(parent, "merged from", merges=merges - 1)
                for parent in parents
                if self.take()
            ]
        elif parents:
            unknown.append("the memories that it was merged from are not followed further")
        scenes, more = self._told_by(node, parents)
        causes += scenes
        more += len(parents) - sum(cause.relation == "merged from" for cause in causes)
        more += len(node.wordings) - len(corrections)
        return replace(whole, causes=tuple(causes), unknown=tuple(unknown), more=more)

    def brief(self, node: Node, relation: str, *, by_time: bool) -> Cause:
        """Return a memory with the scenes that told it, and nothing behind these."""
        scene_ids = first_scenes(self._sources.table, self._being, node, _BRIEF)
        stored = self._sources.memory.scenes.get_many(self._being, scene_ids)
        scenes = [
            _scene(stored[scene_id], "told by") if scene_id in stored else _gone_scene(scene_id)
            for scene_id in scene_ids
            if self.take()
        ]
        whole = replace(self._begun(node, relation), link="time" if by_time else "stored")
        return replace(whole, causes=tuple(scenes), more=node.scene_count - len(scenes))

    def _begun(self, node: Node, relation: str) -> Cause:
        """Return a memory without anything behind it."""
        tellings = [", ".join(texts_of(telling)) for telling in tellings_of(node)]
        return Cause(
            kind="memory",
            id=node.node_id,
            relation=relation,
            at=node.created_at,
            text=cut(scene_line(node)),
            facts=facts_of(
                ("status", _status(node)),
                ("origins", ", ".join(texts_of(origins_of(node)))),
                ("trust of its text", standing_of(node)),
                ("origins of its text", tellings[0] if len(tellings) > 1 else None),
                ("also told by", "; ".join(tellings[1:])),
                ("corroborated", _AGREES if is_corroborated(node) else None),
                ("told by", counted(node.scene_count, "scene")),
                ("superseded by", node.superseded_by),
            ),
        )

    def _parents(self, node: Node) -> tuple[list[Node], int]:
        """Return the memories that a node was merged from, and how many are gone."""
        nodes = self._sources.memory.nodes
        stored = nodes.get_many(self._being, node.parents)
        parents = [stored[node_id] for node_id in node.parents if node_id in stored]
        return parents, len(node.parents) - len(parents)

    def _told_by(self, node: Node, parents: Sequence[Node]) -> tuple[list[Cause], int]:
        """Return the scenes that told a node itself, not a memory it was merged from."""
        if parents:
            [whole, *before] = self._sources.memory.nodes.whole(self._being, [node, *parents])
            of_parents = {scene_id for parent in before for scene_id in parent.evidence}
            own = [scene_id for scene_id in whole.evidence if scene_id not in of_parents]
            count, scene_ids = len(own), own[:PROVENANCE_SCENES]
        else:
            count = node.scene_count
            scene_ids = list(
                first_scenes(self._sources.table, self._being, node, PROVENANCE_SCENES)
            )
        stored = self._sources.memory.scenes.get_many(self._being, scene_ids)
        scenes = [
            self.scene(stored[scene_id], "told by") if scene_id in stored else _gone_scene(scene_id)
            for scene_id in scene_ids
            if self.take()
        ]
        return scenes, count - len(scenes)

    def _merge(self, node: Node, parents: Sequence[Node]) -> tuple[str, list[Cause]]:
        """Return the author of a merge in words, and the run or the calls that made it."""
        run = self._run_at(node.created_at)
        if run is not None and run.counts.get("merged"):
            return "a patrol", [self._run(run, "merged by")]
        by = _merger(node, parents)
        if by in ("owner", "mirror"):
            return AUTHORS[by], []
        around = self.calls.writers(node.created_at, ["merge_nodes"])
        otherwise = AGENT_UNKNOWN if by else ""
        calls = list(self._written_by(around, "merged by", otherwise))
        if by is None:
            return "" if calls else "not recorded", calls
        return AUTHORS[by], calls

    def _corrections(self, node: Node) -> Iterator[Cause]:
        """Yield the corrections of a node, the last one first, each with the text before it."""
        versions = zip(reversed(wordings_of(node)), earlier_versions(node), strict=True)
        for wording, before in versions:
            if not self.take():
                return
            calls: tuple[Cause, ...] = ()
            if wording.by == "agent":
                around = self.calls.writers(wording.until, ["update_memory"])
                calls = tuple(self._written_by(around, "made by", AGENT_UNKNOWN))
            yield _correction(wording, before, calls)

    # Scenes and messages.

    def scene(self, scene: Scene, relation: str = "") -> Cause:
        """Return a scene with the messages, the calls and the runs behind it."""
        causes = list(self._messages(scene))
        more = len(scene.evidence) - len(causes)
        unknown: list[str] = []
        if scene.source == "tool":
            around = self.calls.writers(scene.created_at, ["update_notes"])
            causes += self._written_by(around, "written by", AGENT_UNKNOWN, origins_of(scene))
        elif scene.source == "extract":
            run = self._run_at(scene.created_at)
            if run is not None and run.run_id != scene.run_id:
                causes.append(self._run(run, "found by"))
            if not scene.evidence:
                unknown.append("its messages are not stored: they were erased, or never recorded")
        else:
            unknown.append(f"nothing more is recorded about {_WRITER[scene.source]}")
        if scene.run_id is not None:
            run = self._runs.get(self._being, scene.run_id)
            if run is not None:
                has_found = scene.source == "extract" and run.now == scene.created_at
                causes.append(self._run(run, "found and taken by" if has_found else "taken by"))
        begun = _scene(scene, relation)
        return replace(begun, causes=tuple(causes), unknown=tuple(unknown), more=more)

    def _messages(self, scene: Scene) -> Iterator[Cause]:
        for message_id in scene.evidence[:PROVENANCE_MESSAGES]:
            if not self.take():
                return
            message = self._sources.memory.history.get(self._being, message_id)
            if message is None:
                yield Cause(kind="message", id=message_id, relation="found in", unknown=(GONE,))
            else:
                yield self.message(message, "found in")

    def message(self, message: Message, relation: str, *, by_time: bool = False) -> Cause:
        """Return a message of a conversation."""
        causes: tuple[Cause, ...] = ()
        unknown = "when it was captured, and with which token"
        if message.client is None:
            around = self.calls.writers(message.ts, ["trigger_patrol"], _ORDERS)
            causes = tuple(self._written_by(around, "handed over by", ""))
            unknown = "" if causes else "the call that handed it over"
        return Cause(
            kind="message",
            id=message.message_id,
            relation=relation,
            link="time" if by_time else "stored",
            at=message.ts,
            text=cut(message.content),
            conversation=message.conversation_id or "",
            facts=facts_of(
                ("by", message.role),
                ("client", message.client),
                ("session", message.session),
                ("project", message.project),
                ("origins", ", ".join(message.origins)),
            ),
            unknown=(f"not recorded: {unknown}",) if unknown else (),
            causes=causes,
        )

    # Calls and runs.

    def call(self, call: AuditedCall, relation: str, *, by_time: bool = True) -> Cause:
        """Return a call of the audit without anything behind it."""
        return Cause(
            kind="call",
            id=call.name,
            relation=relation,
            link="time" if by_time else "stored",
            at=call.text("at"),
            facts=facts_of(("called", call.called), ("caller", self.caller(call))),
        )

    def caller(self, call: AuditedCall) -> str:
        """Return the caller, by the name that the owner knows."""
        principal = call.text("principal")
        if principal in ("", LOCAL):
            return "a program on this machine, without a token"
        name = self._sources.callers.get(principal)
        return f"{name} ({principal})" if name else f"{principal}, a token that is no longer listed"

    def other_servers(self, around: Around) -> list[Cause]:
        """Return the last call to each other server before a call, and how many there were."""
        servers: dict[str, list[AuditedCall]] = {}
        for other in around.calls:
            if not other.is_own:
                servers.setdefault(other.text("server"), []).append(other)
        causes = []
        for server, calls in servers.items():
            if not self.take():
                break
            last = calls[0]
            tools = dict.fromkeys(other.called for other in calls)
            causes.append(
                Cause(
                    kind="call",
                    id=last.name,
                    relation=f"after calls to {server}",
                    link="time",
                    at=last.text("at"),
                    facts=facts_of(
                        ("server", server),
                        ("calls", str(len(calls))),
                        ("called", _some(list(tools))),
                    ),
                )
            )
        return causes

    def _written_by(
        self, around: Around, relation: str, otherwise: str, origins: Origins = frozenset()
    ) -> Iterator[Cause]:
        """Yield the calls that may have written something, each with the results before it."""
        for call in around.calls[:_CALLS]:
            if not self.take():
                return
            received = self.calls.received_before(call)
            results = self.other_servers(received)
            unknown = []
            if len(around.calls) > 1:
                unknown.append(
                    f"{len(around.calls)} calls fit the time; which of them it was is not recorded"
                )
            if not (around.is_whole and received.is_whole):
                unknown.append(NOT_READ)
            unknown += _unexplained(origins, received)
            cause = self.call(call, relation)
            yield replace(cause, causes=tuple(results), unknown=tuple(unknown))
        if not around.calls and otherwise:
            problem = otherwise if around.is_whole else f"{otherwise}; {NOT_READ}"
            yield Cause(kind="call", relation=relation, unknown=(problem,))

    def _run(self, run: Run, relation: str) -> Cause:
        return Cause(
            kind="patrol run",
            id=run.run_id,
            relation=relation,
            at=run.now,
            facts=facts_of(
                ("number", str(run.seq)),
                ("begun by", run.trigger),
                ("language model", run.model or "none"),
                ("state", run.state),
            ),
        )

    def _run_at(self, moment: str) -> Run | None:
        """Return the run whose time is this moment: a run stamps what it makes with its own."""
        latest = self._runs.latest(self._being)
        low, high = 1, latest.seq if latest else 0
        while low <= high:
            middle = (low + high) // 2
            run = self._runs.at(self._being, middle)
            if run is None:
                return None
            if run.now == moment:
                return run
            low, high = (middle + 1, high) if run.now < moment else (low, middle - 1)
        return None


AGENT_UNKNOWN = "the audit has no call that fits the time"
GONE = "it is no longer stored: erased things leave nothing behind"
NOT_READ = "the audit has more records of that time than were read"
_AGREES = "an independent source says the same"
_BRIEF = 3  # scenes
_VOUCHED = Cause(
    kind="vouching",
    relation="vouched for by its owner",
    unknown=("not recorded: when",),
)
_WRITER: Mapping[str, str] = {"import": "the import", "mirror": "the edit of the file"}


def _status(node: Node) -> str:
    if node.status == "merged":
        return f"merged into {node.merged_into}"
    if node.reason == UNDONE:
        return "a merge that was taken back"
    if node.status == "hidden":
        by = AUTHORS[node.hidden_by] if node.hidden_by else "somebody"
        return f"hidden by {by}, {(node.hidden_at or '')[:10]}"
    return {"dying": "fading", "dead": "forgotten"}.get(node.status, node.status)


def _correction(wording: Wording, before: Node, calls: tuple[Cause, ...]) -> Cause:
    erased = not wording.fields
    return Cause(
        kind="correction",
        relation=f"corrected by {AUTHORS[wording.by]}",
        at=wording.until,
        facts=()
        if erased
        else (
            ("text before", cut(scene_line(before))),
            ("origins before", ", ".join(texts_of(origins_of(before)))),
        ),
        unknown=("its wording before was erased",) if erased else (),
        causes=calls,
    )


def _scene(scene: Scene, relation: str) -> Cause:
    """Return a scene without anything behind it."""
    state = {"pending": "waits for a patrol", "invalid": f"skipped: {scene.reason}"}
    return Cause(
        kind="scene",
        id=scene.scene_id,
        relation=relation,
        at=scene.created_at,
        text=cut(scene_line(scene)),
        facts=facts_of(
            ("noted", NOTED_BY[scene.source]),
            ("origins", ", ".join(texts_of(origins_of(scene)))),
            ("client", scene.client),
            ("session", scene.session),
            ("state", state.get(scene.status)),
            ("became", scene.node_id),
        ),
    )


def _gone_scene(scene_id: str) -> Cause:
    return Cause(kind="scene", id=scene_id, relation="told by", unknown=(GONE,))


def _merger(node: Node, parents: Sequence[Node]) -> Author | None:
    """Return the author of a merge, None if its origins do not tell.

    Only an author who is not among the origins of the sources has certainly come by the merge.
    """
    if len(node.wordings) >= KEPT_WORDINGS or len(parents) < len(node.parents):
        return None
    first = without_vouch(node)
    for version in earlier_versions(first):
        first = version
    added = lineage_of_text(first) - union(map(origins_of, parents))
    authors = [author for author, origin in ORIGIN_OF.items() if origin in added]
    return authors[0] if len(authors) == 1 else None


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _TOOLS} more" if len(names) > _TOOLS else ""
    return ", ".join(names[:_TOOLS]) + more


def _unexplained(origins: Origins, received: Around) -> Iterator[str]:
    """Yield the origins of a text that no call in the audit explains."""
    servers = {external(call.text("server")) for call in received.calls if not call.is_own}
    for origin in sorted(origins, key=str):
        if origin.trust < AGENT.trust and origin not in servers:
            yield (
                f"not recorded: how the caller received {origin}; the audit has no call to it in"
                " the two hours before, so it may have come with a memory that the caller was shown"
            )
