"""Scenes from messages without a model: facts that users state about themselves, in their words."""

import re
from collections.abc import Sequence
from datetime import date, datetime

from nacre.being.memory.model.types import Message, SceneDraft
from nacre.being.patrol.planning.model_answers import extracted_id_of
from nacre.being.patrol.planning.prompt_text import readable
from nacre.core.limits import LEAST_EXTRACTED_IMPORTANCE
from nacre.text.stated_facts.statements import stated_facts
from nacre.text.time_expressions.time_expression import find_time

HEARD = "heard"
"""The theme of these scenes: nobody has checked them."""

_SECRET = re.compile(
    r"""\b(?:password|passphrase|passwort|kennwort|pin(?:\s+code)?|api[ _-]?key|secret|token|iban|
    ssn|social\s+security|credit\s+card|kreditkarte)\b
    |(?=\S*\d)(?=\S*[A-Za-z])\S{16,}|\d[\d -]{10,}\d""",
    re.IGNORECASE | re.VERBOSE,
)


def heard_scenes(
    being_id: str, messages: Sequence[Message], *, room: int
) -> tuple[SceneDraft, ...]:
    """Return at most `room` scenes of what users state in messages about themselves.

    Each names its message as evidence and is kept once, however often the message arrives.
    Statements that seem to hold a secret are left out.
    """
    drafts: list[SceneDraft] = []
    for entry in readable(messages):
        if entry.message.role.casefold() != "user":
            continue
        said_at = datetime.fromisoformat(entry.message.ts)
        facts = [fact for fact in stated_facts(entry.text) if not _SECRET.search(fact)]
        drafts += [
            SceneDraft(
                scene_id=extracted_id_of(being_id, entry.message.chain, ordinal),
                action=fact,
                actors=("user",),
                when=(_day(fact, said_at).isoformat(),),
                importance=LEAST_EXTRACTED_IMPORTANCE,
                source="extract",
                trust="user",
                evidence=(entry.message.message_id,),
                origins=entry.message.origins,
                client=entry.message.client,
                session=entry.message.session,
                themes=(HEARD,),
            )
            for ordinal, fact in enumerate(facts)
        ]
    return tuple(drafts[:room])


def _day(fact: str, said_at: datetime) -> date:
    """Return the one day that a statement names, or the day on which it was said."""
    expression = find_time(fact, said_at)
    if expression is not None and expression.days.first == expression.days.last:
        return expression.days.first or said_at.date()
    return said_at.date()
