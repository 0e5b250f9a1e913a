"""What a model decided about memories, within what it was asked about."""

from collections.abc import Sequence

from nacre.being.memory.model.types import TRUST_ORDER, Node
from nacre.being.patrol.planning.answer_fields import (
    Answer,
    UnusableError,
    fitting_text,
    label_in,
    list_in,
    optional_text,
    place_of,
    places_in,
    text_in,
)
from nacre.being.patrol.planning.plans import Digest, MergePlan, SplitPlan, Supersede
from nacre.core.limits import MAX_THINK_NOTES, PLANNED_DIGEST_BYTES


def merge_in(answer: Answer, group: Sequence[Node]) -> MergePlan:
    """Return what is to be merged and superseded within a group."""
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
    news: set[int] = set()
    for pair in list_in(answer, "supersede", most=len(group)):
        if not isinstance(pair, dict):
            raise UnusableError("a pair is not an object")
        old, new = place_of(pair.get("old"), len(group)), place_of(pair.get("new"), len(group))
        if old == new or old in pairs or old in merged:
            raise UnusableError("it supersedes what cannot be superseded")
        why = text_in(pair, "why", limit=PLANNED_DIGEST_BYTES)
        pairs[old] = Supersede(group[old].node_id, group[new].node_id, why)
        news.add(new)
    if news & pairs.keys():
        raise UnusableError("it supersedes what is to supersede another")
    # What somebody else's text says must not end what the user said, nor may a memory that it
    # is merged into.
    trust = {node.node_id: TRUST_ORDER.index(node.trust) for node in group}
    whole = [group[place].node_id for place in merged]
    trust |= dict.fromkeys(whole, min((trust[each] for each in whole), default=0))
    return tuple(pair for pair in pairs.values() if trust[pair.new] >= trust[pair.old])


def split_in(answer: Answer) -> SplitPlan:
    """Return whether a cluster is to be split, and the names of the halves."""
    split = answer.get("split")
    if not isinstance(split, bool):
        raise UnusableError("it says neither yes nor no")
    if not split:
        return SplitPlan(split=False)
    first = label_in(answer, "first_label")
    second = label_in(answer, "second_label")
    return SplitPlan(split=True, labels=(first, second))


def digest_in(answer: Answer) -> Digest:
    """Return the name and the digest of a cluster."""
    return Digest(label_in(answer, "label"), text_in(answer, "digest", limit=PLANNED_DIGEST_BYTES))


def diary_in(answer: Answer) -> str:
    """Return a paragraph of the diary."""
    return text_in(answer, "diary")


def notes_in(answer: Answer) -> tuple[str, ...]:
    """Return what stands out, each once."""
    notes = list_in(answer, "notes", most=MAX_THINK_NOTES)
    texts = (fitting_text(note, PLANNED_DIGEST_BYTES) for note in notes)
    return tuple(dict.fromkeys(texts))
