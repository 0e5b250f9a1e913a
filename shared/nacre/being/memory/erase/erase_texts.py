"""Erasing what was written or said: entries of targets with their old versions, and messages."""

from functools import partial
from itertools import islice

from nacre.being.memory.erase.receipt import Erased
from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import PENDING_MESSAGES, count_in, counters, write_counted
from nacre.being.memory.model.fields import checked_date, checked_name
from nacre.being.memory.model.types import Message
from nacre.being.memory.store.entries import body_key, entry_in, version_key
from nacre.being.memory.store.partitions import items_in
from nacre.being.memory.store.retry import settled
from nacre.being.memory.store.targets import REQUIRED_SOUL_FIELDS, Target
from nacre.core.errors import InvalidInputError, NotFoundError
from nacre.core.limits import MAX_TRANSACTION_WRITES
from nacre.ports.items.table import Change, Compare, Delete, Item, Key, Present, Range, Table, Write


class WordErasing:
    """Erases entries and messages of Beings."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def entry(self, being_id: str, target: Target, key: str) -> Erased:
        """Erase an entry with its old versions; of one that has to be there only these."""
        key = checked_name(key, "key")
        return settled(partial(self._entry, being_id, target, key))

    def messages(self, being_id: str, date_from: str, date_to: str) -> Erased:
        """Erase the messages between two dates in UTC, inclusive.

        Later hashes of the chain stay as they are, and so do markers: by them a client that
        sends its whole history again is recognised, and does not bring the messages back.
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
        # Evidence goes first: a command that broke off still finds the messages.
        made = self._without_evidence(being_id, frozenset(ids))
        for month, partition in partitions.items():
            size = MAX_TRANSACTION_WRITES - 1
            while items := self._table.query(partition, keys=within, limit=size).items:
                deletes: list[Write] = [Delete(Key(partition, str(item["sk"]))) for item in items]
                write_counted(self._table, being_id, deletes)
            if not self._table.query(partition, limit=1).items:
                self._table.delete(Key(keys.months(being_id), month))
        settled(partial(self._let_none_wait_that_is_gone, being_id))
        counts = {"message": len(ids)} if ids else {}
        return Erased(counts, tuple(ids), tuple(dict.fromkeys(texts)), made)

    def _let_none_wait_that_is_gone(self, being_id: str) -> None:
        """Count no more messages as waiting for a patrol than there are."""
        waiting = count_in(counters(self._table, being_id), PENDING_MESSAGES)
        there = (
            item
            for month in items_in(self._table, keys.months(being_id))
            for item in items_in(self._table, keys.history(being_id, str(month["sk"])))
        )
        left = sum(1 for _ in islice(there, waiting))
        if left < waiting:
            fewer = Change(set={PENDING_MESSAGES: left})
            same = Compare(PENDING_MESSAGES, "=", waiting)
            self._table.update(keys.meta(being_id), fewer, when=same)

    def _entry(self, being_id: str, target: Target, key: str) -> Erased:
        home = keys.home(being_id)
        place, apart = Key(home, target.prefix + key), body_key(being_id, target, key)
        found = self._table.get_many([place, apart])
        head, versions = found.get(place), self._versions(being_id, target, key)
        if head is None and not versions:
            raise NotFoundError(f"there is no entry {key[:64]!r} in {target.name}")
        stays = target.keyed_by == "field" and key in REQUIRED_SOUL_FIELDS
        writes: list[Write] = [Delete(Key(home, str(each["sk"]))) for each in versions]
        texts = dict.fromkeys(str(each["text"]) for each in versions if "text" in each)
        counts = {"version": len(versions)}
        if head is not None and stays:
            texts.pop(str(head.get("text")), None)
        elif head is not None:
            writes += [Delete(place, Compare("version", "=", entry_in(head).version))]
            writes += [Delete(apart)]
            texts |= dict.fromkeys(str(each["text"]) for each in found.values() if "text" in each)
            counts[target.name] = 1
        fewer = counts.get(target.name, 0) if target.most is not None else 0
        write_counted(self._table, being_id, writes, add={target.counter: -fewer})
        ids = (key,) if target.keyed_by == "id" else ()
        return Erased({kind: n for kind, n in counts.items() if n}, ids, tuple(texts))

    def _versions(self, being_id: str, target: Target, key: str) -> tuple[Item, ...]:
        if target.versions is None:
            return ()
        first = version_key(target, key, 0)
        within = Range(low=first, high=f"{first[:-8]}99999999")
        return self._table.query(keys.home(being_id), keys=within).items

    def _without_evidence(self, being_id: str, gone: frozenset[str]) -> tuple[str, ...]:
        """Take messages out of the evidence of scenes and relations; return the scenes."""
        made = []
        scenes = items_in(self._table, keys.scenes(being_id))
        relations = items_in(self._table, keys.home(being_id), Range(prefix=keys.RELATION))
        for items in (scenes, relations):
            for item in items:
                evidence = item.get("evidence")
                if not isinstance(evidence, list) or gone.isdisjoint(map(str, evidence)):
                    continue
                place = Key(str(item["pk"]), str(item["sk"]))
                left = [each for each in evidence if str(each) not in gone]
                self._table.update(place, Change(set={"evidence": left}), when=Present())
                if "scene_id" in item:
                    made.append(str(item["scene_id"]))
        return tuple(made)
