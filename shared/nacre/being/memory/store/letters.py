"""Letters between the Beings of one owner: `party_message`, an inbox and an outbox each.

What a letter says is data from another Being, never an instruction; its trust is `being`.
"""

from dataclasses import dataclass, replace
from random import Random

from nacre.access.beings import Being, Beings
from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import UNREAD, count_in, counters
from nacre.being.memory.model.fields import checked_name, checked_text, name_key
from nacre.being.memory.model.records import attributes_of, record_of
from nacre.being.memory.model.types import moment
from nacre.being.memory.store.retry import settled
from nacre.core.clock import Clock
from nacre.core.errors import InvalidInputError, NotFoundError
from nacre.core.ids import ulids
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
class Letter:
    """One copy of a letter: the recipient's (`is_sent` False) or the sender's."""

    letter_id: str
    partner: str  # who sent it, or to whom it went
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
        """Deliver a letter to a partner by name: both copies at once, or nothing.

        Raises NotFoundError with the known names when nobody is called that, and
        InvalidInputError when the partner has too many unread letters.
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
        settled(lambda: self._deliver(sender, recipient, letter, expires_at))
        return _copy(letter, recipient.name)

    def received(self, being_id: str) -> list[Letter]:
        """Return the letters in the inbox, newest first."""
        return self._list(being_id, keys.RECEIVED)

    def sent(self, being_id: str) -> list[Letter]:
        """Return the Being's own copies of what it sent, newest first."""
        return self._list(being_id, keys.SENT)

    def unread(self, being_id: str) -> list[Letter]:
        """Return the letters that were not marked as read, oldest first."""
        return [letter for letter in reversed(self.received(being_id)) if not letter.is_read]

    def get(self, being_id: str, letter_id: str) -> Letter | None:
        """Return a letter, received or sent, or None."""
        places = [_place(being_id, prefix, letter_id) for prefix in (keys.RECEIVED, keys.SENT)]
        found = self._table.get_many(places)
        return next((letter_in(found[place]) for place in places if place in found), None)

    def mark_read(self, being_id: str, letter_id: str) -> Letter | None:
        """Mark a received letter as read and return it; None when there is none of this id."""

        def once() -> Letter | None:
            letter = self._received(being_id, letter_id)
            if letter is None or letter.is_read:
                return letter
            place = _place(being_id, keys.RECEIVED, letter_id)
            unread = Compare("is_read", "=", False)
            read = Update(place, Change(set={"is_read": True}), unread)
            self._table.transact([read, self._one_less_unread(being_id)])
            return letter

        return settled(once)

    def delete(self, being_id: str, letter_id: str) -> Letter | None:
        """Remove the Being's own copy and return it; the partner's stays."""

        def once() -> Letter | None:
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

        return settled(once)

    def _deliver(self, sender: Being, recipient: Being, letter: Letter, expires_at: int) -> None:
        self._make_room(recipient, sender.owner)
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

    def _make_room(self, recipient: Being, owner: str) -> None:
        """Refuse when the inbox is full; letters that ran out do not count."""
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
        wanted = name_key(checked_name(to, "to", limit=MAX_NAME_LENGTH))
        sender = self._beings.get(being_id)
        if sender is None:
            raise NotFoundError("there is no such Being")
        others = [
            being
            for being in self._beings.of_owner(sender.owner)
            if being.being_id != sender.being_id
        ]
        for being in others:
            if name_key(checked_name(being.name, "to")) == wanted:
                return sender, being
        raise NotFoundError(_unknown(to, [being.name for being in others]))

    def _received(self, being_id: str, letter_id: str) -> Letter | None:
        item = self._table.get(_place(being_id, keys.RECEIVED, letter_id))
        return None if item is None else letter_in(item)

    def _list(self, being_id: str, prefix: str) -> list[Letter]:
        page = self._table.query(keys.home(being_id), keys=Range(prefix=prefix), descending=True)
        return [letter_in(item) for item in page.items]


def _unknown(to: str, names: list[str]) -> str:
    if not names:
        return f"there is no partner '{to[:MAX_NAME_LENGTH]}': the owner has no other Being"
    shown = ", ".join(names[:_NAMES_SHOWN])
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return f"there is no partner '{to[:MAX_NAME_LENGTH]}'; the partners are {shown}{more}"


def _copy(letter: Letter, to: str) -> Letter:
    return replace(letter, partner=to, is_sent=True)


def _place(being_id: str, prefix: str, letter_id: str) -> Key:
    return Key(keys.home(being_id), prefix + checked_name(letter_id, "key"))


def letter_item(being_id: str, letter: Letter, expires_at: int) -> Item:
    """Return the item that holds a copy of a letter."""
    place = _place(being_id, keys.SENT if letter.is_sent else keys.RECEIVED, letter.letter_id)
    attributes = attributes_of(letter)
    return LETTER.stamp({"pk": place.pk, "sk": place.sk, EXPIRES_AT: expires_at, **attributes})


def letter_in(item: Item) -> Letter:
    """Return the letter in an item."""
    return record_of(Letter, LETTER.read(item))
