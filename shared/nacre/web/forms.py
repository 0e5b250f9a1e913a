"""Parsing of small forms, in which every field occurs once."""

from urllib.parse import parse_qsl

from fastapi import Request

from nacre.core.errors import InvalidInputError, TooLargeError
from nacre.core.limits import MAX_FORM_BYTES

_FORM = "application/x-www-form-urlencoded"
_MOST_FIELDS = 200


# Routes use these two as dependencies; another parameter would be read from the query.
async def read_body(request: Request) -> bytes:
    """Return the body; raises TooLargeError before more than a form's limit is kept."""
    return await _body_within(request, MAX_FORM_BYTES)


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form; raises InvalidInputError for a field that comes twice."""
    return await form_within(request, MAX_FORM_BYTES)


async def form_within(request: Request, limit: int) -> dict[str, str]:
    """Return the fields of a form of at most `limit` bytes."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _FORM:
        raise InvalidInputError(f"send the form as {_FORM}")
    return parse_fields((await _body_within(request, limit)).decode("latin-1"))


async def _body_within(request: Request, limit: int) -> bytes:
    length = request.headers.get("content-length", "")
    if length.isascii() and length.isdigit() and int(length[:16]) > limit:
        raise TooLargeError("the request body", limit=limit)
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise TooLargeError("the request body", limit=limit)
        chunks.append(chunk)
    return b"".join(chunks)


def query_fields(request: Request) -> dict[str, str]:
    """Return the fields of the query; raises InvalidInputError for a field that comes twice."""
    return parse_fields(request.scope["query_string"].decode("latin-1"))


def parse_fields(text: str) -> dict[str, str]:
    """Return the fields of URL-encoded text, each of which may occur once."""
    try:
        pairs = parse_qsl(
            text, keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict"
        )
    except ValueError:  # invalid text, or too many fields
        raise InvalidInputError("the fields cannot be read") from None
    fields: dict[str, str] = {}
    for name, value in pairs:
        if name in fields:
            raise InvalidInputError(f"the field '{_shown(name)}' is sent twice")
        fields[name] = value
    return fields


def _shown(name: str) -> str:
    return "".join(letter for letter in name[:40] if letter.isalnum() or letter in "_-.")
