"""What every store of blobs refuses, and how long it keeps one."""

import re
from datetime import datetime, timedelta

from nacre.core.errors import InvalidInputError, TooLargeError
from nacre.core.limits import BLOB_DAYS, MAX_BLOB_BYTES

_PART = r"[A-Za-z0-9_-][A-Za-z0-9._-]*"
_NAME = re.compile(rf"{_PART}(/{_PART})*")
_LONGEST_NAME = 500
_LONGEST_PART = 200  # file systems stop at 255


def check_blob_name(name: str) -> None:
    """Refuse a name that could leave the folder, or that no store takes."""
    parts = name.split("/")
    if len(name) > _LONGEST_NAME or max(map(len, parts)) > _LONGEST_PART:
        raise InvalidInputError("the name of a blob is too long")
    if not _NAME.fullmatch(name):
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
