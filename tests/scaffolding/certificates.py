"""Certificate authorities for tests, and the certificates that they sign."""

import ipaddress
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_PEM = serialization.Encoding.PEM


class Authority:
    """An authority that nobody trusts unless `file` is given to them."""

    def __init__(self, folder: Path, name: str = "test authority") -> None:
        folder.mkdir(exist_ok=True)
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        signed = self._builder(self._name, self._key, is_authority=True).sign(
            self._key, hashes.SHA256()
        )
        self.file = str(folder / "authority.pem")
        Path(self.file).write_bytes(signed.public_bytes(_PEM))

    def issue(self, *names: str, password: bytes | None = None) -> tuple[str, str]:
        """Return the paths of a certificate for these names, and of its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
        signed = (
            self._builder(subject, key)
            .add_extension(x509.SubjectAlternativeName([_general(name) for name in names]), False)
            .sign(self._key, hashes.SHA256())
        )
        certificate = self._folder / f"{names[0]}.crt"
        certificate.write_bytes(signed.public_bytes(_PEM))
        sealed = (
            serialization.NoEncryption()
            if password is None
            else serialization.BestAvailableEncryption(password)
        )
        key_file = self._folder / f"{names[0]}.key"
        key_file.write_bytes(key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, sealed))
        return str(certificate), str(key_file)

    def server(self, *names: str, clients: "Authority | None" = None) -> ssl.SSLContext:
        """Return a server's settings of TLS; with `clients` it wants their certificates."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.issue(*names))
        if clients is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(clients.file)
        return context

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, *, is_authority: bool = False
    ) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        public = key.public_key()
        # Python 3.13 wants all that RFC 5280 asks for.
        usage = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=is_authority,
            crl_sign=is_authority,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), True)
            .add_extension(usage, True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), False
            )
        )


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
