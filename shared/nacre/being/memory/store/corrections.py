"""Corrections of memories by their ids: replace the text, hide, and undo either.

An agent changes nothing that the owner has pinned, and undoes only changes that an agent made in
the last 30 days. No search finds a hidden memory until somebody shows it again. It is not erased:
only the owner erases.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from itertools import islice

from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import write_counted
from nacre.being.memory.model.fields import checked_dates, checked_text
from nacre.being.memory.model.types import Author, Cluster, Node, moment
from nacre.being.memory.model.wordings import corrected, uncorrected, wordings_of
from nacre.being.memory.store.clusters import replacing as replacing_cluster
from nacre.being.memory.store.clusters import without_summary
from nacre.being.memory.store.diary import think_key
from nacre.being.memory.store.edits import MemoryEdits, check_author, hidden_node
from nacre.being.memory.store.nodes import no_longer_superseded, replacing
from nacre.being.memory.store.partitions import items_in
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.being.memory.text.searchable_text import searchable
from nacre.core.errors import InvalidInputError, UnavailableError
from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.core.limits import AGENT_UNDO_DAYS, CLUSTER_MEMBERS, MAX_ACTION_BYTES
from nacre.core.origins import Origin
from nacre.ports.items.table import Delete, Write

_DAYS = re.compile(r"\[\s*(\d{4}-\d\d-\d\d(?:[\s,]+\d{4}-\d\d-\d\d)*)\s*\]\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Corrections:
    """Corrects and hides memories, and undoes both."""

    edits: MemoryEdits

    def correct(
        self,
        being_id: str,
        node_id: str,
        text: str,
        *,
        by: Author,
        origins: Collection[Origin] = (),
    ) -> Node:
        """Replace the text of a memory, and keep its earlier wording.

        `origins` are those of whatever the author has received, beside the author.

        Days in brackets before the text replace its days. Raises NotFoundError, and
        InvalidInputError for a memory that may not be changed.
        """
        fields = _fields(text)

        def change(node: Node) -> Node:
            check_author(node, by)
            return corrected(node, fields, by=by, now=self._now(), origins=origins)

        return retry_on_conflict(lambda: self.edits.change(being_id, node_id, change))

    def hide(self, being_id: str, node_id: str, *, by: Author) -> Node:
        """Hide a memory, with the texts that were made from it; a hidden one stays as it is.

        Memories that it superseded are valid again, in every cluster. To find them, all memories
        are read. Raises NotFoundError, and InvalidInputError for a memory that may not be changed.
        """
        node = self.edits.current(being_id, node_id)
        check_author(node, by)
        if node.status == "hidden":
            return node
        if node.cluster_id is not None:
            for cluster in self.edits.clusters.with_predecessors(being_id, [node.cluster_id]):
                if cluster.cluster_id != node.cluster_id and (cluster.digest or cluster.label):
                    retry_on_conflict(partial(self._empty, being_id, cluster.cluster_id))
        superseded = self._superseded_by(being_id, node_id)
        return retry_on_conflict(lambda: self._hide(being_id, node_id, by, superseded))

    def take_back(self, being_id: str, node_id: str, *, by: Author) -> Node:
        """Show a hidden memory again, or take back the last correction of one that is shown.

        Raises NotFoundError, and InvalidInputError if there is nothing that `by` may take back.
        """
        return retry_on_conflict(lambda: self._take_back(being_id, node_id, by))

    def _hide(self, being_id: str, node_id: str, by: Author, superseded: Sequence[str]) -> Node:
        before = self.edits.current(being_id, node_id)
        check_author(before, by)
        if before.status == "hidden":
            return before
        after = hidden_node(before, by=by, at=self._now())
        after = replace(after, version=before.version + 1)
        writes: list[Write] = [replacing(being_id, before, after), Delete(think_key(being_id))]
        valid_again = []
        for old in self.edits.nodes.get_many(being_id, superseded).values():
            if old.superseded_by == node_id:
                valid = no_longer_superseded(old)
                valid_again.append(valid)
                writes.append(replacing(being_id, old, valid))
        cluster = self._cluster(being_id, before.cluster_id)
        if cluster is not None:
            empty = without_summary(cluster, fewer=int(before.is_living))
            writes.append(replacing_cluster(being_id, empty, version=cluster.version))
        index_change = self.edits.index.prepare(
            being_id, [searchable(node) for node in (after, *valid_again) if node.is_indexed]
        )
        writes += index_change.writes
        write_counted(self.edits.table, being_id, writes, has_work=True)
        index_change.apply()
        if cluster is not None:
            with suppress(UnavailableError):  # the next patrol renews what is marked dirty
                self.edits.vectors.renew(being_id, cluster.cluster_id, [node_id])
        return after

    def _take_back(self, being_id: str, node_id: str, by: Author) -> Node:
        before = self.edits.current(being_id, node_id)
        if before.status != "hidden":
            return self.edits.change(being_id, node_id, partial(self._uncorrected, by))
        check_author(before, by)
        self._check(by, before.hidden_by, before.hidden_at)
        cluster = self._cluster(being_id, before.cluster_id)
        has_room = (
            cluster is not None and cluster.state == "active" and cluster.n_active < CLUSTER_MEMBERS
        )
        after = replace(
            before,
            status=before.status_before or "active",
            status_before=None,
            hidden_at=None,
            hidden_by=None,
            cluster_id=before.cluster_id if has_room else None,  # a patrol finds one
            version=before.version + 1,
        )
        self.edits.commit(
            being_id,
            [replacing(being_id, before, after)],
            Counter({after.cluster_id: int(after.is_living)}),
            [after.cluster_id],
            live=[after],
        )
        return after

    def _uncorrected(self, by: Author, node: Node) -> Node:
        check_author(node, by)
        if not node.wordings:
            raise InvalidInputError("it is neither hidden nor corrected: nothing to take back")
        last = wordings_of(node)[-1]
        self._check(by, last.by, last.until)
        return uncorrected(node)

    def _check(self, by: Author, author: Author | None, at: str | None) -> None:
        """Raise InvalidInputError unless `by` may take back a change of this author and time."""
        if by == "owner":
            return
        if author not in ("agent", "mirror"):
            raise InvalidInputError("the owner changed it, and only the owner takes that back")
        end = undo_end(at)
        if end is None or self._now() > end:
            raise InvalidInputError(
                f"it was changed more than {AGENT_UNDO_DAYS} days ago; only the owner can take"
                " that back, in the console"
            )

    def _superseded_by(self, being_id: str, node_id: str) -> list[str]:
        """Return the ids of the memories that a node superseded, as many as one write takes."""
        items = items_in(self.edits.table, keys.nodes(being_id))
        superseded = (str(item["sk"]) for item in items if item.get("superseded_by") == node_id)
        return list(islice(superseded, _SUPERSEDED))

    def _empty(self, being_id: str, cluster_id: str) -> None:
        cluster = self._cluster(being_id, cluster_id)
        if cluster is not None:
            empty = without_summary(cluster, fewer=0)
            self.edits.clusters.replace(being_id, empty, version=cluster.version)

    def _cluster(self, being_id: str, cluster_id: str | None) -> Cluster | None:
        return None if cluster_id is None else self.edits.clusters.get(being_id, cluster_id)

    def _now(self) -> str:
        return moment(self.edits.clock())


_SUPERSEDED = 40  # memories that one superseded; a transaction has room for a hundred writes


def undo_end(changed_at: str | None) -> str | None:
    """Return the time until which an agent can take back a change of this time."""
    if not changed_at:
        return None
    return moment(datetime.fromisoformat(changed_at) + timedelta(days=AGENT_UNDO_DAYS))


def _fields(text: str) -> dict[str, object]:
    """Return the fields of a correction: the text, and the days in brackets before it, if any."""
    days = _DAYS.match(text)
    if days is None:
        return {"action": checked_text(text, "content", limit=MAX_ACTION_BYTES)}
    action = checked_text(text[days.end() :], "content", limit=MAX_ACTION_BYTES)
    dates = checked_dates(days[1].replace(",", " ").split(), "content")
    return {"action": action, "when": dates}
