"""Measuring a young Being's notes: where their centre lies, and how far apart they are."""

from collections.abc import Sequence
from dataclasses import replace

from nacre.being.patrol.compare.space import is_due, measured, space_of
from nacre.being.patrol.run.round import Round
from nacre.being.patrol.steps.assign_scenes import scene_vectors
from nacre.ports.items.table import Put

STEP = 1
_NOTES = 200


def measure(work: Round, scene_ids: Sequence[str]) -> None:
    """Measure the run's scenes and the newest memories, while there are too few of both.

    Clusters keep their means as they are: only what is near to them changes.
    """
    if work.run.step >= STEP:
        return
    space = space_of(work.table, work.indexing, work.being_id)
    if not is_due(space, _NOTES):  # it is measured for good
        return
    newest = work.memory.nodes.recent(work.being_id, limit=_NOTES).nodes
    taken = None
    if is_due(space, len(newest) + len(scene_ids)):
        found = list(scene_vectors(work, scene_ids).values())
        # The one place where a memory of the index of AWS may be missing, which changes little.
        found += work.nearest.subjects(newest, replace(space, measure=None)).values()
        taken = measured(found)
    work.ledger.commit(
        [] if taken is None else [Put(taken.to_item(work.being_id, space.emb_id))], step=STEP
    )
    work.__dict__.pop("space", None)  # what was read before is out of date
    work.__dict__.pop("deciding", None)
