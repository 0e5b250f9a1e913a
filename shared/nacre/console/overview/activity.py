"""The activity of a Being: whether its memory works with its clients, and a timeline."""

from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta

from nacre.being.memory.conversations.client_names import (
    HOOKS_LABEL,
    client_name,
    hook_client,
)
from nacre.being.memory.model.types import Conversation, Node, moment
from nacre.being.memory.services import MemoryServices
from nacre.being.memory.store import targets
from nacre.being.memory.text.memory_text import counted
from nacre.being.patrol.run.runs import Runs
from nacre.console.approvals.inbox import Caller
from nacre.console.audit.newest_records import Entry as AuditedCall
from nacre.console.audit.newest_records import RecordFilter, look
from nacre.core.lazy_dataclasses import dataclass
from nacre.ports.audit import AuditRecords
from nacre.ports.items.table import Table

_RECALLS = frozenset({"recall", "recall_memory", "search_memory"})
_CALLS = 300  # records of the audit in which recalls are looked for
_EACH = 20  # events of one kind
_SHOWN = 24  # events of the timeline
_WRITTEN = (
    targets.NOTES,
    targets.PREFERENCES,
    targets.KNOWLEDGE,
    targets.RELATIONSHIP,
    targets.PARTNER_RULES,
)
"""The entries that a Being writes when it learns something; it reads all of them anyway."""
_ENTRIES = 500


@dataclass(frozen=True, slots=True)
class Recall:
    """Recalls of one client in a row: the last one, and how many there were."""

    at: str
    client: str
    times: int


@dataclass(frozen=True, slots=True)
class Event:
    """An event of the timeline, with the page about it as parts of its address."""

    at: str
    kind: str
    text: str
    page: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Learned:
    """Something that was learned today: a scene, its memory if there is one, or an entry."""

    at: str
    text: str
    about: tuple[str, ...]  # the parts of the address of its page
    correct: tuple[str, ...] = ()
    forget: tuple[str, ...] = ()
    key: str = ""  # of an entry, which is corrected and forgotten on its page
    client: str = ""  # in whose conversation it was heard


@dataclass(frozen=True, slots=True)
class _Noted:
    """A waiting scene, or a memory by the scene that it was made from."""

    at: str
    text: str
    page: tuple[str, str]
    client: str = ""


@dataclass(frozen=True, slots=True)
class Activity:
    """The values of the overview that say whether the memory works."""

    now: str
    captured: Conversation | None
    recalled: Recall | None
    learned: tuple[Learned, ...]
    days: tuple[tuple[str, tuple[Event, ...]], ...]  # of the timeline, newest first

    @property
    def is_silent(self) -> bool:
        """Tell whether nothing was ever captured, recalled or noted."""
        return self.captured is None and self.recalled is None and not self.days


def activity(
    table: Table,
    services: MemoryServices,
    records: AuditRecords,
    being_id: str,
    callers: Mapping[str, Caller],
) -> Activity:
    """Return the activity of a Being; this does not count as a recall."""
    now = moment(services.context.clock())
    conversations = services.captured.conversations(being_id, limit=_EACH).conversations
    recalls = _recalls(records, being_id, callers)
    noted = _noted(services, being_id)
    events = [
        *map(_captured, conversations),
        *map(_recalled, recalls),
        *map(_remembered, noted),
        *_patrols(table, being_id),
    ]
    return Activity(
        now=now,
        captured=conversations[0] if conversations else None,
        recalled=recalls[0] if recalls else None,
        learned=_learned(services, being_id, noted, now[:10]),
        days=_by_day(events),
    )


def day_name(day: str, now: str) -> str:
    """Return "Today", "Yesterday" or the day itself."""
    today = date.fromisoformat(now[:10])
    names = {today.isoformat(): "Today", (today - timedelta(days=1)).isoformat(): "Yesterday"}
    return names.get(day, day)


def time_since(at: str, now: str) -> str:
    """Return how long ago a moment was, in words."""
    minutes = int((datetime.fromisoformat(now) - datetime.fromisoformat(at)).total_seconds() // 60)
    if minutes < 1:
        return "just now"
    if minutes < 60:
        return f"{counted(minutes, 'minute')} ago"
    if minutes < 48 * 60:
        return f"{counted(minutes // 60, 'hour')} ago"
    return f"{counted(minutes // (24 * 60), 'day')} ago"


def _recalls(
    records: AuditRecords, being_id: str, callers: Mapping[str, Caller]
) -> tuple[Recall, ...]:
    """Return the newest recalls, those of one client in a row and on one day as one."""
    read = look(records, being_id, RecordFilter(), limit=_CALLS, most=_CALLS)
    recalls: list[Recall] = []
    for call in filter(_is_recall, read.entries):
        caller = callers.get(call.principal)
        client = _client_of(call, caller)
        last = recalls[-1] if recalls else None
        if last is not None and last.client == client and last.at[:10] == call.at[:10]:
            recalls[-1] = Recall(last.at, client, last.times + 1)
        elif len(recalls) < _EACH:
            recalls.append(Recall(call.at, client, 1))
    return tuple(recalls)


def _client_of(call: AuditedCall, caller: Caller | None) -> str:
    """Return the client by its token's label; of a hook, the name that the hook gave."""
    if caller is None:
        return "a client that is no longer connected"
    hooked = hook_client(call.request)
    if hooked is None:
        return caller.name
    return hooked if caller.name == HOOKS_LABEL else f"{hooked} ({caller.name})"


def _is_recall(call: AuditedCall) -> bool:
    return call.name in _RECALLS and call.outcome in ("allow", "pass")


def _captured(conversation: Conversation) -> Event:
    place = f", {conversation.project}" if conversation.project else ""
    messages = counted(conversation.messages, "message")
    return Event(
        conversation.last,
        "Captured",
        f"{client_name(conversation.client)}{place}: {messages}",
        ("captured", conversation.conversation_id),
    )


def _recalled(recall: Recall) -> Event:
    times = f", {recall.times} times" if recall.times > 1 else ""
    return Event(recall.at, "Recalled", f"{recall.client}{times}", ("audit",))


def _noted(services: MemoryServices, being_id: str) -> list[_Noted]:
    """Return the last notes, each memory once and with its present text.

    A scene is shown as the memory that it became, so that a correction holds here too and what
    was hidden is not shown.
    """
    memory = services.memory
    scenes = memory.scenes.newest(being_id, limit=_EACH)
    recent = memory.nodes.recent(being_id, limit=_EACH).nodes
    became = _current_nodes(services, being_id, [scene.node_id for scene in scenes])
    noted: dict[str, _Noted] = {}
    for scene in scenes:
        if scene.node_id is None and scene.status == "pending":
            page = ("scenes", scene.scene_id)
            noted[scene.scene_id] = _Noted(scene.created_at, scene.action, page, scene.client or "")
        elif scene.node_id in became:
            node = became[scene.node_id]
            page = ("memories", node.node_id)
            new = _Noted(scene.created_at, node.action, page, scene.client or "")
            noted.setdefault(node.node_id, new)
    for node in recent:
        new = _Noted(node.created_at, node.action, ("memories", node.node_id))
        noted.setdefault(node.node_id, new)
    return list(noted.values())


def _current_nodes(
    services: MemoryServices, being_id: str, node_ids: Iterable[str | None]
) -> dict[str, Node]:
    """Return the memories that these are now, after merges, without hidden and erased ones."""
    origins = {node_id: node_id for node_id in node_ids if node_id is not None}
    current: dict[str, Node] = {}
    while origins:
        nodes = services.memory.nodes.get_many(being_id, set(origins.values()))
        merged: dict[str, str] = {}
        for origin, node_id in origins.items():
            node = nodes.get(node_id)
            if node is None or node.status == "hidden":
                continue
            if node.status == "merged" and node.merged_into is not None:
                merged[origin] = node.merged_into
            elif node.status != "merged":
                current[origin] = node
        origins = merged
    return current


def _remembered(noted: _Noted) -> Event:
    kind = "Remembered" if noted.page[0] == "memories" else "Noted"
    return Event(noted.at, kind, noted.text, noted.page)


def _patrols(table: Table, being_id: str) -> list[Event]:
    runs = Runs(table).page(being_id, limit=_EACH).runs
    return [Event(run.now, "Patrol", run.state, ("patrols", str(run.seq))) for run in runs]


def _by_day(events: Iterable[Event]) -> tuple[tuple[str, tuple[Event, ...]], ...]:
    days: dict[str, list[Event]] = {}
    for event in sorted(events, key=lambda event: event.at, reverse=True)[:_SHOWN]:
        days.setdefault(event.at[:10], []).append(event)
    return tuple((day, tuple(some)) for day, some in days.items())


def _learned(
    services: MemoryServices, being_id: str, noted: Iterable[_Noted], today: str
) -> tuple[Learned, ...]:
    """Return the notes and entries since midnight, the newest first."""
    learned = [
        Learned(
            memory.at,
            memory.text,
            memory.page,
            (*memory.page, "edit"),
            (*memory.page, "forget"),
            client=memory.client,
        )
        for memory in noted
        if memory.at[:10] == today
    ]
    for target in _WRITTEN:
        entries = services.memory.entries.page(being_id, target, limit=_ENTRIES).entries
        learned += [
            Learned(
                entry.updated_at,
                entry.text if entry.text is not None else f"{entry.preview}…",
                ("profile", target.name, "entry"),
                key=entry.key,
            )
            for entry in entries
            if entry.updated_at[:10] == today
        ]
    return tuple(sorted(learned, key=lambda fact: fact.at, reverse=True)[:_EACH])
