"""Media that pass by links, because a call and its answer cannot hold them.

A call names a file with its type and size and gets a link. The order then names the upload, which
belongs to one Being, is used by one order, and is checked like media in a call. What is too large
for an answer becomes a link likewise.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from random import Random
from typing import Any

from nacre.being.memory.model.keys import home
from nacre.being.orders.media.base64_text import encoded
from nacre.being.orders.media.incoming import DeclaredItem, check_size, declared_items
from nacre.being.orders.media.media_limits import MediaLimits
from nacre.being.orders.media.outgoing import Link
from nacre.core.clock import Clock
from nacre.core.errors import ConditionFailedError, InvalidArgumentError, InvalidInputError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import MAX_OPEN_UPLOADS, MEDIA_LINK_SECONDS, UPLOAD_SECONDS
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import (
    EXPIRES_AT,
    Absent,
    Change,
    Compare,
    Either,
    Item,
    Key,
    Range,
    Table,
)
from nacre.ports.media.media_links import MEDIA_FOLDER, MediaLinks

_SCHEMA = ItemSchema("an upload", 1)
_PREFIX = "UPLOAD#"
_ID = "0123456789abcdef"
_MINUTES = MEDIA_LINK_SECONDS // 60


@dataclass(frozen=True, slots=True)
class SentMedia:
    """The images and files of a call, of which some may name uploads."""

    images: Any
    files: Any
    uploads: Sequence[DeclaredItem]


@dataclass(frozen=True, slots=True)
class LinkedMedia:
    """The media of every Being that pass by links; `links` is called for the first of them."""

    table: Table
    links: Callable[[], MediaLinks]
    clock: Clock
    rng: Random

    def offers(
        self, being_id: str, images: Any, files: Any, limits: MediaLimits
    ) -> list[dict[str, Any]]:
        """Return content blocks with a link for each item that has a size and no content.

        Without such an item there are none. Raises InvalidArgumentError if a type or a size is not
        accepted, or if too many uploads of the Being wait.
        """
        items = declared_items(images, files, limits)
        announced = [declared for declared in items if _asks_for_link(declared.entry)]
        if not announced:
            return []
        for declared in announced:
            _check_announced(declared, limits)
        uploads = self.table.query(home(being_id), keys=Range(prefix=_PREFIX)).items
        waiting = [item for item in uploads if "turn" not in item]
        if len(waiting) + len(announced) > MAX_OPEN_UPLOADS:
            raise InvalidArgumentError(
                f"{len(waiting)} uploads wait already, of at most {MAX_OPEN_UPLOADS}; use them, or"
                f" wait until they expire, {UPLOAD_SECONDS // 60} minutes after their link"
            )
        blocks = [self._offer(being_id, declared) for declared in announced]
        lines = [
            f"{declared.place}: upload id {block['_meta']['nacre/upload']['id']}"
            for declared, block in zip(announced, blocks, strict=True)
        ]
        text = (
            "The order was not carried out yet. Send each file to its link within"
            f" {_MINUTES} minutes: an HTTP PUT of exactly its bytes, with the headers given in"
            " _meta. Then send the order again with 'upload' and the id in place of 'data'.\n"
        )
        return [{"type": "text", "text": text + "\n".join(lines)}, *blocks]

    def named(self, being_id: str, images: Any, files: Any, limits: MediaLimits) -> SentMedia:
        """Return the media of a call, after checking that each upload that it names is waiting.

        Raises InvalidArgumentError for one that does not exist, was used, or has another type.
        """
        items = declared_items(images, files, limits)
        uploads = [declared for declared in items if "upload" in declared.entry]
        ids = [self._waiting(being_id, declared)["id"] for declared in uploads]
        if len(set(ids)) < len(ids):
            raise InvalidArgumentError("the same upload is named twice; name each once")
        return SentMedia(images, files, uploads)

    def fetched(self, being_id: str, sent: SentMedia, *, turn: str) -> tuple[Any, Any]:
        """Return the images and files of a call with the contents in place of their uploads.

        From now on the uploads belong to this turn; a task that runs again has the same turn and
        gets the same contents.
        """
        contents = {
            declared.place: self._content(being_id, declared, turn) for declared in sent.uploads
        }
        return (
            _filled("image", sent.images, sent.uploads, contents),
            _filled("file", sent.files, sent.uploads, contents),
        )

    def download(self, being_id: str) -> Link:
        """Return the function that stores a content of an answer and returns its link."""

        def link(data: bytes, mime_type: str, name: str) -> str:
            place = f"{MEDIA_FOLDER}/{being_id}/out/{self.rng.getrandbits(128):032x}"
            return self.links().download(place, data, mime_type=mime_type, file_name=name)

        return link

    def drop(self, being_id: str, sent: SentMedia) -> None:
        """Delete the contents that were used; what stays is deleted after a day."""
        for declared in sent.uploads:
            self.links().delete(_name(being_id, declared.entry["upload"]))

    def _offer(self, being_id: str, declared: DeclaredItem) -> dict[str, Any]:
        upload_id = f"{self.rng.getrandbits(128):032x}"
        size, sha256 = declared.entry["size"], declared.entry.get("sha256", "").lower()
        link = self.links().upload(
            _name(being_id, upload_id), size=size, mime_type=declared.type.name, sha256=sha256
        )
        ends = self.clock() + timedelta(seconds=UPLOAD_SECONDS)
        item: Item = {
            **_key(being_id, upload_id).attributes(),
            "id": upload_id,
            "size": size,
            "mime_type": declared.type.name,
            "sha256": sha256,
            EXPIRES_AT: int(ends.timestamp()),
        }
        self.table.put(_SCHEMA.stamp(item))
        return {
            "type": "resource_link",
            "uri": link.url,
            "name": declared.name,
            "description": "Upload the file here with PUT",
            "mimeType": declared.type.name,
            "size": size,
            "_meta": {
                "nacre/upload": {"id": upload_id, "method": "PUT", "headers": dict(link.headers)}
            },
        }

    def _waiting(self, being_id: str, declared: DeclaredItem) -> Item:
        upload_id = declared.entry["upload"]
        if "data" in declared.entry:
            raise InvalidArgumentError(f"{declared.place}: give either 'data' or 'upload'")
        if not isinstance(upload_id, str) or len(upload_id) != 32 or not set(upload_id) <= set(_ID):
            raise InvalidArgumentError(f"{declared.place}: 'upload' must be the id of an upload")
        item = self.table.get(_key(being_id, upload_id))
        if item is None:
            raise InvalidArgumentError(
                f"{declared.place}: there is no such upload, or it has expired; ask for a new link"
            )
        item = _SCHEMA.read(item)
        if item["mime_type"] != declared.type.name:
            raise InvalidArgumentError(
                f"{declared.place}: it was announced as {item['mime_type']!s}, but is declared as"
                f" {declared.type.name}"
            )
        return item

    def _content(self, being_id: str, declared: DeclaredItem, turn: str) -> bytes:
        item = self._waiting(being_id, declared)
        upload_id, size = str(item["id"]), item["size"]
        assert isinstance(size, int)
        try:
            data = self.links().uploaded(_name(being_id, upload_id), size=size)
        except InvalidInputError as error:
            raise InvalidArgumentError(f"{declared.place}: {error}; ask for a new link") from None
        if data is None:
            raise InvalidArgumentError(
                f"{declared.place}: nothing was uploaded yet; send it to its link first"
            )
        # What is checked is what is used: these bytes, and the same ones if the task runs again.
        sha256 = hashlib.sha256(data).hexdigest()
        if item["sha256"] not in ("", sha256):
            raise InvalidArgumentError(
                f"{declared.place}: the uploaded content is not the one that was announced"
            )
        free = Either((Absent("turn"), Compare("turn", "=", turn)))
        try:
            self.table.update(
                _key(being_id, upload_id),
                Change(set={"turn": turn, "sha256": sha256}),
                when=free,
            )
        except ConditionFailedError:
            raise InvalidArgumentError(
                f"{declared.place}: this upload was used by another order; ask for a new link"
            ) from None
        return data


def _asks_for_link(entry: Mapping[str, Any]) -> bool:
    return "size" in entry and "data" not in entry and "upload" not in entry


def _check_announced(declared: DeclaredItem, limits: MediaLimits) -> None:
    size, sha256 = declared.entry["size"], declared.entry.get("sha256", "")
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise InvalidArgumentError(f"{declared.place}: 'size' must be a number of bytes")
    check_size(declared.kind, declared.place, size, limits)
    is_digest = isinstance(sha256, str) and len(sha256) == 64 and set(sha256.lower()) <= set(_ID)
    if sha256 != "" and not is_digest:
        raise InvalidArgumentError(f"{declared.place}: 'sha256' must be 64 hexadecimal digits")


def _filled(
    kind: str, argument: Any, uploads: Sequence[DeclaredItem], contents: Mapping[str, bytes]
) -> Any:
    if argument is None:
        return None
    entries = list(argument)
    for declared in uploads:
        if declared.kind == kind:
            others = {name: value for name, value in declared.entry.items() if name != "upload"}
            entries[declared.number] = {**others, "data": encoded(contents[declared.place])}
    return entries


def _key(being_id: str, upload_id: str) -> Key:
    return Key(home(being_id), f"{_PREFIX}{upload_id}")


def _name(being_id: str, upload_id: str) -> str:
    return f"{MEDIA_FOLDER}/{being_id}/in/{upload_id}"
