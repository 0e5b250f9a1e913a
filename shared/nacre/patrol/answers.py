"""What a model's answer has to be: one JSON object of the right shape, within bounds.

Many endpoints take no notice of the schema they are given, and a model may have listened to
the very texts it was asked about; so nothing is believed that is not checked here.
"""

import json
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from nacre.errors import InvalidInputError
from nacre.limits import (
    LEAST_EXTRACTED_IMPORTANCE,
    MAX_ACTORS,
    MAX_EXTRACTED_SCENES,
    MAX_THEMES,
    MAX_THINK_NOTES,
    PLANNED_DIGEST_BYTES,
    PLANNED_LABEL_BYTES,
    PLANNED_TEXT_BYTES,
)
from nacre.memory.analysis import terms
from nacre.memory.fields import checked_dates, checked_names, cleaned_text
from nacre.memory.model import TRUST_ORDER, Node, Trust, least_trusted
from nacre.memory.rendering import one_line
from nacre.patrol.asked_text import Shown
from nacre.patrol.thinking import Digest, MergePlan, SceneDraft, SplitPlan, Supersede

T = TypeVar("T")
Answer = Mapping[str, Any]

_SPEAKERS: Mapping[str, Trust] = {"user": "user"}  # everybody else is an agent


class UnusableError(Exception):
    """An answer that cannot be used; the message holds nothing of it."""


def answer_in(text: str) -> Answer:
    """Return the JSON object in an answer, also where chat surrounds it."""
    start = text.find("{")
    if start < 0:
        raise UnusableError("it is not JSON")
    try:
        found, _ = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        raise UnusableError("it is not JSON") from None
    if not isinstance(found, dict):  # pragma: no cover  # what begins with a brace is one
        raise UnusableError("it is not an object")
    return found


def _no_constant(_: str) -> float:
    raise ValueError("JSON has no such number")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def checked(check: Callable[[], T]) -> T:
    """Return what a check returns; a field that is not as our own fields are is unusable."""
    try:
        return check()
    except InvalidInputError:
        raise UnusableError("a field is not what was asked for") from None


def drafts_in(answer: Answer, shown: Sequence[Shown], being_id: str) -> tuple[SceneDraft, ...]:
    """Return the scenes that were found in messages, without those that hardly matter."""
    scenes = _list(answer, "scenes", most=MAX_EXTRACTED_SCENES)
    drafts: list[SceneDraft] = []
    ordinals: Counter[str] = Counter()
    for scene in scenes:
        if not isinstance(scene, dict):
            raise UnusableError("a scene is not an object")
        importance = _share(scene, "importance")
        evidence = [shown[place] for place in _places(scene, "messages", count=len(shown))]
        if not evidence:
            raise UnusableError("a scene rests on no message")
        if importance < LEAST_EXTRACTED_IMPORTANCE:
            continue
        chain = evidence[-1].message.chain
        action = _text(scene, "action")
        drafts.append(
            SceneDraft(
                scene_id=extracted_id_of(being_id, chain, ordinals[chain]),
                action=action,
                actors=_names(scene, "actors", most=MAX_ACTORS) or ("user",),
                when=_days(scene, evidence),
                importance=importance,
                trust=_trust(action, evidence, shown),
                evidence=tuple(each.message.message_id for each in evidence),
                setting=_optional_text(scene, "setting"),
                feeling=_optional_text(scene, "feeling"),
                themes=_names(scene, "themes", most=MAX_THEMES),
            )
        )
        ordinals[chain] += 1
    return tuple(drafts)


def extracted_id_of(being_id: str, chain: str, ordinal: int) -> str:
    """Return the id of a scene found in messages: so many before it end at the same message."""
    return str(uuid.uuid5(uuid.UUID(being_id), f"scene:{chain}:{ordinal}"))


def merge_in(answer: Answer, group: Sequence[Node]) -> MergePlan:
    """Return what is to be merged and superseded within a group."""
    merged = _places(answer, "merge", count=len(group))
    if len(merged) == 1:
        raise UnusableError("it merges one memory alone")
    action = _text(answer, "action") if merged else ""
    pairs = _pairs(answer, group, set(merged))
    return MergePlan(
        merge=tuple(group[place].node_id for place in merged),
        action=action,
        feeling=_optional_text(answer, "feeling") if merged else None,
        supersede=pairs,
    )


def _pairs(answer: Answer, group: Sequence[Node], merged: set[int]) -> tuple[Supersede, ...]:
    pairs: dict[int, Supersede] = {}
    news: set[int] = set()
    for pair in _list(answer, "supersede", most=len(group)):
        if not isinstance(pair, dict):
            raise UnusableError("a pair is not an object")
        old, new = _place(pair.get("old"), len(group)), _place(pair.get("new"), len(group))
        if old == new or old in pairs or old in merged:
            raise UnusableError("it supersedes what cannot be superseded")
        why = _text(pair, "why", limit=PLANNED_DIGEST_BYTES)
        pairs[old] = Supersede(group[old].node_id, group[new].node_id, why)
        news.add(new)
    if news & pairs.keys():
        raise UnusableError("it supersedes what is to supersede another")
    # What somebody else's text says must not end what the user said.
    trust = {node.node_id: TRUST_ORDER.index(node.trust) for node in group}
    return tuple(pair for pair in pairs.values() if trust[pair.new] >= trust[pair.old])


def split_in(answer: Answer) -> SplitPlan:
    """Return whether a cluster is to be split, and the names of the halves."""
    split = answer.get("split")
    if not isinstance(split, bool):
        raise UnusableError("it says neither yes nor no")
    if not split:
        return SplitPlan(split=False)
    first = _label(answer, "first_label")
    second = _label(answer, "second_label")
    return SplitPlan(split=True, labels=(first, second))


def digest_in(answer: Answer) -> Digest:
    """Return the name and the digest of a cluster."""
    return Digest(_label(answer, "label"), _text(answer, "digest", limit=PLANNED_DIGEST_BYTES))


def diary_in(answer: Answer) -> str:
    """Return a paragraph of the diary."""
    return _text(answer, "diary")


def notes_in(answer: Answer) -> tuple[str, ...]:
    """Return what stands out, each once."""
    notes = _list(answer, "notes", most=MAX_THINK_NOTES)
    texts = (_checked_text(note, PLANNED_DIGEST_BYTES) for note in notes)
    return tuple(dict.fromkeys(texts))


def _trust(action: str, evidence: Sequence[Shown], read: Sequence[Shown]) -> Trust:
    """Return the trust of a scene.

    A model may have been talked into naming the user's messages as evidence for what stands
    elsewhere: only where half of the words are theirs does the scene have their trust.
    """
    said = {term for each in evidence for term in terms(each.text)}
    told = set(terms(action))
    is_theirs = 2 * len(told & said) >= len(told) > 0
    return least_trusted([_trust_of(each) for each in (evidence if is_theirs else read)])


def _trust_of(shown: Shown) -> Trust:
    return _SPEAKERS.get(shown.message.role.casefold(), "agent")


def _days(scene: Answer, evidence: Sequence[Shown]) -> tuple[str, ...]:
    """Return the days of a scene: as it says, else those on which it was told."""
    said = scene.get("when")
    days = [day for day in said if isinstance(day, str)] if isinstance(said, list) else []
    try:
        return checked_dates(days, "when")
    except InvalidInputError:  # "yesterday", or nothing
        return tuple(sorted({each.message.ts[:10] for each in evidence}))


def _list(answer: Answer, field: str, *, most: int) -> list[Any]:
    found = answer.get(field)
    if not isinstance(found, list) or len(found) > most:
        raise UnusableError(f"'{field}' is no list of at most {most}")
    return found


def _places(answer: Answer, field: str, *, count: int) -> list[int]:
    """Return which of the numbered things are named, in order, each once."""
    found = [_place(number, count) for number in _list(answer, field, most=count)]
    if len(set(found)) < len(found):
        raise UnusableError(f"'{field}' names one of them twice")
    return sorted(found)


def _place(number: Any, count: int) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= count:
        raise UnusableError("it names what was not asked about")
    return number - 1


def _share(answer: Answer, field: str) -> float:
    found = answer.get(field)
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise UnusableError(f"'{field}' is no number")
    if not 0 <= found <= 1:
        raise UnusableError(f"'{field}' is not from 0 to 1")
    return float(found)


def _names(answer: Answer, field: str, *, most: int) -> tuple[str, ...]:
    found = [_checked_text(name, PLANNED_TEXT_BYTES) for name in _list(answer, field, most=most)]
    return checked(lambda: checked_names(found, field, limit=most))


def _label(answer: Answer, field: str) -> str:
    return one_line(_text(answer, field, limit=PLANNED_LABEL_BYTES))


def _text(answer: Answer, field: str, *, limit: int = PLANNED_TEXT_BYTES) -> str:
    return _checked_text(answer.get(field), limit)


def _optional_text(answer: Answer, field: str) -> str | None:
    found = answer.get(field)
    if found is None or (isinstance(found, str) and not found.strip()):
        return None
    return _checked_text(found, PLANNED_TEXT_BYTES)


def _checked_text(found: Any, limit: int) -> str:
    if not isinstance(found, str):
        raise UnusableError("a text is missing")
    text = checked(lambda: cleaned_text(found, "text", limit=limit))
    if not text:
        raise UnusableError("a text is empty")
    return text
