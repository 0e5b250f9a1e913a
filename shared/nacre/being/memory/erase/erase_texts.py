"""Erasing entries of targets with their old versions, and messages."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice

from nacre.being.memory.erase.receipt import EraseReceipt
from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import PENDING_MESSAGES, count_in, counters, write_counted
from nacre.being.memory.model.fields import checked_date, checked_name
from nacre.being.memory.model.types import Conversation, Message, Scene
from nacre.being.memory.store.entry_items import Entry, body_key, version_key
from nacre.being.memory.store.kept_questions import erase_questions
from nacre.being.memory.store.partitions import items_in
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.being.memory.store.targets import REQUIRED_SOUL_FIELDS, Target
from nacre.core.errors import InvalidInputError, NotFoundError
from nacre.core.lazy_dataclasses import replace
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import (
    Change,
    Compare,
    Delete,
    Item,
    Key,
    Present,
    Put,
    Range,
    Table,
    Write,
)

_PAGE = 50
_DELETED_AT_ONCE = 45  # messages in one transaction, each at most with its conversation


class TextEraser:
    """Erases entries and messages of Beings."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def entry(self, being_id: str, target: Target, key: str) -> EraseReceipt:
        """Erase an entry with its old versions; of a required entry, only the old versions."""
        key = checked_name(key, "key")
        return retry_on_conflict(partial(self._entry, being_id, target, key))

    def messages(self, being_id: str, date_from: str, date_to: str) -> EraseReceipt:
        """Erase the messages between two dates in UTC, inclusive.

        Later hashes of the chain and markers stay. They recognise a client that sends its whole
        history again, so that the messages do not come back.
        """
        low, high = checked_date(date_from, "--from"), checked_date(date_to, "--to")
        if low > high:
            raise InvalidInputError(f"--from ({low}) is after --to ({high})")
        within = Range(low=low, high=f"{high}T23:59:59.999Z~")
        months = self._table.query(keys.months(being_id), keys=Range(low=low[:7], high=high[:7]))
        return self._erase_messages(
            being_id,
            lambda: (
                item
                for month in months.items
                for item in items_in(self._table, keys.history(being_id, str(month["sk"])), within)
            ),
        )

    def conversation(self, being_id: str, conversation_id: str) -> EraseReceipt:
        """Erase the messages of a captured conversation; their identities stay.

        So no later capture or import brings the messages back.
        """
        partition = keys.conversation(being_id, checked_name(conversation_id, "conversation"))
        place = Key(keys.conversations(being_id), conversation_id)
        if self._table.get(place) is None:
            raise NotFoundError(f"there is no conversation {conversation_id[:64]!r}")
        receipt = self._erase_messages(
            being_id, lambda: every_item(self._table, partition, index="gsi2", at_once=_PAGE)
        )
        self._table.delete(place)
        return receipt

    def message_ids(self, being_id: str, conversation_id: str) -> frozenset[str]:
        """Return the ids of the messages of a captured conversation."""
        partition = keys.conversation(being_id, checked_name(conversation_id, "conversation"))
        items = every_item(self._table, partition, index="gsi2", at_once=_PAGE)
        return frozenset(str(item["message_id"]) for item in items)

    def scenes_only_from(self, being_id: str, message_ids: frozenset[str]) -> list[str]:
        """Return the scenes that were found in these messages and in no others."""
        scenes = map(Scene.from_item, items_in(self._table, keys.scenes(being_id)))
        return [
            scene.scene_id
            for scene in scenes
            if scene.source == "extract" and scene.evidence and message_ids >= {*scene.evidence}
        ]

    def message(self, being_id: str, message: Message) -> EraseReceipt:
        """Erase one message; a captured one does not come back."""
        place = Key.of(message.to_item(being_id))
        return self._erase_messages(
            being_id, lambda: (item for item in (self._table.get(place),) if item is not None)
        )

    def _erase_messages(self, being_id: str, items: Callable[[], Iterable[Item]]) -> EraseReceipt:
        """Erase the messages that `items` yields, with their evidence and in their lists."""
        places: list[Key] = []
        ids: list[str] = []
        texts: dict[str, None] = {}
        conversations: set[str] = set()
        for item in items():
            message = Message.from_item(item)
            places.append(Key.of(item))
            ids.append(message.message_id)
            texts[message.content] = None
            if message.conversation_id is not None:
                conversations.add(message.conversation_id)
        # What refers to them is erased first, so that an interrupted command still finds them.
        erase_questions(self._table, being_id, ids, texts)
        derived = self._remove_evidence(being_id, frozenset(ids))
        for first in range(0, len(places), _DELETED_AT_ONCE):
            portion = places[first : first + _DELETED_AT_ONCE]
            retry_on_conflict(partial(self._delete_messages, being_id, portion))
        for month in sorted({place.pk.rpartition("#")[2] for place in places}):
            if not self._table.query(keys.history(being_id, month), limit=1).items:
                self._table.delete(Key(keys.months(being_id), month))
        for conversation_id in sorted(conversations):
            retry_on_conflict(partial(self._trim, being_id, conversation_id))
        retry_on_conflict(partial(self._lower_pending_count, being_id))
        counts = {"message": len(ids)} if ids else {}
        return EraseReceipt(counts, tuple(ids), tuple(texts), derived)

    def _delete_messages(self, being_id: str, places: Sequence[Key]) -> None:
        """Delete messages, and count them less in their conversations."""
        items = self._table.get_many(places)
        if not items:
            return
        fewer = Counter(
            str(item["conversation_id"]) for item in items.values() if "conversation_id" in item
        )
        writes: list[Write] = [Delete(place) for place in items]
        listed = [Key(keys.conversations(being_id), id_) for id_ in fewer]
        for place, item in self._table.get_many(listed).items():
            conversation = Conversation.from_item(item)
            remaining = max(0, conversation.messages - fewer[place.sk])
            after = replace(conversation, messages=remaining, version=conversation.version + 1)
            same = Compare("version", "=", conversation.version)
            writes.append(Put(after.to_item(being_id), same))
        waiting = sum("gsi1pk" in item for item in items.values())
        write_counted(self._table, being_id, writes, add={PENDING_MESSAGES: -waiting})

    def _trim(self, being_id: str, conversation_id: str) -> None:
        """Set the times of a conversation to those of its remaining messages, or delete it."""
        place = Key(keys.conversations(being_id), conversation_id)
        item = self._table.get(place)
        if item is None:
            return
        conversation = Conversation.from_item(item)
        same = Compare("version", "=", conversation.version)
        partition = keys.conversation(being_id, conversation_id)
        ends = [
            str(end["ts"])
            for descending in (False, True)
            for end in self._table.query(
                partition, index="gsi2", descending=descending, limit=1
            ).items
        ]
        if conversation.messages == 0 or not ends:
            self._table.delete(place, when=same)
            return
        after = replace(
            conversation, first=ends[0], last=ends[-1], version=conversation.version + 1
        )
        self._table.put(after.to_item(being_id), when=same)

    def _lower_pending_count(self, being_id: str) -> None:
        """Lower the count of pending messages to the number of messages."""
        pending = count_in(counters(self._table, being_id), PENDING_MESSAGES)
        messages = (
            item
            for month in items_in(self._table, keys.months(being_id))
            for item in items_in(self._table, keys.history(being_id, str(month["sk"])))
        )
        remaining = sum(1 for _ in islice(messages, pending))
        if remaining < pending:
            fewer = Change(set={PENDING_MESSAGES: remaining})
            same = Compare(PENDING_MESSAGES, "=", pending)
            self._table.update(keys.meta(being_id), fewer, when=same)

    def _entry(self, being_id: str, target: Target, key: str) -> EraseReceipt:
        home = keys.home(being_id)
        place, apart = Key(home, target.prefix + key), body_key(being_id, target, key)
        items = self._table.get_many([place, apart])
        entry, versions = items.get(place), self._versions(being_id, target, key)
        if entry is None and not versions:
            raise NotFoundError(f"there is no entry {key[:64]!r} in {target.name}")
        is_required = target.keyed_by == "field" and key in REQUIRED_SOUL_FIELDS
        writes: list[Write] = [Delete(Key(home, str(version["sk"]))) for version in versions]
        texts = dict.fromkeys(str(version["text"]) for version in versions if "text" in version)
        counts = {"version": len(versions)}
        if entry is not None and is_required:
            texts.pop(str(entry.get("text")), None)
        elif entry is not None:
            writes += [Delete(place, Compare("version", "=", Entry.from_item(entry).version))]
            writes += [Delete(apart)]
            texts |= dict.fromkeys(str(item["text"]) for item in items.values() if "text" in item)
            counts[target.name] = 1
        erase_questions(self._table, being_id, (), texts)
        fewer = counts.get(target.name, 0) if target.most is not None else 0
        write_counted(self._table, being_id, writes, add={target.counter: -fewer})
        ids = (key,) if target.keyed_by == "id" else ()
        return EraseReceipt({kind: n for kind, n in counts.items() if n}, ids, tuple(texts))

    def _versions(self, being_id: str, target: Target, key: str) -> tuple[Item, ...]:
        if target.versions is None:
            return ()
        first = version_key(target, key, 0)
        within = Range(low=first, high=f"{first[:-8]}99999999")
        return self._table.query(keys.home(being_id), keys=within).items

    def _remove_evidence(self, being_id: str, message_ids: frozenset[str]) -> tuple[str, ...]:
        """Remove messages from the evidence of scenes and relations; return the scenes."""
        derived = []
        scenes = items_in(self._table, keys.scenes(being_id))
        relations = items_in(self._table, keys.home(being_id), Range(prefix=keys.RELATION))
        for items in (scenes, relations):
            for item in items:
                evidence = item.get("evidence")
                if not isinstance(evidence, list) or message_ids.isdisjoint(map(str, evidence)):
                    continue
                place = Key.of(item)
                remaining = [entry for entry in evidence if str(entry) not in message_ids]
                self._table.update(place, Change(set={"evidence": remaining}), when=Present())
                if "scene_id" in item:
                    derived.append(str(item["scene_id"]))
        return tuple(derived)
