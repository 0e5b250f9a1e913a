"""Nodes made from other nodes: merged, restored from a merge, or rebuilt with less evidence.

All of them are whole: they list all of their scenes.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from nacre.being.memory.model.forgetting_curve import DYING_BELOW, clock_below
from nacre.being.memory.model.lineage import (
    is_vouched,
    lineage_of_text,
    made_of,
    origins_of,
    tellings_of,
    with_lineage,
    with_vouch,
)
from nacre.being.memory.model.types import Node, Scene
from nacre.being.memory.model.wordings import dismissed_days, with_wordings_of
from nacre.core.lazy_dataclasses import replace
from nacre.core.origins import Origin, union


def merged_node(sources: Sequence[Node], clock: int, origins: Iterable[Origin] = ()) -> Node:
    """Return the merge of the sources; the caller sets its id and its text.

    `origins` are those of whoever writes the text, beside the origins of the sources.
    """
    assert not any(source.earlier for source in sources)
    strongest = strongest_of(sources)
    clock0 = max(source.clock0 for source in sources)
    if not any(source.is_living for source in sources):
        clock0 = clock  # merged on purpose, so remembered again
    stability = max(source.stability for source in sources)
    superseded = [source.superseded_by for source in sources]
    merged = replace(
        strongest,
        actors=_union(source.actors for source in sources),
        when=tuple(sorted(_union(source.when for source in sources))),
        setting=strongest.setting
        or next((source.setting for source in sources if source.setting), None),
        themes=_union(source.themes for source in sources),
        importance=max(source.importance for source in sources),
        evidence=_union(source.evidence for source in sources),
        fingerprint=None,
        cluster_id=_cluster_of(sources),
        status="active",
        merged_into=None,
        status_before=None,
        parents=tuple(sorted(source.node_id for source in sources)),
        reason=None,
        stability=stability,
        clock0=clock0,
        due=clock_below(clock0, stability, DYING_BELOW),
        reactivation_count=sum(source.reactivation_count for source in sources),
        reactivation_done=sum(source.reactivation_done for source in sources),
        count_at_death=None,
        last_activated=max(source.last_activated or "" for source in sources) or None,
        pinned=any(source.pinned for source in sources),
        valid_from=min(
            (source.valid_from for source in sources if source.valid_from), default=None
        ),
        superseded_by=None if None in superseded else superseded[0],
        valid_until=None if None in superseded else sources[0].valid_until,
        similar=_similar_to(sources),
        wordings=(),  # the sources keep theirs
        emb_id=None,
    )
    return made_of(merged, sources, origins)


def with_later_changes(strongest: Node, node: Node, sources: Sequence[Node]) -> Node:
    """Return a source with the evidence, days and recalls that the merge got later."""
    assert not any(part.earlier for part in (strongest, node, *sources))
    evidence = set(_union(source.evidence for source in sources))
    days = set(_union(source.when for source in sources))
    recalls = node.reactivation_count - sum(source.reactivation_count for source in sources)
    if later := tellings_of(node)[1:]:  # they told the text of the merge
        strongest = with_lineage(strongest, tellings_of(strongest), union(later), [strongest.trust])
    return replace(
        strongest,
        evidence=(
            *strongest.evidence,
            *(scene_id for scene_id in node.evidence if scene_id not in evidence),
        ),
        when=tuple(sorted({*strongest.when, *(set(node.when) - days)})),
        reactivation_count=strongest.reactivation_count + max(0, recalls),
    )


def rebuilt_node(
    node: Node, evidence: Sequence[str], scenes: Sequence[Scene], parents: Sequence[Node]
) -> Node:
    """Return the node with only this evidence, from the scenes in it and its parents.

    A merged or a corrected memory keeps its text; any other takes the text of its most important
    scene. Earlier wordings are emptied unless a remaining source says them. Importance never falls.
    """
    assert not node.earlier
    sources: list[Node | Scene] = [*parents, *scenes]
    dismissed = dismissed_days(node)
    after = with_wordings_of(node, {source.action for source in sources})
    if not parents and not node.wordings:
        lead = lead_of(scenes)
        after = replace(
            after,
            action=lead.action,
            feeling=lead.feeling,
            setting=lead.setting,
            fingerprint=lead.fingerprint,
        )
    rebuilt = replace(
        after,
        evidence=tuple(evidence),
        actors=_union(source.actors for source in sources),
        when=_days(sources, dismissed),
        themes=_union(source.themes for source in sources),
        emb_id=None,
        version=node.version + 1,
    )
    return _with_remaining_lineage(rebuilt, node, parents, scenes)


def _with_remaining_lineage(
    rebuilt: Node, node: Node, parents: Sequence[Node], scenes: Sequence[Scene]
) -> Node:
    """Return a rebuilt node with the lineages of what it is still made of.

    A text that stays keeps its lineage, whatever was erased: it may repeat what was erased.
    """
    if node.wordings or parents:
        sources: list[Node | Scene] = [*parents, *scenes]
        trusts = [source.trust for source in sources]
        every = union(map(origins_of, sources))
        return with_lineage(rebuilt, [lineage_of_text(node)], every, trusts)
    lead = lead_of(scenes)
    others = [origins_of(scene) for scene in scenes if scene is not lead]
    trusts = [scene.trust for scene in scenes]
    after = with_lineage(rebuilt, [origins_of(lead), *others], (), trusts)
    return with_vouch(after) if is_vouched(node) and after.action == node.action else after


def lead_of(scenes: Sequence[Scene]) -> Scene:
    """Return the scene whose text a rebuilt memory takes: the most important one."""
    return min(scenes, key=lambda scene: (-scene.importance, scene.scene_id))


def _days(sources: Sequence[Node | Scene], dismissed: frozenset[str]) -> tuple[str, ...]:
    """Return the days of the sources, without those that a correction removed."""
    days = _union(source.when for source in sources)
    return tuple(sorted(set(days) - dismissed or days))


def strongest_of(sources: Sequence[Node]) -> Node:
    """Return the most important source; of equals the one with the first id."""
    return min(sources, key=lambda source: (-source.importance, source.node_id))


def _similar_to(sources: Sequence[Node]) -> tuple[str, ...]:
    """Return the ids of memories that are similar to a source and are not sources themselves."""
    ids = {source.node_id for source in sources}
    return tuple(
        node_id for node_id in _union(node.similar for node in sources) if node_id not in ids
    )


def _cluster_of(sources: Sequence[Node]) -> str | None:
    """Return the cluster of most sources, of the living ones if there are any; ties by id."""
    living = [source for source in sources if source.is_living] or sources
    counts = Counter(source.cluster_id for source in living if source.cluster_id is not None)
    return min(counts, key=lambda cluster_id: (-counts[cluster_id], cluster_id), default=None)


def _union(parts: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for part in parts for text in part))
