"""Finding scenes in messages: a model reads what was said since the last run.

Without a model the messages stay what they are, a history that can be searched.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from nacre.being.memory.model.counters import PENDING_MESSAGES, PENDING_SCENES, count_in
from nacre.being.memory.model.message_chain import marker_id_of
from nacre.being.memory.model.types import Message, Scene
from nacre.being.memory.store.retry import settled
from nacre.being.memory.store.scenes import SceneDraft as Told
from nacre.being.memory.store.scenes import checked_scene
from nacre.being.patrol.planning.plans import SceneDraft
from nacre.being.patrol.planning.prompt_text import portions
from nacre.being.patrol.run.inputs import messages_of
from nacre.being.patrol.run.round import Round
from nacre.being.patrol.run.runs import INPUT_TOKENS, OUTPUT_TOKENS
from nacre.core.errors import InvalidInputError
from nacre.core.limits import PATROL_REFUSALS
from nacre.ports.items.table import Absent, Change, Key, Present, Put, Update, Value

PLAN = "EXTRACT"
_AT_ONCE = 40  # messages in one transaction
_REFUSED = "refused"  # of a message that waits: in so many runs a model would not read on here
_UNREAD = frozenset({"gsi1pk", "gsi1sk", _REFUSED})
_LET_GO = (
    f"extraction: messages that the model refused in {PATROL_REFUSALS} runs stay in the history"
    " only"
)


def extract(work: Round) -> None:
    """Record the scenes of the run's messages, and let the messages wait no more.

    When the model fails they go on waiting, for the next run; but what it refuses again and
    again holds up the others no longer.
    """
    places = messages_of(work)
    if not places:
        return
    planned = work.runs.plan(work.being_id, work.run.seq, PLAN)
    if planned is None:
        planned = _plan(work, places)
    for entry in planned:
        if entry.get("scene_id"):
            settled(partial(_record, work, SceneDraft.from_plain(entry)))
    for entry in planned:
        if entry.get(_REFUSED):
            settled(partial(_refused, work, entry))
        count = entry.get("read")
        if isinstance(count, int):
            _read(work, places[:count])


def _plan(work: Round, places: Sequence[Key]) -> list[dict[str, Value]]:
    """Decide what was said, portion by portion: what follows a failure is for the next run."""
    found = work.table.get_many(places)
    messages = {place: Message.from_item(found[place]) for place in places if place in found}
    entries: list[dict[str, Value]] = []
    reasons: list[str] = []
    counts = {INPUT_TOKENS: 0, OUTPUT_TOKENS: 0}
    read = len(places)
    if work.thinking is None:
        reasons.append("no_llm: extraction skipped")
    else:
        done = 0
        for portion in portions(list(messages.values())):
            thought = work.thinking.extract(work.being_id, portion)
            work.keep()
            counts[INPUT_TOKENS] += thought.input_tokens
            counts[OUTPUT_TOKENS] += thought.output_tokens
            if thought.value is None:
                reasons.append(f"extraction: {thought.reason}")
                first = next(place for place in places if place.sk == portion[0].place)
                times = count_in(found[first], _REFUSED) + 1
                if not thought.of_question or times < PATROL_REFUSALS:
                    if thought.of_question:
                        entries.append({_REFUSED: times, "at": list(first)})
                    read = done
                    break
                reasons.append(_LET_GO)
            else:
                entries += [draft.to_plain() for draft in thought.value]
            last = portion[-1].place
            done = 1 + next(number for number, place in enumerate(places) if place.sk == last)
    ends = [messages[place] for place in places[:read] if place in messages]
    also: dict[str, Value] = {}
    if ends:
        also["marker_out"] = marker_id_of(work.being_id, ends[-1].chain)
    entries.append({"read": read})
    stored: list[Value] = list(entries)
    work.ledger.plan(PLAN, stored, step=work.run.step, reasons=reasons, counts=counts, also=also)
    return entries


def _refused(work: Round, entry: dict[str, Any]) -> None:
    """Keep with a message, as long as it waits, how often a model would not read on there."""
    place, times = Key(*entry["at"]), entry[_REFUSED]
    item = work.table.get(place)
    if item is not None and "gsi1pk" in item and item.get(_REFUSED) != times:
        work.ledger.commit([Update(place, Change(set={_REFUSED: times}), Present("gsi1pk"))])


def _record(work: Round, draft: SceneDraft) -> None:
    if work.memory.scenes.get_many(work.being_id, [draft.scene_id]):
        return
    told = Told(
        action=draft.action,
        actors=draft.actors,
        when=draft.when,
        setting=draft.setting,
        feeling=draft.feeling,
        themes=draft.themes,
        importance=draft.importance,
        source="extract",
        trust=draft.trust,
        evidence=draft.evidence,
    )
    try:
        scene: Scene = checked_scene(
            told, "scene", scene_id=draft.scene_id, created_at=work.run.now
        )
    except InvalidInputError as error:
        work.ledger.note(f"extraction: {error}")
        return
    writes = [Put(scene.to_item(work.being_id), Absent()), *work.telling.writes([scene])]
    work.ledger.commit(writes, counts={"scenes_created": 1}, meta={PENDING_SCENES: 1})
    work.telling.tell(writes)


def _read(work: Round, places: Sequence[Key]) -> None:
    """Take messages off the list of those that wait, each counted once."""
    found = work.table.get_many(places)
    waiting = [place for place in places if "gsi1pk" in found.get(place, {})]
    for first in range(0, len(waiting), _AT_ONCE):
        some = waiting[first : first + _AT_ONCE]
        work.ledger.commit(
            [Update(place, Change(remove=_UNREAD), Present("gsi1pk")) for place in some],
            counts={"messages_read": len(some)},
            meta={PENDING_MESSAGES: -len(some)},
        )
