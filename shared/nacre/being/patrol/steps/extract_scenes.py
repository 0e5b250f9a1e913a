"""The step that finds scenes in messages: a model reads the messages since the last run.

Without a model, the messages remain a searchable history, and rules find what users state about
themselves if the owner has agreed to that.
"""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import PENDING_MESSAGES, PENDING_SCENES, count_in
from nacre.being.memory.model.message_chain import marker_id_of
from nacre.being.memory.model.types import Message, Scene, SceneDraft
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.being.memory.store.scenes import checked_scene
from nacre.being.patrol.planning.heard_facts import heard_scenes
from nacre.being.patrol.planning.plans import draft_from_plain, draft_to_plain
from nacre.being.patrol.planning.prompt_text import portions
from nacre.being.patrol.run.context import RunContext
from nacre.core.errors import InvalidInputError
from nacre.core.limits import PATROL_REFUSALS
from nacre.ports.items.table import SCHEMA, Absent, Change, Key, Present, Put, Update, Value, Write

PLAN = "EXTRACT"
_AT_ONCE = 40  # messages in one transaction
_HEARD = "facts_heard"  # of a run: the scenes that rules have found in its messages
_CAPTURED = "captured_facts_heard"  # the same in messages that were captured from clients
_FACTS = "facts_"  # of the item of a month, followed by the day: its captured facts
_COUNTED_MONTHS = 60  # in one run; a transaction has room for no more
_RUNS_A_DAY = 100  # more than a day has
_REFUSED = "refused"  # of a waiting message: the number of runs in which the model refused it
_UNREAD = frozenset({"gsi1pk", "gsi1sk", _REFUSED})
_GIVEN_UP = (
    f"extraction: messages that the model refused in {PATROL_REFUSALS} runs stay in the history"
    " only"
)


def extract(context: RunContext) -> None:
    """Record the scenes of the run's messages, and mark the messages as read.

    If the model fails, the messages wait for the next run. A message that it refuses in several
    runs no longer holds up the others.
    """
    places = context.message_keys()
    if not places:
        return
    planned = context.plan(PLAN)
    if planned is None:
        planned = _plan(context, places)
    for entry in planned:
        if entry.get("scene_id"):
            retry_on_conflict(partial(_record, context, draft_from_plain(entry)))
    for entry in planned:
        if entry.get(_REFUSED):
            retry_on_conflict(partial(_count_refusal, context, entry))
        count = entry.get("read")
        if isinstance(count, int):
            _mark_read(context, places[:count])


def _plan(context: RunContext, places: Sequence[Key]) -> list[dict[str, Value]]:
    """Extract scenes, portion by portion; after a failure the rest is left for the next run."""
    items = context.table.get_many(places)
    messages = {place: Message.from_item(items[place]) for place in places if place in items}
    entries: list[dict[str, Value]] = []
    reasons: list[str] = []
    writes: list[Write] = []
    tokens: Counter[str] = Counter()
    read = len(places)
    if context.planner is None:
        reasons.append("no_llm: extraction skipped")
        captured = [message for message in messages.values() if message.client is not None]
        others = [message for message in messages.values() if message.client is None]
        drafts = heard_scenes(context.being_id, others, room=_room(context))
        tokens[_HEARD] = len(drafts)
        captured_facts, writes = _captured_facts(context, captured)
        drafts += captured_facts
        tokens[_CAPTURED] = len(captured_facts)
        entries += [draft_to_plain(draft) for draft in drafts]
    else:
        portions_end = 0  # the number of messages up to the last portion that was read
        for portion in portions(list(messages.values())):
            result = context.planner.extract(context.being_id, portion)
            context.renew_lease()
            tokens.update(result.tokens)
            if result.value is None:
                reasons.append(f"extraction: {result.reason}")
                first = next(place for place in places if place.sk == portion[0].place)
                times = count_in(items[first], _REFUSED) + 1
                if not result.is_question_fault or times < PATROL_REFUSALS:
                    if result.is_question_fault:
                        entries.append({_REFUSED: times, "at": list(first)})
                    read = portions_end
                    break
                reasons.append(_GIVEN_UP)
            else:
                entries += [draft_to_plain(draft) for draft in result.value]
            last = portion[-1].place
            portions_end = 1 + next(
                number for number, place in enumerate(places) if place.sk == last
            )
    ends = [messages[place] for place in places[:read] if place in messages]
    also: dict[str, Value] = {}
    if ends:
        also["marker_out"] = marker_id_of(context.being_id, ends[-1].chain)
    entries.append({"read": read})
    stored: list[Value] = list(entries)
    context.ledger.plan(
        PLAN,
        stored,
        step=context.run.step,
        reasons=reasons,
        counts=tokens,
        also=also,
        writes=writes,
    )
    return entries


def _room(context: RunContext) -> int:
    """Return how many more facts may be heard today."""
    if not context.heard_facts:
        return 0
    runs = context.runs.page(context.being_id, limit=_RUNS_A_DAY).runs
    today = context.run.now[:10]
    facts_today = sum(run.counts.get(_HEARD, 0) for run in runs if run.now[:10] == today)
    return max(0, context.heard_facts - facts_today)


def _captured_facts(
    context: RunContext, messages: Sequence[Message]
) -> tuple[tuple[SceneDraft, ...], list[Write]]:
    """Return the facts in captured messages, and the writes that count them for their days.

    The limit is one for each day on which the messages were written, so that an import of a year
    gives as much as a year of captures.
    """
    if not context.captured_facts:
        return (), []
    days: dict[str, list[Message]] = {}
    for message in messages:
        days.setdefault(message.ts[:10], []).append(message)
    places = {day: keys.heard(context.being_id, day[:7]) for day in days}
    items = context.table.get_many(places.values())
    facts: list[SceneDraft] = []
    added: dict[Key, dict[str, int]] = {}
    for day, part in days.items():
        name = _FACTS + day[8:]
        room = context.captured_facts - count_in(items.get(places[day], {}), name)
        drafts = heard_scenes(context.being_id, part, room=max(0, room))
        if drafts:
            facts += drafts
            added.setdefault(places[day], {})[name] = len(drafts)
    counted = list(added.items())[:_COUNTED_MONTHS]
    return tuple(facts), [
        Update(place, Change(set={SCHEMA: 1}, add=counts)) for place, counts in counted
    ]


def _count_refusal(context: RunContext, entry: dict[str, Any]) -> None:
    """Store with a waiting message in how many runs the model has refused it."""
    place, times = Key(*entry["at"]), entry[_REFUSED]
    item = context.table.get(place)
    if item is not None and "gsi1pk" in item and item.get(_REFUSED) != times:
        context.ledger.commit([Update(place, Change(set={_REFUSED: times}), Present("gsi1pk"))])


def _record(context: RunContext, draft: SceneDraft) -> None:
    scene_id = draft.scene_id
    assert scene_id is not None  # it follows from the messages
    if context.memory.scenes.get_many(context.being_id, [scene_id]):
        return
    try:
        scene: Scene = checked_scene(draft, "scene", scene_id=scene_id, created_at=context.run.now)
    except InvalidInputError as error:
        context.ledger.note(f"extraction: {error}")
        return
    writes = [
        Put(scene.to_item(context.being_id), Absent()),
        *context.index_updates.writes([scene]),
    ]
    context.commit(writes, counts={"scenes_created": 1}, meta={PENDING_SCENES: 1})


def _mark_read(context: RunContext, places: Sequence[Key]) -> None:
    """Remove messages from the list of waiting ones, each counted once."""
    items = context.table.get_many(places)
    waiting = [place for place in places if "gsi1pk" in items.get(place, {})]
    for first in range(0, len(waiting), _AT_ONCE):
        batch = waiting[first : first + _AT_ONCE]
        context.ledger.commit(
            [Update(place, Change(remove=_UNREAD), Present("gsi1pk")) for place in batch],
            counts={"messages_read": len(batch)},
            meta={PENDING_MESSAGES: -len(batch)},
        )
