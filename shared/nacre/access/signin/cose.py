"""Public keys of passkeys (COSE, RFC 9053): ES256, EdDSA with Ed25519, and RS256."""

from collections.abc import Callable

from nacre.access.signin.cbor import Cbor, decode
from nacre.core.errors import InvalidInputError

ES256, EDDSA, RS256 = -7, -8, -257
ALGORITHMS = (ES256, EDDSA, RS256)
"""The accepted algorithms, the preferred one first."""

_RSA_BITS = (2048, 4096)
Check = Callable[[bytes, bytes], None]


def check_key(key: bytes) -> None:
    """Raise InvalidInputError for a key that is malformed or uses another algorithm."""
    _checker(key)


def verify(key: bytes, signature: bytes, signed: bytes) -> bool:
    """Tell whether the key has signed these bytes."""
    # A large import, and most processes never see a passkey.
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415

    try:
        _checker(key)(signature, signed)
    except InvalidSignature:
        return False
    return True


def _checker(key: bytes) -> Check:
    fields = decode(key)
    if not isinstance(fields, dict):
        raise _malformed()
    try:
        match fields.get(1), fields.get(3):
            case 2, -7:
                return _es256(fields)
            case 1, -8:
                return _eddsa(fields)
            case 3, -257:
                return _rs256(fields)
            case _:
                raise InvalidInputError("the passkey uses an unsupported signature algorithm")
    except ValueError:  # a point that is not on the curve, an invalid modulus
        raise _malformed() from None


def _es256(fields: dict[int | str, Cbor]) -> Check:
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    _check_fields(fields, {1, 3, -1, -2, -3}, curve=1)
    point = b"\x04" + _bytes(fields, -2, 32) + _bytes(fields, -3, 32)
    public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    return lambda signature, signed: public.verify(signature, signed, ec.ECDSA(hashes.SHA256()))


def _eddsa(fields: dict[int | str, Cbor]) -> Check:
    from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415

    _check_fields(fields, {1, 3, -1, -2}, curve=6)
    return ed25519.Ed25519PublicKey.from_public_bytes(_bytes(fields, -2, 32)).verify


def _rs256(fields: dict[int | str, Cbor]) -> Check:
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import padding, rsa  # noqa: PLC0415

    _check_fields(fields, {1, 3, -1, -2})
    modulus, exponent = (int.from_bytes(_bytes(fields, name), "big") for name in (-1, -2))
    if not _RSA_BITS[0] <= modulus.bit_length() <= _RSA_BITS[1] or exponent != 65537:
        raise _malformed()
    public = rsa.RSAPublicNumbers(exponent, modulus).public_key()
    scheme = padding.PKCS1v15()
    return lambda signature, signed: public.verify(signature, signed, scheme, hashes.SHA256())


def _check_fields(fields: dict[int | str, Cbor], names: set[int], curve: int | None = None) -> None:
    if fields.keys() != names or (curve is not None and fields[-1] != curve):
        raise _malformed()


def _bytes(fields: dict[int | str, Cbor], name: int, length: int | None = None) -> bytes:
    value = fields[name]
    if not isinstance(value, bytes) or (length is not None and len(value) != length):
        raise _malformed()
    return value


def _malformed() -> InvalidInputError:
    return InvalidInputError("the passkey's public key is malformed")
