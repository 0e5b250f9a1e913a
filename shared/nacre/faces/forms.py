"""What a form or a client sends: small, and every field once."""

from urllib.parse import parse_qsl

from fastapi import Request

from nacre.errors import InvalidInputError, TooLargeError
from nacre.limits import MAX_FORM_BYTES

_FORM = "application/x-www-form-urlencoded"
_MOST_FIELDS = 200


async def read_body(request: Request) -> bytes:
    """Return the body; raises TooLargeError before more than a form's limit is kept."""
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > MAX_FORM_BYTES:
            raise TooLargeError("the request body", limit=MAX_FORM_BYTES)
        chunks.append(chunk)
    return b"".join(chunks)


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form; raises InvalidInputError for a field that comes twice."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _FORM:
        raise InvalidInputError(f"send the form as {_FORM}")
    return parse_fields((await read_body(request)).decode("latin-1"))


def query_fields(request: Request) -> dict[str, str]:
    """Return the fields of the query; raises InvalidInputError for a field that comes twice."""
    return parse_fields(request.scope["query_string"].decode("latin-1"))


def parse_fields(text: str) -> dict[str, str]:
    """Return the fields of URL-encoded text, each of which may stand in it once."""
    try:
        pairs = parse_qsl(
            text, keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict"
        )
    except ValueError:  # bytes that are no text, or too many fields
        raise InvalidInputError("the fields cannot be read") from None
    fields: dict[str, str] = {}
    for name, value in pairs:
        if name in fields:
            raise InvalidInputError(f"the field '{_shown(name)}' is sent twice")
        fields[name] = value
    return fields


def _shown(name: str) -> str:
    return "".join(letter for letter in name[:40] if letter.isalnum() or letter in "_-.")
