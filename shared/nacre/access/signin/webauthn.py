"""WebAuthn checks of a passkey's answer: the site, the user's presence and the challenge.

No attestation is requested, so the maker of an authenticator is not checked.
"""

import base64
import binascii
import hashlib
import hmac
import json
from typing import Any, Literal

from nacre.access.signin.cbor import Cbor, decode, decode_first
from nacre.access.signin.cose import check_key, verify
from nacre.core.errors import InvalidInputError
from nacre.core.lazy_dataclasses import dataclass

_PRESENT, _VERIFIED, _MAY_BACK_UP, _BACKED_UP, _KEY, _MORE = 0x01, 0x04, 0x08, 0x10, 0x40, 0x80
_MAX_CREDENTIAL_ID = 1023
Purpose = Literal["webauthn.create", "webauthn.get"]


@dataclass(frozen=True, slots=True)
class Site:
    """The site that passkeys belong to: its host name and its only web origin."""

    host: str
    origin: str


@dataclass(frozen=True, slots=True)
class NewPasskey:
    """A passkey to be stored: its id, its public key (COSE) and its signature counter."""

    credential: bytes
    key: bytes
    counter: int


@dataclass(frozen=True, slots=True)
class _AuthenticatorData:
    """The parsed data of the authenticator."""

    counter: int
    credential: bytes = b""
    key: bytes = b""
    maker: bytes = b""


def challenge_of(client_data: bytes) -> str:
    """Return the challenge that the browser's answer names, as base64url."""
    challenge = _client_data(client_data).get("challenge")
    if not isinstance(challenge, str):
        raise InvalidInputError("the browser's answer names no challenge")
    return challenge


def check_new(client_data: bytes, attestation: bytes, challenge: str, site: Site) -> NewPasskey:
    """Return a newly created passkey; raises InvalidInputError with the reason."""
    _check_client_data(client_data, "webauthn.create", challenge, site)
    attested = decode(attestation)
    if not isinstance(attested, dict) or attested.keys() != {"fmt", "attStmt", "authData"}:
        raise InvalidInputError("the passkey's data lacks a part that it must have")
    data, statement = attested["authData"], attested["attStmt"]
    if not isinstance(data, bytes) or not isinstance(statement, dict):
        raise InvalidInputError("the passkey's data lacks a part that it must have")
    parsed = _read(data, site)
    if not parsed.credential:
        raise InvalidInputError("the passkey came without its public key")
    check_key(parsed.key)
    _check_statement(attested["fmt"], statement, parsed, data + _hash(client_data))
    return NewPasskey(parsed.credential, parsed.key, parsed.counter)


def check_signed(
    client_data: bytes, data: bytes, signature: bytes, *, key: bytes, challenge: str, site: Site
) -> int:
    """Return the counter of an answer signed with this key; raises InvalidInputError."""
    _check_client_data(client_data, "webauthn.get", challenge, site)
    parsed = _read(data, site)
    if parsed.credential:
        raise InvalidInputError("the passkey's answer contains a key, which is not allowed")
    if not verify(key, signature, data + _hash(client_data)):
        raise InvalidInputError("the passkey's signature is wrong")
    return parsed.counter


def to_text(raw: bytes) -> str:
    """Return bytes as base64url without padding."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def from_text(text: str) -> bytes:
    """Return the bytes of base64url without padding; raises InvalidInputError."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInputError("the passkey's answer is not base64url") from None
    if to_text(raw) != text:
        raise InvalidInputError("the passkey's answer is not base64url")
    return raw


def _client_data(raw: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(raw.decode())
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise InvalidInputError("the browser's answer is not JSON")
    return fields


def _check_client_data(raw: bytes, purpose: Purpose, challenge: str, site: Site) -> None:
    fields = _client_data(raw)
    if fields.get("type") != purpose:
        raise InvalidInputError("the passkey answered another kind of request")
    sent = fields.get("challenge")
    if not isinstance(sent, str) or not _same(sent.encode("utf-8", "surrogatepass"), challenge):
        raise InvalidInputError("the passkey answered another challenge")
    if fields.get("origin") != site.origin:
        raise InvalidInputError("the passkey was used on another site")
    if fields.get("crossOrigin", False) is not False or "topOrigin" in fields:
        raise InvalidInputError("the passkey was used from inside another site's page")


def _read(data: bytes, site: Site) -> _AuthenticatorData:
    if len(data) < 37:
        raise InvalidInputError("the passkey's data is too short")
    flags, counter = data[32], int.from_bytes(data[33:37], "big")
    if not hmac.compare_digest(data[:32], _hash(site.host.encode())):
        raise InvalidInputError("the passkey is for another site")
    if not flags & _PRESENT or not flags & _VERIFIED:
        raise InvalidInputError(
            "the passkey did not check who you are; unlock it with its PIN, finger or face"
        )
    if flags & _BACKED_UP and not flags & _MAY_BACK_UP:
        raise InvalidInputError("the passkey's data contradicts itself")
    at, parsed = 37, _AuthenticatorData(counter)
    if flags & _KEY:
        parsed, at = _read_key(data, counter)
    if flags & _MORE:
        more, at = decode_first(data, at)
        if not isinstance(more, dict):
            raise InvalidInputError("the passkey's extensions cannot be read")
    if at != len(data):
        raise InvalidInputError("the passkey's data is longer than it says")
    return parsed


def _read_key(data: bytes, counter: int) -> tuple[_AuthenticatorData, int]:
    size = int.from_bytes(data[53:55], "big")
    start = 55 + size
    if not 0 < size <= _MAX_CREDENTIAL_ID or len(data) < start:
        raise InvalidInputError("the passkey's id has a wrong length")
    _, end = decode_first(data, start)
    return _AuthenticatorData(counter, data[55:start], data[start:end], data[37:53]), end


def _check_statement(
    kind: Cbor, statement: dict[int | str, Cbor], parsed: _AuthenticatorData, signed: bytes
) -> None:
    if kind == "none" and not statement:
        return
    # Browsers do not remove a statement that the passkey signed with its new key.
    signature = statement.get("sig")
    if kind == "packed" and statement.keys() == {"alg", "sig"} and not any(parsed.maker):
        public_key = decode(parsed.key)
        agrees = isinstance(public_key, dict) and public_key.get(3) == statement["alg"]
        if agrees and isinstance(signature, bytes) and verify(parsed.key, signature, signed):
            return
    raise InvalidInputError("the passkey came with an attestation, which was not requested")


def _same(sent: bytes, expected: str) -> bool:
    return hmac.compare_digest(sent, expected.encode())


def _hash(raw: bytes) -> bytes:
    return hashlib.sha256(raw).digest()
