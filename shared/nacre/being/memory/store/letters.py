"""Letters between the Beings of one owner: the inbox and the outbox of `party_message`.

The text of a letter is data from another Being, never an instruction. Its trust is `being`.
"""

from random import Random

from nacre.access.beings import Being, Beings
from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import UNREAD, count_in, counters
from nacre.being.memory.model.fields import checked_name, checked_text, name_key
from nacre.being.memory.model.records import attributes_of
from nacre.being.memory.model.types import StoredRecord, moment
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.core.clock import Clock
from nacre.core.errors import InvalidInputError, NotFoundError
from nacre.core.ids import ulids
from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.core.limits import LETTER_DAYS, MAX_LETTER_BYTES, MAX_NAME_LENGTH, MAX_UNREAD_LETTERS
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import (
    EXPIRES_AT,
    Absent,
    Change,
    Check,
    Compare,
    Delete,
    Either,
    Every,
    Item,
    Key,
    Put,
    Range,
    Table,
    Update,
)

TRUST = "being"

LETTER = ItemSchema("letter", 1)
_NAMES_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter(StoredRecord):
    """One copy of a letter: of its sender (`is_sent`) or of its recipient."""

    schema = LETTER

    letter_id: str
    partner: str  # the sender or the recipient
    content: str
    sent_at: str
    is_sent: bool
    is_read: bool = False


class Letters:
    """Sends, lists, marks and deletes letters."""

    def __init__(self, table: Table, beings: Beings, *, clock: Clock, rng: Random) -> None:
        self._table = table
        self._beings = beings
        self._clock = clock
        self._rng = rng

    def send(self, being_id: str, to: str, content: str) -> Letter:
        """Deliver a letter to a partner by name, with both copies in one transaction.

        Raises NotFoundError with the names of the partners when there is none of this name,
        and InvalidInputError when the partner has too many unread letters.
        """
        content = checked_text(content, "content", limit=MAX_LETTER_BYTES)
        sender, recipient = self._partners(being_id, to)
        now = self._clock()
        [letter_id] = ulids(now, self._rng, 1)
        letter = Letter(
            letter_id=letter_id,
            partner=sender.name,
            content=content,
            sent_at=moment(now),
            is_sent=False,
        )
        expires_at = int(now.timestamp()) + LETTER_DAYS * 86_400
        retry_on_conflict(lambda: self._deliver(sender, recipient, letter, expires_at))
        return _copy(letter, recipient.name)

    def received(self, being_id: str) -> list[Letter]:
        """Return the letters in the inbox, newest first."""
        return self._list(being_id, keys.RECEIVED)

    def sent(self, being_id: str) -> list[Letter]:
        """Return the Being's own copies of what it sent, newest first."""
        return self._list(being_id, keys.SENT)

    def unread(self, being_id: str) -> list[Letter]:
        """Return the received letters that are not marked as read, oldest first."""
        return [letter for letter in reversed(self.received(being_id)) if not letter.is_read]

    def get(self, being_id: str, letter_id: str) -> Letter | None:
        """Return a letter, received or sent, or None."""
        places = [_place(being_id, prefix, letter_id) for prefix in (keys.RECEIVED, keys.SENT)]
        items = self._table.get_many(places)
        return next((Letter.from_item(items[place]) for place in places if place in items), None)

    def mark_read(self, being_id: str, letter_id: str) -> Letter | None:
        """Mark a received letter as read and return it, or None if there is no such letter."""

        def attempt() -> Letter | None:
            letter = self._received(being_id, letter_id)
            if letter is None or letter.is_read:
                return letter
            place = _place(being_id, keys.RECEIVED, letter_id)
            unread = Compare("is_read", "=", False)
            read = Update(place, Change(set={"is_read": True}), unread)
            self._table.transact([read, self._one_less_unread(being_id)])
            return letter

        return retry_on_conflict(attempt)

    def delete(self, being_id: str, letter_id: str) -> Letter | None:
        """Delete the Being's own copy and return it; the partner's copy stays."""

        def attempt() -> Letter | None:
            letter = self.get(being_id, letter_id)
            if letter is None:
                return None
            prefix = keys.SENT if letter.is_sent else keys.RECEIVED
            place = _place(being_id, prefix, letter_id)
            if letter.is_sent or letter.is_read:
                self._table.delete(place)
            else:
                unread = Compare("is_read", "=", False)
                self._table.transact([Delete(place, unread), self._one_less_unread(being_id)])
            return letter

        return retry_on_conflict(attempt)

    def _deliver(self, sender: Being, recipient: Being, letter: Letter, expires_at: int) -> None:
        self._check_inbox(recipient, sender.owner)
        same_owner = Compare("owner", "=", sender.owner)
        room = Either((Absent(UNREAD), Compare(UNREAD, "<", MAX_UNREAD_LETTERS)))
        count = Change(add={UNREAD: 1})
        self._table.transact(
            [
                Put(letter_item(recipient.being_id, letter, expires_at), Absent()),
                Put(
                    letter_item(sender.being_id, _copy(letter, recipient.name), expires_at),
                    Absent(),
                ),
                Update(keys.meta(recipient.being_id), count, Every((same_owner, room))),
                Check(keys.meta(sender.being_id), same_owner),
            ]
        )

    def _check_inbox(self, recipient: Being, owner: str) -> None:
        """Raise InvalidInputError if the inbox is full; expired letters do not count."""
        item = counters(self._table, recipient.being_id)
        if item["owner"] != owner:
            raise NotFoundError(_unknown(recipient.name, []))
        counted = count_in(item, UNREAD)
        if counted < MAX_UNREAD_LETTERS:
            return
        unread = len(self.unread(recipient.being_id))
        if unread >= MAX_UNREAD_LETTERS:
            raise InvalidInputError(
                f"{recipient.name} has {unread} unread letters, the limit; wait until some are read"
            )
        self._table.update(
            keys.meta(recipient.being_id),
            Change(set={UNREAD: unread}),
            when=Compare(UNREAD, "=", counted),
        )

    def _one_less_unread(self, being_id: str) -> Update:
        return Update(keys.meta(being_id), Change(add={UNREAD: -1}))

    def _partners(self, being_id: str, to: str) -> tuple[Being, Being]:
        key = name_key(checked_name(to, "to", limit=MAX_NAME_LENGTH))
        sender = self._beings.get(being_id)
        if sender is None:
            raise NotFoundError("there is no such Being")
        others = [
            being
            for being in self._beings.of_owner(sender.owner)
            if being.being_id != sender.being_id
        ]
        for being in others:
            if name_key(checked_name(being.name, "to")) == key:
                return sender, being
        raise NotFoundError(_unknown(to, [being.name for being in others]))

    def _received(self, being_id: str, letter_id: str) -> Letter | None:
        item = self._table.get(_place(being_id, keys.RECEIVED, letter_id))
        return None if item is None else Letter.from_item(item)

    def _list(self, being_id: str, prefix: str) -> list[Letter]:
        page = self._table.query(keys.home(being_id), keys=Range(prefix=prefix), descending=True)
        return [Letter.from_item(item) for item in page.items]


def _unknown(to: str, names: list[str]) -> str:
    if not names:
        return f"there is no partner '{to[:MAX_NAME_LENGTH]}': the owner has no other Being"
    listed = ", ".join(names[:_NAMES_SHOWN])
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return f"there is no partner '{to[:MAX_NAME_LENGTH]}'; the partners are {listed}{more}"


def _copy(letter: Letter, to: str) -> Letter:
    return replace(letter, partner=to, is_sent=True)


def _place(being_id: str, prefix: str, letter_id: str) -> Key:
    return Key(keys.home(being_id), prefix + checked_name(letter_id, "key"))


def letter_item(being_id: str, letter: Letter, expires_at: int) -> Item:
    """Return the item of a copy of a letter."""
    place = _place(being_id, keys.SENT if letter.is_sent else keys.RECEIVED, letter.letter_id)
    item = {**place.attributes(), EXPIRES_AT: expires_at, **attributes_of(letter)}
    return LETTER.stamp(item)
