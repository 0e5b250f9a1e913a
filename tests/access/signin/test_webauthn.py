"""What passkeys say: as Chromium's own authenticator said it, and bent."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from nacre.access.signin.cbor import decode
from nacre.access.signin.cose import check_key
from nacre.access.signin.webauthn import Site, check_new, check_signed, from_text
from nacre.core.errors import InvalidInputError
from tests.scaffolding.passkeys import Device, cbor, text

# Made by Chromium 156 through the protocol of its developers' tools.
REAL = json.loads(Path(__file__).with_name("chromium_passkeys.json").read_text())
SITE = Site("localhost", "http://localhost:8642")
CHALLENGE = text(bytes([7]) * 32)
DEVICE = Device(SITE.host, SITE.origin)


def real(kind: str) -> dict[str, bytes]:
    return {name: from_text(value) for name, value in REAL[kind].items()}


@pytest.mark.parametrize("kind", ["ES256", "EdDSA", "RS256"])
def test_what_chromium_makes_and_signs_counts(kind: str) -> None:
    said = real(kind)
    made = check_new(said["made"], said["attestation"], CHALLENGE, SITE)
    how: Any = {"key": made.key, "challenge": CHALLENGE, "site": SITE}
    counter = check_signed(said["client_data"], said["data"], said["signature"], **how)
    bent = bytearray(said["signature"])
    bent[-1] ^= 1

    assert counter > made.counter
    with pytest.raises(InvalidInputError, match="signature is wrong"):
        check_signed(said["client_data"], said["data"], bytes(bent), **how)


@pytest.mark.parametrize("kind", ["ES256", "EdDSA"])
def test_another_key_has_not_signed(kind: str) -> None:
    said = real(kind)
    key = Device(SITE.host, SITE.origin, kind=kind).key

    with pytest.raises(InvalidInputError, match="signature is wrong"):
        check_signed(
            said["client_data"],
            said["data"],
            said["signature"],
            key=key,
            challenge=CHALLENGE,
            site=SITE,
        )


def test_no_part_of_an_attestation_can_be_cut_off() -> None:
    said = real("ES256")
    for end in range(len(said["attestation"])):
        with pytest.raises(InvalidInputError):
            check_new(said["made"], said["attestation"][:end], CHALLENGE, SITE)
    with pytest.raises(InvalidInputError, match="there is more after"):
        check_new(said["made"], said["attestation"] + b"\0", CHALLENGE, SITE)


def test_what_a_passkey_says_of_itself_must_be_signed_by_it() -> None:
    fields = DEVICE.made(CHALLENGE)
    client_data = from_text(fields["client_data"])
    made = decode(from_text(fields["attestation"]))
    assert isinstance(made, dict)
    data = made["authData"]
    assert isinstance(data, bytes)
    own = DEVICE.sign(data + hashlib.sha256(client_data).digest())

    def attested(kind: str, statement: dict[str, Any]) -> bytes:
        return cbor({"fmt": kind, "attStmt": statement, "authData": data})

    kept = check_new(client_data, attested("packed", {"alg": -7, "sig": own}), CHALLENGE, SITE)
    assert kept.key == DEVICE.key
    for kind, statement in (
        ("packed", {"alg": -7, "sig": own[:-1]}),
        ("packed", {"alg": -8, "sig": own}),
        ("packed", {"alg": -7, "sig": own, "x5c": b""}),
        ("none", {"alg": -7, "sig": own}),
        ("tpm", {}),
    ):
        with pytest.raises(InvalidInputError, match="attestation"):
            check_new(client_data, attested(kind, statement), CHALLENGE, SITE)


@pytest.mark.parametrize(
    "key",
    [
        cbor(5),
        cbor({1: 2, 3: -35, -1: 2, -2: bytes(48), -3: bytes(48)}),  # another curve
        cbor({1: 2, 3: -7, -1: 1, -2: bytes(32), -3: bytes(32)}),  # no point of the curve
        cbor({1: 2, 3: -7, -1: 1, -2: bytes(31), -3: bytes(32)}),
        cbor({1: 2, 3: -7, -1: 1, -2: bytes(32)}),
        cbor({1: 3, 3: -257, -1: b"\xff" * 128, -2: b"\1\0\1"}),  # 1024 bits
        cbor({1: 3, 3: -257, -1: b"\xff" * 256, -2: b"\1"}),
        cbor({1: 3, 3: -257, -1: 5, -2: b"\1\0\1"}),
        cbor({1: 1, 3: -8, -1: 4, -2: bytes(32)}),
    ],
)
def test_weak_and_malformed_keys_are_refused(key: bytes) -> None:
    with pytest.raises(InvalidInputError, match="passkey"):
        check_key(key)


@pytest.mark.parametrize("value", [0, 23, 24, 255, 65_536, -1, -257, "é", b"", {"a": {1: b"x"}}])
def test_cbor_is_read_as_it_was_written(value: Any) -> None:
    assert decode(cbor(value)) == value


@pytest.mark.parametrize(
    "data",
    [
        "",
        "1817",  # 23 in two bytes
        "190017",
        "1a0000ffff",
        "1b00000000ffffffff",
        "1c",
        "5f41ff",  # of indefinite length
        "9fff",
        "bf",
        "a201010102",  # a key twice
        "a14001",  # a key of bytes
        "a1f401",
        "c000",  # a tag
        "f97e00",  # a float
        "f7",
        "61ff",  # no UTF-8
        "5bffffffffffffffff",
        "9bffffffffffffffff",
        "81" * 20 + "00",  # too deep
        "0000",
    ],
)
def test_cbor_of_any_other_form_is_refused(data: str) -> None:
    with pytest.raises(InvalidInputError, match="cannot be read"):
        decode(bytes.fromhex(data))


@pytest.mark.parametrize("end", [0, 36])
def test_data_that_is_too_short_is_refused(end: int) -> None:
    said = real("ES256")
    with pytest.raises(InvalidInputError, match="too short"):
        check_signed(
            said["client_data"],
            said["data"][:end],
            b"",
            key=DEVICE.key,
            challenge=CHALLENGE,
            site=SITE,
        )
