"""What a run was given: the scenes and the messages that were frozen when it began."""

from nacre.being.patrol.run.round import Round
from nacre.ports.items.table import Key


def scenes_of(work: Round) -> list[str]:
    """Return the scenes of the run in their order: those that waited, then those it found."""
    given = work.runs.plan(work.being_id, work.run.seq, "INPUT") or []
    found = work.runs.plan(work.being_id, work.run.seq, "EXTRACT") or []
    ids = [each["scene"] for each in given if each.get("scene")]
    return [*ids, *(each["scene_id"] for each in found if each.get("scene_id"))]


def messages_of(work: Round) -> list[Key]:
    """Return where the messages of the run are."""
    given = work.runs.plan(work.being_id, work.run.seq, "INPUT") or []
    return [Key(*each["message"]) for each in given if each.get("message")]
