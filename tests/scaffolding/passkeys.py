"""A device that holds one passkey, in software: what it says can be bent in every part."""

import base64
import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa

from nacre.access.signin.passkeys import user_handle
from tests.scaffolding.web_site import Answer, Browser, form_of

USER = 0x05  # there, and verified


def text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def cbor(value: Any) -> bytes:
    """Write what the tests need of CBOR."""
    match value:
        case int():
            return _head(0, value) if value >= 0 else _head(1, -1 - value)
        case bytes():
            return _head(2, len(value)) + value
        case str():
            return _head(3, len(value.encode())) + value.encode()
        case dict():
            pairs = b"".join(cbor(name) + cbor(each) for name, each in value.items())
            return _head(5, len(value)) + pairs
        case _:
            raise AssertionError(value)


def _head(kind: int, number: int) -> bytes:
    if number < 24:
        return bytes([kind << 5 | number])
    size = next(each for each in (1, 2, 4, 8) if number < 1 << (8 * each))
    return bytes([kind << 5 | 23 + size.bit_length()]) + number.to_bytes(size, "big")


def _raw(number: int, size: int) -> bytes:
    return number.to_bytes(size, "big")


@dataclass
class Device:
    """One passkey; `counter` is what it says next."""

    host: str
    origin: str
    kind: str = "ES256"
    counter: int = 1
    credential: bytes = b"credential-of-a-device"
    user: str = field(default_factory=lambda: user_handle("me"))
    private: Any = None

    def __post_init__(self) -> None:
        if self.kind == "ES256":
            self.private = ec.derive_private_key(123456789, ec.SECP256R1())
        elif self.kind == "EdDSA":
            self.private = ed25519.Ed25519PrivateKey.from_private_bytes(b"k" * 32)
        else:
            self.private = rsa.generate_private_key(65537, 2048)

    @property
    def key(self) -> bytes:
        public = self.private.public_key()
        if self.kind == "ES256":
            at = public.public_numbers()
            return cbor({1: 2, 3: -7, -1: 1, -2: _raw(at.x, 32), -3: _raw(at.y, 32)})
        if self.kind == "EdDSA":
            return cbor({1: 1, 3: -8, -1: 6, -2: public.public_bytes_raw()})
        return cbor({1: 3, 3: -257, -1: _raw(public.public_numbers().n, 256), -2: b"\1\0\1"})

    def sign(self, signed: bytes) -> bytes:
        if self.kind == "ES256":
            return bytes(self.private.sign(signed, ec.ECDSA(hashes.SHA256())))
        if self.kind == "EdDSA":
            return bytes(self.private.sign(signed))
        return bytes(self.private.sign(signed, padding.PKCS1v15(), hashes.SHA256()))

    def client_data(self, purpose: str, challenge: str, /, **bent: Any) -> bytes:
        said = {"type": f"webauthn.{purpose}", "challenge": challenge, "origin": self.origin}
        return json.dumps({**said, "crossOrigin": False, **bent}).encode()

    def data(self, flags: int, more: bytes = b"", host: str | None = None) -> bytes:
        site = hashlib.sha256((host or self.host).encode()).digest()
        return site + bytes([flags]) + _raw(self.counter, 4) + more

    def made(
        self, challenge: str, /, *, flags: int = USER | 0x40, host: str | None = None, **bent: Any
    ) -> dict[str, str]:
        """Return the fields of the form that adds the passkey."""
        of_key = bytes(16) + _raw(len(self.credential), 2) + self.credential + self.key
        data = self.data(flags, of_key if flags & 0x40 else b"", host)
        attestation = cbor({"fmt": "none", "attStmt": {}, "authData": data})
        client_data = self.client_data("create", challenge, **bent)
        return {"client_data": text(client_data), "attestation": text(attestation)}

    def signed(
        self, challenge: str, /, *, flags: int = USER, host: str | None = None, **bent: Any
    ) -> dict[str, str]:
        """Return the fields of the form that signs in."""
        client_data = self.client_data("get", challenge, **bent)
        data = self.data(flags, host=host)
        return {
            "credential": text(self.credential),
            "client_data": text(client_data),
            "data": text(data),
            "signature": text(self.sign(data + hashlib.sha256(client_data).digest())),
            "user": self.user,
        }


def ask(browser: Browser, action: str) -> Any:
    """Ask for a challenge as the page's script does."""
    page = browser.get("/sign-in" if action == "/sign-in/passkey" else "/account")
    csrf = form_of(page, action)["csrf"]
    answer = browser.post(f"{action}/challenge", {"csrf": csrf})
    assert answer.status == 200, answer.text
    return {**answer.json, "csrf": csrf}


def add(browser: Browser, device: Device, name: str = "Phone", **bent: Any) -> Answer:
    asked = ask(browser, "/account/passkeys")
    fields = {"csrf": asked["csrf"], "name": name, **device.made(asked["challenge"], **bent)}
    return browser.post("/account/passkeys", fields)


def enter(browser: Browser, device: Device, **bent: Any) -> Answer:
    asked = ask(browser, "/sign-in/passkey")
    signed = device.signed(asked["challenge"], **bent)
    return browser.post("/sign-in/passkey", {"csrf": asked["csrf"], "then": "/account", **signed})


def said(answer: Answer) -> str:
    """Return what the page says is wrong."""
    found = re.search(r'<p class="problem" role="alert">(.*?)</p>', answer.text)
    assert found is not None, answer.text
    return found[1]
