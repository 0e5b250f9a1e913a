"""The causes of a recorded call: results, memories and messages that its caller had before it.

The audit keeps no arguments and no results. What the caller had received follows from its earlier
calls, from the ledger of untrusted results, and from the log of recalls, while these still have it.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from nacre.being.memory.model import keys
from nacre.being.memory.model.types import Message, moment
from nacre.being.memory.store.recall_log import recalls_between
from nacre.being.provenance.audited_calls import RECEIVED, Around, AuditedCall
from nacre.being.provenance.cause import Cause, facts_of
from nacre.being.provenance.memories import NOT_READ, MemoryTree, Sources
from nacre.core.lazy_dataclasses import replace
from nacre.core.limits import PROVENANCE_SECONDS, RECEIVED_SECONDS
from nacre.firewall.approvals.form import printable
from nacre.firewall.entry.noted_results import notes_of
from nacre.ports.items.table import Range
from nacre.ports.untrusted_results import Holder

READING = frozenset(
    {"get_context", "recall", "recall_memory", "search_memory", "search_history", "resources/read"}
)
"""Calls of the Being's own server that show memories or messages, and do nothing else."""
_LOGGED = frozenset({"recall", "recall_memory", "search_memory"})  # that the log of recalls has
_READS = 5  # earlier calls that were shown memories
_MEMORIES = 10  # that one call was shown
_MESSAGES = 5
_HEARD = timedelta(seconds=RECEIVED_SECONDS)
_SOON = timedelta(seconds=PROVENANCE_SECONDS)
_OUTCOMES: Mapping[str, str] = {
    "allow": "allowed",
    "deny": "denied",
    "prompt": "a person was asked",
    "pass": "passed",
    "reject": "rejected",
    "drop": "dropped",
    "note": "noted",
}
_NO_ARGUMENTS = "the audit keeps the names, types and sizes of arguments, not their values"
_NO_RESULTS = "the audit keeps no results: what a server answered is not recorded"
_NO_MEMORIES = "not recorded: what it showed; the log of recalls has nothing of its time any more"
_NOT_LOGGED = "not recorded: what it showed; the log of recalls has only recalls and searches"
_SEVERAL = "{} calls fit the time; which of them showed these memories is not recorded"
_SAME_SECOND = "noted in the same second, so it may also be what this call itself received"
_NO_BEING = "it belongs to no Being, so no memory and no conversation is behind it"


def why_call(sources: Sources, being_id: str, call: AuditedCall) -> Cause:
    """Return a call with its causes; a proxy's call has no Being, and only its record is known."""
    tree = MemoryTree(sources, being_id)
    whole = replace(
        tree.call(call, "", by_time=False),
        facts=_facts(tree.caller(call), call),
        unknown=(_NO_ARGUMENTS,),
    )
    if not call.text("being"):
        return replace(whole, unknown=(_NO_ARGUMENTS, _NO_BEING))
    before = tree.calls.received_before(call)
    results = tree.other_servers(before)
    causes = [*results, *_ledger(sources, being_id, call)]
    unknown = [_NO_ARGUMENTS]
    if call.is_own and call.called in READING and call.was_made:
        memories, problem = _shown(tree, sources, being_id, call)
        causes += memories
        unknown += [problem] if problem else []
    causes += _reads(tree, sources, being_id, before)
    causes += _heard(tree, sources, being_id, call.at)
    if results:
        unknown.append(_NO_RESULTS)
    if not before.is_whole:
        unknown.append(NOT_READ)
    return tree.finished(replace(whole, causes=tuple(causes), unknown=tuple(unknown)))


def _facts(caller: str, call: AuditedCall) -> tuple[tuple[str, str], ...]:
    record = call.record
    rule = call.text("rule")
    decision = _OUTCOMES.get(call.text("outcome"), call.text("outcome"))
    policy = call.text("policy")
    return facts_of(
        ("called", call.called),
        ("server", call.text("server")),
        ("method", call.text("method")),
        ("decision", decision if call.is_enforced else f"{decision} (monitored only)"),
        ("rule", f"{rule} of the policy {policy}" if rule and policy else rule or "none"),
        ("approval", call.text("approval")),
        ("remark", call.text("note")),
        ("caller", caller),
        ("profile", call.text("profile")),
        ("request", call.text("request")),
        ("arguments", _pairs(record.get("shape"))),
        ("received before", _listed(record.get("received"))),
    )


def _pairs(shape: Any) -> str:
    if not isinstance(shape, Mapping):
        return ""
    return ", ".join(printable(f"{name}: {_spelt(value)}") for name, value in shape.items())


def _spelt(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _listed(received: Any) -> str | None:
    if not isinstance(received, list):
        return None
    return ", ".join(printable(str(origin)) for origin in received) or "nothing"


def _ledger(sources: Sources, being_id: str, call: AuditedCall) -> Iterator[Cause]:
    """Yield the notes that the ledger of untrusted results still has about the caller."""
    for note in notes_of(sources.table, Holder(being_id, call.text("principal"))):
        if note.at <= call.at < note.at + RECEIVED:
            # A note has its second only, and a call that shows a memory leaves one itself.
            is_before = note.at < call.at.replace(microsecond=0)
            yield Cause(
                kind="result",
                relation=f"had received {note.origin}",
                link="stored" if is_before else "time",
                at=moment(note.at),
                facts=(("noted in", "the ledger of untrusted results"),),
                unknown=() if is_before else (_SAME_SECOND,),
            )


def _reads(tree: MemoryTree, sources: Sources, being_id: str, before: Around) -> Iterator[Cause]:
    """Yield the newest earlier calls in which the caller was shown memories."""
    reads = [call for call in before.calls if call.is_own and call.called in READING]
    for call in reads[:_READS]:
        if tree.take():
            memories, problem = _shown(tree, sources, being_id, call)
            cause = tree.call(call, "after reading memory")
            unknown = (problem,) if problem else ()
            yield replace(cause, causes=tuple(memories), unknown=unknown)


def _shown(
    tree: MemoryTree, sources: Sources, being_id: str, call: AuditedCall
) -> tuple[list[Cause], str]:
    """Return the memories whose recall was logged when a call was made, and what is unknown.

    An entry of the log does not name its call, so that a call close to this one may have made it.
    """
    if call.called not in _LOGGED:
        return [], _NOT_LOGGED
    node_ids: dict[str, None] = {}
    for entry in recalls_between(sources.table, being_id, call.at, call.at + _SOON):
        node_ids |= dict.fromkeys(entry.times)
    nodes = sources.memory.nodes.get_many(being_id, list(node_ids)[:_MEMORIES])
    memories = [
        tree.brief(nodes[node_id], "showed", by_time=True)
        for node_id in node_ids
        if node_id in nodes and tree.take()
    ]
    if not memories:
        return [], _NO_MEMORIES
    near = {
        other.name
        for at in (call.at, call.at + _SOON)
        for other in tree.calls.writers(moment(at), _LOGGED).calls
    }
    return memories, _SEVERAL.format(len(near)) if len(near) > 1 else ""


def _heard(tree: MemoryTree, sources: Sources, being_id: str, at: datetime) -> Iterator[Cause]:
    """Yield the last messages of conversations that were stored before a call."""
    for message in _messages_before(sources, being_id, at):
        if tree.take():
            yield tree.message(message, "said before", by_time=True)


def _messages_before(sources: Sources, being_id: str, at: datetime) -> list[Message]:
    low, high = moment(at - _HEARD), moment(at)
    messages: list[Message] = []
    for month in dict.fromkeys((high[:7], low[:7])):
        page = sources.table.query(
            keys.history(being_id, month),
            keys=Range(low=low, high=f"{high}~"),
            descending=True,
            limit=_MESSAGES - len(messages),
        )
        messages += map(Message.from_item, page.items)
        if len(messages) >= _MESSAGES:
            break
    return messages
