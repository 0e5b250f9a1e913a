"""The scenes that a model found in messages, each traced to what was said."""

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence

from nacre.being.memory.model.fields import checked_dates
from nacre.being.memory.model.types import Trust, least_trusted
from nacre.being.patrol.planning.answer_fields import (
    Answer,
    UnusableError,
    list_in,
    names_in,
    optional_text,
    places_in,
    share_in,
    text_in,
)
from nacre.being.patrol.planning.plans import SceneDraft
from nacre.being.patrol.planning.prompt_text import Shown
from nacre.core.errors import InvalidInputError
from nacre.core.limits import (
    LEAST_EXTRACTED_IMPORTANCE,
    MAX_ACTORS,
    MAX_EXTRACTED_SCENES,
    MAX_THEMES,
)
from nacre.text.analysis import terms

_SPEAKERS: Mapping[str, Trust] = {"user": "user"}  # everybody else is an agent


def drafts_in(answer: Answer, shown: Sequence[Shown], being_id: str) -> tuple[SceneDraft, ...]:
    """Return the scenes that were found in messages, without those that hardly matter."""
    scenes = list_in(answer, "scenes", most=MAX_EXTRACTED_SCENES)
    drafts: list[SceneDraft] = []
    ordinals: Counter[str] = Counter()
    for scene in scenes:
        if not isinstance(scene, dict):
            raise UnusableError("a scene is not an object")
        importance = share_in(scene, "importance")
        evidence = [shown[place] for place in places_in(scene, "messages", count=len(shown))]
        if not evidence:
            raise UnusableError("a scene rests on no message")
        if importance < LEAST_EXTRACTED_IMPORTANCE:
            continue
        chain = evidence[-1].message.chain
        action = text_in(scene, "action")
        drafts.append(
            SceneDraft(
                scene_id=extracted_id_of(being_id, chain, ordinals[chain]),
                action=action,
                actors=names_in(scene, "actors", most=MAX_ACTORS) or ("user",),
                when=_days(scene, evidence),
                importance=importance,
                trust=_trust(action, evidence, shown),
                evidence=tuple(each.message.message_id for each in evidence),
                setting=optional_text(scene, "setting"),
                feeling=optional_text(scene, "feeling"),
                themes=names_in(scene, "themes", most=MAX_THEMES),
            )
        )
        ordinals[chain] += 1
    return tuple(drafts)


def extracted_id_of(being_id: str, chain: str, ordinal: int) -> str:
    """Return the id of a scene found in messages: so many before it end at the same message."""
    return str(uuid.uuid5(uuid.UUID(being_id), f"scene:{chain}:{ordinal}"))


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
