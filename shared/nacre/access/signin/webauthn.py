"""What a passkey says, checked as WebAuthn asks: for this site, by a person, for this challenge.

No attestation is asked for: who made an authenticator is not looked at.
"""

import base64
import binascii
import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Any, Literal

from nacre.access.signin.cbor import Cbor, decode, decode_first
from nacre.access.signin.cose import check_key, verify
from nacre.core.errors import InvalidInputError

_PRESENT, _VERIFIED, _MAY_BACK_UP, _BACKED_UP, _KEY, _MORE = 0x01, 0x04, 0x08, 0x10, 0x40, 0x80
_MOST_CREDENTIAL_ID = 1023
Purpose = Literal["webauthn.create", "webauthn.get"]


@dataclass(frozen=True, slots=True)
class Site:
    """For whom passkeys are: the host's name, and the one origin from which they come."""

    host: str
    origin: str


@dataclass(frozen=True, slots=True)
class NewPasskey:
    """What is kept of a passkey: its id, its public key (COSE), and how often it has signed."""

    credential: bytes
    key: bytes
    counter: int


@dataclass(frozen=True, slots=True)
class _Said:
    """The authenticator's own data, taken apart."""

    counter: int
    credential: bytes = b""
    key: bytes = b""
    maker: bytes = b""


def challenge_of(client_data: bytes) -> str:
    """Return the challenge that a browser says it has answered, as base64url."""
    challenge = _client_data(client_data).get("challenge")
    if not isinstance(challenge, str):
        raise InvalidInputError("the browser's answer names no challenge")
    return challenge


def check_new(client_data: bytes, attestation: bytes, challenge: str, site: Site) -> NewPasskey:
    """Return a passkey that was just made; raises InvalidInputError saying what is wrong."""
    _check_client_data(client_data, "webauthn.create", challenge, site)
    made = decode(attestation)
    if not isinstance(made, dict) or made.keys() != {"fmt", "attStmt", "authData"}:
        raise InvalidInputError("the passkey's data has not the parts that it must have")
    data, statement = made["authData"], made["attStmt"]
    if not isinstance(data, bytes) or not isinstance(statement, dict):
        raise InvalidInputError("the passkey's data has not the parts that it must have")
    said = _read(data, site)
    if not said.credential:
        raise InvalidInputError("the passkey came without its public key")
    check_key(said.key)
    _check_statement(made["fmt"], statement, said, data + _hash(client_data))
    return NewPasskey(said.credential, said.key, said.counter)


def check_signed(
    client_data: bytes, data: bytes, signature: bytes, *, key: bytes, challenge: str, site: Site
) -> int:
    """Return the counter of an answer that this key has signed; raises InvalidInputError."""
    _check_client_data(client_data, "webauthn.get", challenge, site)
    said = _read(data, site)
    if said.credential:
        raise InvalidInputError("the passkey's answer carries a key, which it must not")
    if not verify(key, signature, data + _hash(client_data)):
        raise InvalidInputError("the passkey's signature is not right")
    return said.counter


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
        found = json.loads(raw.decode())
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InvalidInputError("the browser's answer is not JSON")
    return found


def _check_client_data(raw: bytes, purpose: Purpose, challenge: str, site: Site) -> None:
    found = _client_data(raw)
    if found.get("type") != purpose:
        raise InvalidInputError("the passkey answered another question than it was asked")
    sent = found.get("challenge")
    if not isinstance(sent, str) or not _same(sent.encode("utf-8", "surrogatepass"), challenge):
        raise InvalidInputError("the passkey answered another challenge")
    if found.get("origin") != site.origin:
        raise InvalidInputError("the passkey was used on another site")
    if found.get("crossOrigin", False) is not False or "topOrigin" in found:
        raise InvalidInputError("the passkey was used from inside another site's page")


def _read(data: bytes, site: Site) -> _Said:
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
    at, said = 37, _Said(counter)
    if flags & _KEY:
        said, at = _read_key(data, counter)
    if flags & _MORE:
        more, at = decode_first(data, at)
        if not isinstance(more, dict):
            raise InvalidInputError("the passkey's extensions cannot be read")
    if at != len(data):
        raise InvalidInputError("the passkey's data is longer than it says")
    return said


def _read_key(data: bytes, counter: int) -> tuple[_Said, int]:
    size = int.from_bytes(data[53:55], "big")
    start = 55 + size
    if not 0 < size <= _MOST_CREDENTIAL_ID or len(data) < start:
        raise InvalidInputError("the passkey's id has a wrong length")
    _, end = decode_first(data, start)
    return _Said(counter, data[55:start], data[start:end], data[37:53]), end


def _check_statement(
    kind: Cbor, statement: dict[int | str, Cbor], said: _Said, signed: bytes
) -> None:
    if kind == "none" and not statement:
        return
    # Browsers leave in what a passkey says of itself, with its own key.
    signature = statement.get("sig")
    if kind == "packed" and statement.keys() == {"alg", "sig"} and not any(said.maker):
        own = decode(said.key)
        agrees = isinstance(own, dict) and own.get(3) == statement["alg"]
        if agrees and isinstance(signature, bytes) and verify(said.key, signature, signed):
            return
    raise InvalidInputError("the passkey came with an attestation, which was not asked for")


def _same(sent: bytes, expected: str) -> bool:
    return hmac.compare_digest(sent, expected.encode())


def _hash(raw: bytes) -> bytes:
    return hashlib.sha256(raw).digest()
