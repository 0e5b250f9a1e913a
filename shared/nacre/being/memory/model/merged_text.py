"""What several memories say together, and what one of them keeps of it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from nacre.being.memory.model.forgetting_curve import DYING_BELOW, clock_below
from nacre.being.memory.model.types import Node, least_trusted


def united(sources: Sequence[Node], clock: int) -> Node:
    """Return what the sources say together; the caller gives it its own id and text."""
    strongest = strongest_of(sources)
    clock0 = max(source.clock0 for source in sources)
    if not any(source.is_living for source in sources):
        clock0 = clock  # merged on purpose, so remembered again
    stability = max(source.stability for source in sources)
    superseded = [source.superseded_by for source in sources]
    return replace(
        strongest,
        actors=_union(source.actors for source in sources),
        when=tuple(sorted(_union(source.when for source in sources))),
        setting=strongest.setting or next((each.setting for each in sources if each.setting), None),
        themes=_union(source.themes for source in sources),
        importance=max(source.importance for source in sources),
        evidence=_union(source.evidence for source in sources),
        trust=least_trusted([source.trust for source in sources]),
        fingerprint=None,
        cluster_id=_home_of(sources),
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
        last_activated=max(each.last_activated or "" for each in sources) or None,
        pinned=any(source.pinned for source in sources),
        valid_from=min((each.valid_from for each in sources if each.valid_from), default=None),
        superseded_by=None if None in superseded else superseded[0],
        similar=_others(sources),
        emb_id=None,
    )


def with_what_was_learned(strongest: Node, node: Node, sources: Sequence[Node]) -> Node:
    """Return a source with the evidence, days and recalls that the merge had since."""
    evidence = set(_union(source.evidence for source in sources))
    days = set(_union(source.when for source in sources))
    recalls = node.reactivation_count - sum(source.reactivation_count for source in sources)
    return replace(
        strongest,
        evidence=(*strongest.evidence, *(each for each in node.evidence if each not in evidence)),
        when=tuple(sorted({*strongest.when, *(set(node.when) - days)})),
        reactivation_count=strongest.reactivation_count + max(0, recalls),
    )


def strongest_of(sources: Sequence[Node]) -> Node:
    """Return the most important source; of equals the one with the first id."""
    return min(sources, key=lambda source: (-source.importance, source.node_id))


def _others(sources: Sequence[Node]) -> tuple[str, ...]:
    """Return the memories that are similar to a source, and are none of them."""
    ids = {source.node_id for source in sources}
    return tuple(each for each in _union(node.similar for node in sources) if each not in ids)


def _home_of(sources: Sequence[Node]) -> str | None:
    """Return the cluster of most sources, of the living ones if there are any; ties by id."""
    living = [source for source in sources if source.is_living] or sources
    homes = Counter(source.cluster_id for source in living if source.cluster_id is not None)
    return min(homes, key=lambda home: (-homes[home], home), default=None)


def _union(parts: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each for part in parts for each in part))
