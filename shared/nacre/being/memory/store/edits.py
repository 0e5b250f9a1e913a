"""Changes that a person makes to a memory: its words, and whether it may ever be forgotten."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from nacre.being.memory.model.counters import count_in, counters, write_counted
from nacre.being.memory.model.fields import (
    checked_dates,
    checked_name,
    checked_names,
    checked_share,
    checked_text,
    optional_text,
)
from nacre.being.memory.model.forgetting_curve import DYING_BELOW, clock_below
from nacre.being.memory.model.types import UNDONE, Node
from nacre.being.memory.store.clusters import Clusters, marking_dirty
from nacre.being.memory.store.merges import CLOCK, ClusterVectors
from nacre.being.memory.store.nodes import Nodes, replacing
from nacre.being.memory.store.retry import settled
from nacre.being.memory.text.searchable_text import SearchIndex, searchable
from nacre.core.errors import ConflictError, InvalidInputError, NotFoundError, UnavailableError
from nacre.core.limits import (
    MAX_ACTION_BYTES,
    MAX_ACTORS,
    MAX_FEELING_BYTES,
    MAX_SETTING_BYTES,
    MAX_THEMES,
)
from nacre.ports.items.table import Table, Write


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """What a memory says, all that a person may change of it."""

    action: str
    actors: Sequence[str]
    when: Sequence[str]
    setting: str | None = None
    feeling: str | None = None
    themes: Sequence[str] = ()
    importance: float = 0.5


class Amends:
    """Changes nodes. What they were made of, and whom that is trusted as, stays."""

    def __init__(
        self,
        table: Table,
        nodes: Nodes,
        clusters: Clusters,
        index: SearchIndex,
        vectors: ClusterVectors,
    ) -> None:
        self._table = table
        self._nodes = nodes
        self._clusters = clusters
        self._index = index
        self._vectors = vectors

    def reword(self, being_id: str, node_id: str, wording: Wording, *, version: int) -> Node:
        """Let a memory say something else, if it still is the version that was read.

        Raises NotFoundError, ConflictError when it was changed meanwhile, and
        InvalidInputError for a merged memory: what it was merged into stands for it.
        """
        said = _checked(wording)

        def change(node: Node) -> Node:
            if node.version != version:
                raise ConflictError(
                    "the memory was changed meanwhile; look at it again, and make your change anew"
                )
            return replace(
                node,
                action=said.action,
                actors=tuple(said.actors),
                when=tuple(said.when),
                setting=said.setting,
                feeling=said.feeling,
                themes=tuple(said.themes),
                importance=said.importance,
            )

        return settled(lambda: self._change(being_id, node_id, change))

    def pin(self, being_id: str, node_id: str, *, pinned: bool) -> Node:
        """Let a living memory never be forgotten, or as others are: then it counts from today.

        Raises InvalidInputError for one that is not living.
        """

        def change(node: Node) -> Node:
            if not node.is_living:
                raise InvalidInputError("only a memory that is not forgotten can be pinned")
            if node.pinned == pinned:
                return node
            clock = count_in(counters(self._table, being_id), CLOCK)
            due = clock_below(clock, node.stability, DYING_BELOW)
            return replace(node, pinned=pinned, status="active", clock0=clock, due=due)

        return settled(lambda: self._change(being_id, node_id, change))

    def _change(self, being_id: str, node_id: str, change: Callable[[Node], Node]) -> Node:
        before = self._nodes.get(being_id, checked_name(node_id, "node_id"))
        if before is None:
            raise NotFoundError("there is no such memory")
        if before.status == "merged":
            raise InvalidInputError(f"it was merged into {before.merged_into}; change that one")
        if before.reason == UNDONE:
            raise InvalidInputError("its merge was taken back; change what it was made of")
        after = change(before)
        if after == before:
            return before
        after = replace(after, version=before.version + 1)
        entries = [searchable(after)]
        writes: list[Write] = [replacing(being_id, before, after)]
        cluster_id = after.cluster_id
        known = cluster_id is not None and self._clusters.get(being_id, cluster_id) is not None
        if cluster_id is not None and known:
            writes.append(marking_dirty(being_id, cluster_id))
        writes += self._index.writes(being_id, entries)
        write_counted(self._table, being_id, writes, has_work=True)
        self._index.apply(being_id, entries)
        if cluster_id is not None and known and after.action != before.action:
            with suppress(UnavailableError):  # it is marked dirty: the next patrol does it
                self._vectors.renew(being_id, cluster_id)
        return after


def _checked(wording: Wording) -> Wording:
    return Wording(
        action=checked_text(wording.action, "action", limit=MAX_ACTION_BYTES),
        actors=checked_names(wording.actors, "actors", limit=MAX_ACTORS),
        when=checked_dates(wording.when, "when"),
        setting=optional_text(wording.setting, "setting", limit=MAX_SETTING_BYTES),
        feeling=optional_text(wording.feeling, "feeling", limit=MAX_FEELING_BYTES),
        themes=checked_names(wording.themes, "themes", limit=MAX_THEMES),
        importance=checked_share(wording.importance, "importance"),
    )
