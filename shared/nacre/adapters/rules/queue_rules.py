"""What every queue refuses to send."""

import re

from nacre.core.errors import InvalidInputError
from nacre.core.limits import MAX_MESSAGE_BYTES

_NAME = re.compile(r"[!-~]{1,128}")
_NOT_TEXT = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # as SQS says


def check_message(body: str, group: str, repeat: str | None) -> None:
    """Refuse a message that no queue takes."""
    for what, name in (("group", group), ("repeat", repeat)):
        if name is not None and not _NAME.fullmatch(name):
            raise InvalidInputError(
                f"a message's {what} is 1 to 128 letters, digits and punctuation marks of ASCII"
            )
    if not body or _NOT_TEXT.search(body):
        raise InvalidInputError("a message's body must be text without control characters")
    if len(body.encode()) > MAX_MESSAGE_BYTES:
        raise InvalidInputError(
            f"a message has at most {MAX_MESSAGE_BYTES} bytes; send ids instead of contents"
        )
