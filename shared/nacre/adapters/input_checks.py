"""Input checks that all blob stores, all queues and all vaults share."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta

from nacre.core.errors import BrokenSealError, InvalidInputError, TooLargeError
from nacre.core.limits import BLOB_DAYS, MAX_BLOB_BYTES, MAX_MESSAGE_BYTES, MAX_SECRET_BYTES

_PART = r"[A-Za-z0-9_-][A-Za-z0-9._-]*"
_BLOB_NAME = re.compile(rf"{_PART}(/{_PART})*")
_MAX_NAME = 500
_MAX_PART = 200  # file systems stop at 255
_GROUP = re.compile(r"[!-~]{1,128}")
_NOT_TEXT = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # as SQS says


def check_blob_name(name: str) -> None:
    """Refuse a name that could leave the folder, or that no store takes."""
    parts = name.split("/")
    if len(name) > _MAX_NAME or max(map(len, parts)) > _MAX_PART:
        raise InvalidInputError("the name of a blob is too long")
    if not _BLOB_NAME.fullmatch(name):
        raise InvalidInputError(
            "the name of a blob has parts of letters, digits, '.', '_' and '-', with '/' between"
            " them, and no part begins with a dot"
        )


def blob_end(data: bytes, until: datetime | None, now: datetime) -> int:
    """Return when the blob is gone, in epoch seconds; refuse one that is too large."""
    if len(data) > MAX_BLOB_BYTES:
        raise TooLargeError("the blob", limit=MAX_BLOB_BYTES)
    latest = now + timedelta(days=BLOB_DAYS)
    return int(min(until or latest, latest).timestamp())


def check_message(body: str, group: str, dedupe_key: str | None) -> None:
    """Refuse a message that no queue takes."""
    for field, name in (("group", group), ("dedupe_key", dedupe_key)):
        if name is not None and not _GROUP.fullmatch(name):
            raise InvalidInputError(
                f"a message's {field} is 1 to 128 letters, digits and punctuation marks of ASCII"
            )
    if not body or _NOT_TEXT.search(body):
        raise InvalidInputError("a message's body must be text without control characters")
    if len(body.encode()) > MAX_MESSAGE_BYTES:
        raise InvalidInputError(
            f"a message has at most {MAX_MESSAGE_BYTES} bytes; send ids instead of contents"
        )


def check_secret(plaintext: bytes, context: Mapping[str, str]) -> None:
    """Refuse a secret that is empty or too large, and a context that names nothing."""
    if not 1 <= len(plaintext) <= MAX_SECRET_BYTES:
        raise InvalidInputError(f"a secret has 1 to {MAX_SECRET_BYTES} bytes")
    if not context or not all(name and value for name, value in context.items()):
        raise InvalidInputError("a secret's context must name its owner")


def broken_seal() -> BrokenSealError:
    """Return the error for a sealed value that does not open."""
    return BrokenSealError(
        "a sealed value does not open: it was changed, or sealed for something else or by"
        " another key; set the secret again"
    )
