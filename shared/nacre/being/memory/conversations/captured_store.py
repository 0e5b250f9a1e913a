"""Captured messages in the history: screened, kept once, and listed by conversation."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from typing import NamedTuple

from nacre.being.memory.conversations.captured_message import (
    CapturedMessage,
    conversation_id_of,
    identity_of,
)
from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import PENDING_MESSAGES, counters, write_counted
from nacre.being.memory.model.fields import checked_name, cleaned_text
from nacre.being.memory.model.types import (
    MESSAGE,
    CapturedIdentity,
    Conversation,
    Message,
    moment,
)
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.being.memory.text.text_blocks import shortened
from nacre.being.memory.writer_origins import origins_of_message
from nacre.core.clock import Clock
from nacre.core.errors import InvalidInputError
from nacre.core.ids import ulid
from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.core.limits import (
    CAPTURED_AHEAD_SECONDS,
    MAX_CAPTURED_NAME,
    MAX_CHAT_BYTES,
    MAX_TRANSACTION_BYTES,
    MAX_TRANSACTION_WRITES,
)
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import (
    Absent,
    Compare,
    Item,
    Key,
    Put,
    Range,
    Table,
    Write,
)

_MAX_ROLE = 32  # user, assistant, system, tool
_AT_ONCE = 90  # messages that are looked up at once; each needs two writes
_RESERVED_WRITES = 1  # for the counters
_BYTES_AT_ONCE = MAX_TRANSACTION_BYTES - 2 * MAX_CHAT_BYTES
_PAGE = 50


@dataclass(frozen=True, slots=True)
class KeptMessages:
    """The result of keeping messages.

    `repeated` ones were kept before, or erased since. `left_out` ones are empty, excluded by the
    caller's rules, or have a time or a name that cannot be stored.
    """

    new: int = 0
    repeated: int = 0
    left_out: int = 0

    def plus(self, other: "KeptMessages") -> "KeptMessages":
        """Return the sum of two results."""
        return KeptMessages(
            self.new + other.new,
            self.repeated + other.repeated,
            self.left_out + other.left_out,
        )


class ConversationPage(NamedTuple):
    """Some conversations, the newest first, and where the next page starts (None at the end)."""

    conversations: tuple[Conversation, ...]
    next: str | None


class CapturedConversations:
    """The captured conversations of Beings."""

    def __init__(self, table: Table, *, clock: Clock) -> None:
        self._table = table
        self._clock = clock

    def keep(
        self,
        being_id: str,
        messages: Iterable[CapturedMessage],
        *,
        is_excluded: Callable[[CapturedMessage], bool] = lambda _: False,
        for_patrol: bool = True,
        is_dry: bool = False,
        progress: Callable[[KeptMessages], None] = lambda _: None,
    ) -> KeptMessages:
        """Keep the messages that are new, and return how many were new, repeated or left out.

        Secrets in their texts are cut first. `for_patrol` lets the next patrols look for scenes
        in them. A dry run only counts. `progress` gets the counts after every batch. Messages
        are read in batches, so an iterator of any length takes little memory, and a call that
        was interrupted can be repeated.
        """
        counters(self._table, being_id)
        result = KeptMessages()
        waiting = iter(messages)
        dry: set[str] | None = set() if is_dry else None
        while batch := list(islice(waiting, _AT_ONCE)):
            result = result.plus(
                self._keep_batch(being_id, batch, is_excluded, for_patrol=for_patrol, dry=dry)
            )
            progress(result)
        return result

    def conversations(
        self, being_id: str, *, limit: int = _PAGE, start: str | None = None
    ) -> ConversationPage:
        """Return the conversations by their last message, the newest first."""
        page = self._table.query(
            keys.latest_conversations(being_id),
            index="gsi1",
            descending=True,
            limit=limit,
            start=start,
        )
        return ConversationPage(tuple(map(Conversation.from_item, page.items)), page.next)

    def conversation(self, being_id: str, conversation_id: str) -> Conversation | None:
        """Return the conversation of this id, or None."""
        place = Key(keys.conversations(being_id), checked_name(conversation_id, "conversation"))
        item = self._table.get(place)
        return None if item is None else Conversation.from_item(item)

    def messages(
        self, being_id: str, conversation_id: str, *, after: str | None = None
    ) -> Iterator[Message]:
        """Yield the messages of a conversation in order of time, from a place on."""
        partition = keys.conversation(being_id, checked_name(conversation_id, "conversation"))
        within = None if after is None else Range(low=after)
        for item in every_item(self._table, partition, index="gsi2", keys=within, at_once=_PAGE):
            message = Message.from_item(item)
            if message.place != after:
                yield message

    def _keep_batch(
        self,
        being_id: str,
        batch: Sequence[CapturedMessage],
        is_excluded: Callable[[CapturedMessage], bool],
        *,
        for_patrol: bool,
        dry: set[str] | None,
    ) -> KeptMessages:
        entries: dict[str, Message] = {}
        left_out = 0
        for number, message in enumerate(batch):
            screened = None if is_excluded(message) else self._screened(message)
            if screened is None:
                left_out += 1
            else:
                entry = _message(screened, number)
                entries.setdefault(entry.chain, entry)
        if dry is not None:
            unseen = {*self._unknown(being_id, entries)} - dry
            dry |= unseen
            return KeptMessages(len(unseen), len(batch) - left_out - len(unseen), left_out)
        new = [entries[identity] for identity in self._unknown(being_id, entries)]
        count = 0
        for portion in _portions(new):
            count += retry_on_conflict(
                partial(self._store, being_id, portion, for_patrol=for_patrol)
            )
        return KeptMessages(count, len(batch) - left_out - count, left_out)

    def _store(self, being_id: str, portion: Sequence[Message], *, for_patrol: bool) -> int:
        """Store the messages that are still unknown; return how many."""
        unknown = set(self._unknown(being_id, [message.chain for message in portion]))
        new = [message for message in portion if message.chain in unknown]
        if new:
            self._write(being_id, new, for_patrol=for_patrol)
        return len(new)

    def _screened(self, message: CapturedMessage) -> CapturedMessage | None:
        """Return the message without secrets and with checked names; None if it is left out."""
        from nacre.firewall.content.secrets import (  # noqa: PLC0415 - only capturing needs it
            BUILT_IN,
            redact_text,
        )

        latest = self._clock() + timedelta(seconds=CAPTURED_AHEAD_SECONDS)
        try:
            if not _EARLIEST <= message.at <= latest:
                return None
            text = cleaned_text(message.text, "text")
            text = shortened(redact_text(text, BUILT_IN)[0], MAX_CHAT_BYTES)
            if not text:
                return None
            return replace(
                message,
                client=checked_name(message.client, "client"),
                session=checked_name(message.session, "session"),
                role=checked_name(message.role, "role", limit=_MAX_ROLE),
                text=text,
                message_id=message.message_id
                and checked_name(message.message_id, "message_id", limit=MAX_CAPTURED_NAME),
                project=message.project
                and checked_name(message.project, "project", limit=MAX_CAPTURED_NAME),
            )
        except InvalidInputError:
            return None

    def _unknown(self, being_id: str, identities: Iterable[str]) -> list[str]:
        """Return the identities that were never stored, in their order."""
        places = {Key(keys.captured(being_id), identity): identity for identity in identities}
        stored = self._table.get_many(places)
        return [identity for place, identity in places.items() if place not in stored]

    def _write(self, being_id: str, messages: Sequence[Message], *, for_patrol: bool) -> None:
        listed = keys.unread(being_id) if for_patrol else None
        writes: list[Write] = []
        for message in messages:
            identity = CapturedIdentity(identity=message.chain)
            writes.append(Put(identity.to_item(being_id), Absent()))
            item = message.to_item(being_id)
            if listed is not None:
                item |= {"gsi1pk": listed, "gsi1sk": message.place}
            writes.append(Put(item))
        for month in sorted({message.ts[:7] for message in messages}):
            place: Item = {"pk": keys.months(being_id), "sk": month}
            writes.append(Put(MESSAGE.stamp(place)))
        writes += self._listed(being_id, messages)
        waiting = {PENDING_MESSAGES: len(messages)} if for_patrol else None
        write_counted(self._table, being_id, writes, add=waiting, has_work=for_patrol)

    def _listed(self, being_id: str, messages: Sequence[Message]) -> Iterator[Write]:
        """Yield the writes that add messages to the list of conversations."""
        added: dict[str, list[Message]] = {}
        for message in messages:
            assert message.conversation_id is not None
            added.setdefault(message.conversation_id, []).append(message)
        places = [Key(keys.conversations(being_id), id_) for id_ in added]
        stored = {place.sk: item for place, item in self._table.get_many(places).items()}
        for conversation_id, part in added.items():
            before = (
                Conversation.from_item(stored[conversation_id])
                if conversation_id in stored
                else None
            )
            yield Put(_longer(before, part).to_item(being_id), unchanged(before))


_EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)  # before any of these clients; 0 is no time


def unchanged(conversation: Conversation | None) -> Absent | Compare:
    """Return the condition that a conversation is still as it was read."""
    return Absent() if conversation is None else Compare("version", "=", conversation.version)


def _longer(before: Conversation | None, added: Sequence[Message]) -> Conversation:
    first, last = min(message.ts for message in added), max(message.ts for message in added)
    newest = added[-1]
    project = newest.project or (before.project if before else None)
    if before is not None:
        return replace(
            before,
            first=min(first, before.first),
            last=max(last, before.last),
            messages=before.messages + len(added),
            project=project,
            version=before.version + 1,
        )
    assert newest.conversation_id
    assert newest.client
    assert newest.session
    return Conversation(
        conversation_id=newest.conversation_id,
        client=newest.client,
        session=newest.session,
        first=first,
        last=last,
        messages=len(added),
        project=project,
        version=1,
    )


def _message(message: CapturedMessage, number: int) -> Message:
    """Return the message of the history, with an id that sorts by its time and its number."""
    identity, ts = identity_of(message), moment(message.at)
    milliseconds = round(datetime.fromisoformat(ts).timestamp() * 1000)
    return Message(
        message_id=ulid(milliseconds, number << 64 | int(identity[:16], 16)),
        role=message.role,
        content=message.text,
        ts=ts,
        chain=identity,
        client=message.client,
        session=message.session,
        project=message.project,
        conversation_id=conversation_id_of(message.client, message.session),
        origins=origins_of_message(message.role, message.text, message.origins),
    )


def _portions(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """Yield parts of the messages that fit one transaction each."""
    part: list[Message] = []
    lists: set[str] = set()  # months and conversations: one write each
    size = 0
    for message in messages:
        own = {message.ts[:7], str(message.conversation_id)}
        length = len(message.content.encode())
        writes = 2 * (len(part) + 1) + len(lists | own) + _RESERVED_WRITES
        if part and (writes > MAX_TRANSACTION_WRITES or size + length > _BYTES_AT_ONCE):
            yield part
            part, lists, size = [], set(), 0
        part.append(message)
        lists |= own
        size += length
    if part:
        yield part
