"""A message as a client's hook or a transcript has it, and its identity."""

import hashlib
import json
from datetime import UTC, datetime

from nacre.core.lazy_dataclasses import dataclass

_WITHOUT_IDS = frozenset({"cursor"})  # clients whose hooks and files name messages differently
_COMPARED = 60_000  # characters; hooks and imports cut longer texts in slightly different places


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedMessage:
    """A message of a conversation in a client, from a hook or from an imported transcript.

    `client` is the client's short name, such as `claude-code`. `message_id` is the client's own
    id of the message, if it has one that stays the same when a session is resumed or forked.
    `project` is the folder or the name of the project, if the client knows it.
    """

    client: str
    session: str
    role: str
    text: str
    at: datetime  # with a time zone
    message_id: str | None = None
    project: str | None = None
    origins: tuple[str, ...] = ()  # of what its writer had received; see `Message`


def identity_of(message: CapturedMessage) -> str:
    """Return the identity of a message, which a resumed or forked session shares.

    A hook and an import make the same identity: from the client's id of the message, or else
    from the role, the screened text and the time. Cursor gives hooks neither the ids nor the
    times that its files have. There the session, which both know, stands in for the time, so a
    text that is repeated in a session has one identity.
    """
    if message.client in _WITHOUT_IDS:
        text = " ".join(message.text[:_COMPARED].split())
        return _digest([message.client, message.session, message.role, text])
    parts = (
        [message.client, message.message_id]
        if message.message_id
        else [message.client, message.role, _seconds(message.at), message.text]
    )
    return _digest(parts)


def conversation_id_of(client: str, session: str) -> str:
    """Return the id under which a client's session is listed."""
    return _digest([client, session])[:32]


def _seconds(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds")


def _digest(parts: list[str]) -> str:
    text = json.dumps(parts, ensure_ascii=False)
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
