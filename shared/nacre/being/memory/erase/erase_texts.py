"""Erasing entries of targets with their old versions, and messages."""

from functools import partial
from itertools import islice

from nacre.being.memory.erase.receipt import EraseReceipt
from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import PENDING_MESSAGES, count_in, counters, write_counted
from nacre.being.memory.model.fields import checked_date, checked_name
from nacre.being.memory.model.types import Message
from nacre.being.memory.store.entries import Entry, body_key, version_key
from nacre.being.memory.store.partitions import items_in
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.being.memory.store.targets import REQUIRED_SOUL_FIELDS, Target
from nacre.core.errors import InvalidInputError, NotFoundError
from nacre.core.limits import MAX_TRANSACTION_WRITES
from nacre.ports.items.table import Change, Compare, Delete, Item, Key, Present, Range, Table, Write


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
        ids: list[str] = []
        texts: list[str] = []
        months = self._table.query(keys.months(being_id), keys=Range(low=low[:7], high=high[:7]))
        partitions = {
            str(item["sk"]): keys.history(being_id, str(item["sk"])) for item in months.items
        }
        for partition in partitions.values():
            for item in items_in(self._table, partition, within):
                message = Message.from_item(item)
                ids.append(message.message_id)
                texts.append(message.content)
        # Evidence is erased first, so that an interrupted command still finds the messages.
        derived = self._remove_evidence(being_id, frozenset(ids))
        for month, partition in partitions.items():
            size = MAX_TRANSACTION_WRITES - 1
            while items := self._table.query(partition, keys=within, limit=size).items:
                deletes: list[Write] = [Delete(Key(partition, str(item["sk"]))) for item in items]
                write_counted(self._table, being_id, deletes)
            if not self._table.query(partition, limit=1).items:
                self._table.delete(Key(keys.months(being_id), month))
        retry_on_conflict(partial(self._lower_pending_count, being_id))
        counts = {"message": len(ids)} if ids else {}
        return EraseReceipt(counts, tuple(ids), tuple(dict.fromkeys(texts)), derived)

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
