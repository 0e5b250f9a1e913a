"""The answers of a model, checked against their questions: scenes, merges, splits and digests."""

import uuid
from collections import Counter
from collections.abc import Sequence

from nacre.being.memory.model.fields import checked_dates
from nacre.being.memory.model.lineage import class_of, standing_of, stored_origins
from nacre.being.memory.model.types import TRUST_ORDER, Node, SceneDraft
from nacre.being.patrol.planning.answer_fields import (
    Answer,
    UnusableError,
    fitting_text,
    label_in,
    list_in,
    names_in,
    optional_text,
    place_of,
    places_in,
    share_in,
    text_in,
)
from nacre.being.patrol.planning.plans import Digest, MergePlan, SplitPlan, Supersede
from nacre.being.patrol.planning.prompt_text import ReadableMessage
from nacre.core.errors import InvalidInputError
from nacre.core.limits import (
    LEAST_EXTRACTED_IMPORTANCE,
    MAX_ACTORS,
    MAX_EXTRACTED_SCENES,
    MAX_THEMES,
    MAX_THINK_NOTES,
    PLANNED_DIGEST_BYTES,
)
from nacre.core.origins import AGENT, HEARD, Origins, origins_in, union
from nacre.text.analysis import terms


def drafts_in(
    answer: Answer, portion: Sequence[ReadableMessage], being_id: str
) -> tuple[SceneDraft, ...]:
    """Return the scenes in an answer, without those of low importance."""
    scenes = list_in(answer, "scenes", most=MAX_EXTRACTED_SCENES)
    drafts: list[SceneDraft] = []
    ordinals: Counter[str] = Counter()
    for scene in scenes:
        if not isinstance(scene, dict):
            raise UnusableError("a scene is not an object")
        importance = share_in(scene, "importance")
        evidence = [portion[place] for place in places_in(scene, "messages", count=len(portion))]
        if not evidence:
            raise UnusableError("a scene rests on no message")
        if importance < LEAST_EXTRACTED_IMPORTANCE:
            continue
        chain = evidence[-1].message.chain
        action = text_in(scene, "action")
        origins = _origins(action, evidence, portion)
        drafts.append(
            SceneDraft(
                scene_id=extracted_id_of(being_id, chain, ordinals[chain]),
                action=action,
                actors=names_in(scene, "actors", most=MAX_ACTORS) or ("user",),
                when=_days(scene, evidence),
                importance=importance,
                source="extract",
                trust=class_of(origins),
                origins=stored_origins(origins, class_of(origins)),
                evidence=tuple(source.message.message_id for source in evidence),
                setting=optional_text(scene, "setting"),
                feeling=optional_text(scene, "feeling"),
                themes=names_in(scene, "themes", most=MAX_THEMES),
            )
        )
        ordinals[chain] += 1
    return tuple(drafts)


def extracted_id_of(being_id: str, chain: str, ordinal: int) -> str:
    """Return the id of an extracted scene, from the last message of its evidence and a number."""
    return str(uuid.uuid5(uuid.UUID(being_id), f"scene:{chain}:{ordinal}"))


def _origins(
    action: str, evidence: Sequence[ReadableMessage], portion: Sequence[ReadableMessage]
) -> Origins:
    """Return the origins of a scene.

    A text may have persuaded the model to name the user's messages as evidence of something else.
    So a scene has the origins of its evidence only if at least half of its words occur in it.
    """
    evidence_terms = {term for source in evidence for term in terms(source.text)}
    action_terms = set(terms(action))
    is_supported = 2 * len(action_terms & evidence_terms) >= len(action_terms) > 0
    return union(map(_origins_of, evidence if is_supported else portion))


def _origins_of(source: ReadableMessage) -> Origins:
    if source.message.origins:
        return origins_in(source.message.origins)
    return frozenset({HEARD if source.message.role.casefold() == "user" else AGENT})


def _days(scene: Answer, evidence: Sequence[ReadableMessage]) -> tuple[str, ...]:
    """Return the days of a scene, or the days of its messages if it names none."""
    value = scene.get("when")
    days = [day for day in value if isinstance(day, str)] if isinstance(value, list) else []
    try:
        return checked_dates(days, "when")
    except InvalidInputError:  # "yesterday", or nothing
        return tuple(sorted({source.message.ts[:10] for source in evidence}))


def merge_in(answer: Answer, group: Sequence[Node]) -> MergePlan:
    """Return the merges and the superseded memories of a group."""
    merged = places_in(answer, "merge", count=len(group))
    if len(merged) == 1:
        raise UnusableError("it merges one memory alone")
    action = text_in(answer, "action") if merged else ""
    pairs = _pairs(answer, group, set(merged))
    return MergePlan(
        merge=tuple(group[place].node_id for place in merged),
        action=action,
        feeling=optional_text(answer, "feeling") if merged else None,
        supersede=pairs,
    )


def _pairs(answer: Answer, group: Sequence[Node], merged: set[int]) -> tuple[Supersede, ...]:
    pairs: dict[int, Supersede] = {}
    new_places: set[int] = set()
    for pair in list_in(answer, "supersede", most=len(group)):
        if not isinstance(pair, dict):
            raise UnusableError("a pair is not an object")
        old, new = place_of(pair.get("old"), len(group)), place_of(pair.get("new"), len(group))
        if old == new or old in pairs or old in merged:
            raise UnusableError("it supersedes what cannot be superseded")
        why = text_in(pair, "why", limit=PLANNED_DIGEST_BYTES)
        pairs[old] = Supersede(group[old].node_id, group[new].node_id, why)
        new_places.add(new)
    if new_places & pairs.keys():
        raise UnusableError("it supersedes what is to supersede another")
    # A text of somebody else must not supersede one of the user, and neither may a memory that
    # it is merged into.
    trust = {node.node_id: TRUST_ORDER.index(standing_of(node)) for node in group}
    merged_ids = [group[place].node_id for place in merged]
    lowest = min((trust[node_id] for node_id in merged_ids), default=0)
    trust |= dict.fromkeys(merged_ids, lowest)
    return tuple(pair for pair in pairs.values() if trust[pair.new] >= trust[pair.old])


def split_in(answer: Answer) -> SplitPlan:
    """Return whether a cluster is to be split, and the labels of its halves."""
    split = answer.get("split")
    if not isinstance(split, bool):
        raise UnusableError("it says neither yes nor no")
    if not split:
        return SplitPlan(split=False)
    first = label_in(answer, "first_label")
    second = label_in(answer, "second_label")
    return SplitPlan(split=True, labels=(first, second))


def digest_in(answer: Answer) -> Digest:
    """Return the label and the digest of a cluster."""
    return Digest(label_in(answer, "label"), text_in(answer, "digest", limit=PLANNED_DIGEST_BYTES))


def diary_in(answer: Answer) -> str:
    """Return a paragraph for the diary."""
    return text_in(answer, "diary")


def notes_in(answer: Answer) -> tuple[str, ...]:
    """Return the think notes, without repetitions."""
    notes = list_in(answer, "notes", most=MAX_THINK_NOTES)
    texts = (fitting_text(note, PLANNED_DIGEST_BYTES) for note in notes)
    return tuple(dict.fromkeys(texts))
