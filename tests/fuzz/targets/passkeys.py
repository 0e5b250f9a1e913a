"""What authenticators and browsers say: read alike by a second reader, and never half believed."""

import hashlib
import json
from typing import Any

from nacre.access.signin.cbor import decode, decode_first
from nacre.access.signin.cose import check_key, verify
from nacre.access.signin.webauthn import (
    Site,
    challenge_of,
    check_new,
    check_signed,
    from_text,
    to_text,
)
from nacre.core.errors import InvalidInputError
from tests.scaffolding.passkeys import USER, Device, cbor, text

SITE = Site("localhost", "http://localhost:8642")
CHALLENGE = text(bytes([7]) * 32)
DEVICES = tuple(Device(SITE.host, SITE.origin, kind=kind) for kind in ("ES256", "EdDSA"))
CLIENT_DATA = DEVICES[0].client_data("create", CHALLENGE)
SIGNED_CLIENT_DATA = DEVICES[0].client_data("get", CHALLENGE)
LENGTH = 600
SEEDS = (
    b"",
    b"\x00\xa3\x01\x02\x63abc\x82\xf4\xf6\x20\x19\x01\x00",
    b"\x00" + bytes([0x81]) * 12,
    b"\x00\x9b\xff\xff\xff\xff\xff\xff\xff\xff",
    *(b"\x01" + each.key for each in DEVICES),
    *(b"\x02" + from_text(each.made(CHALLENGE)["attestation"]) for each in DEVICES),
    b"\x03" + CLIENT_DATA,
    b'\x03{"type":"webauthn.create","challenge":"\\ud800","origin":1}',
    *(b"\x04" + each.data(USER) for each in DEVICES),
    b"\x05" + CHALLENGE.encode(),
)


def one(data: bytes) -> None:
    """Take the input for what its first byte says."""
    kind, rest = (data[:1] or b"\0")[0] % 6, data[1:]
    try:
        match kind:
            case 0:
                _cbor(rest)
            case 1:
                _key(rest)
            case 2:
                _attestation(rest)
            case 3:
                _client_data(rest)
            case 4:
                _assertion(rest)
            case _:
                _text(rest)
    except InvalidInputError as error:
        assert len(str(error)) < 200


def _cbor(raw: bytes) -> None:
    value, end = decode_first(raw)
    assert 0 < end <= len(raw)
    assert decode(raw[:end]) == value
    # There is one shortest spelling, so what was taken is what we would write.
    assert written(value) == raw[:end]


def written(value: Any) -> bytes:
    """Write all of CBOR that is read."""
    match value:
        case bool() | None:
            return bytes([{False: 0xF4, True: 0xF5, None: 0xF6}[value]])
        case list():
            return _count(0x80, len(value)) + b"".join(map(written, value))
        case dict():
            pairs = b"".join(written(name) + written(each) for name, each in value.items())
            return _count(0xA0, len(value)) + pairs
        case _:
            return cbor(value)


def _count(kind: int, count: int) -> bytes:
    head = cbor(count)
    return bytes([head[0] | kind]) + head[1:]


def _key(raw: bytes) -> None:
    check_key(raw)
    fields = decode(raw)
    assert isinstance(fields, dict)
    # A reader that tells true from 1 must find what was found here.
    assert all(type(fields[name]) is int for name in (1, 3))
    assert all(type(each) in (int, bytes) for each in fields.values())
    assert (fields[1], fields[3]) in ((2, -7), (1, -8), (3, -257))
    assert not verify(raw, b"\0" * 64, b"signed")


def _attestation(raw: bytes) -> None:
    made = check_new(CLIENT_DATA, raw, CHALLENGE, SITE)
    check_key(made.key)
    assert 0 < len(made.credential) <= 1023
    whole = decode(raw)
    assert isinstance(whole, dict)
    data = whole["authData"]
    assert isinstance(data, bytes)
    assert data[:32] == hashlib.sha256(SITE.host.encode()).digest()
    assert data[32] & USER == USER
    assert data[55:].startswith(made.credential + made.key)


def _client_data(raw: bytes) -> None:
    answered = challenge_of(raw)
    attestation = from_text(DEVICES[0].made(CHALLENGE)["attestation"])
    check_new(raw, attestation, CHALLENGE, SITE)
    said = json.loads(raw)
    assert answered == CHALLENGE == said["challenge"]
    assert said["type"] == "webauthn.create"
    assert said["origin"] == SITE.origin
    assert said.get("crossOrigin", False) is False


def _assertion(raw: bytes) -> None:
    signature = DEVICES[0].sign(raw + hashlib.sha256(SIGNED_CLIENT_DATA).digest())
    counter = check_signed(
        SIGNED_CLIENT_DATA, raw, signature, key=DEVICES[0].key, challenge=CHALLENGE, site=SITE
    )
    assert counter == int.from_bytes(raw[33:37], "big")
    assert raw[32] & USER == USER
    assert not raw[32] & 0x40


def _text(raw: bytes) -> None:
    said = raw.decode("utf-8", "surrogateescape")
    assert to_text(from_text(said)) == said
