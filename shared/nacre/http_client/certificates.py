"""TLS: the authorities to trust, and the certificate that identifies this client."""

import os
import ssl
import tempfile
from pathlib import Path

from nacre.core.errors import ConfigurationError
from nacre.core.lazy_dataclasses import dataclass, field

_BEGIN = "-----BEGIN "


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """A certificate with its chain, and its key: each the path of a PEM file, or its text.

    Without a key, the file of the certificate has it.
    """

    certificate: str = field(repr=False)
    key: str = field(default="", repr=False)


def tls_context(ca_file: str = "", client: ClientCertificate | None = None) -> ssl.SSLContext:
    """Return the settings of TLS for outgoing connections; raises ConfigurationError.

    The system's authorities are trusted, or those of SSL_CERT_FILE, and those of `ca_file` too.
    """
    context = ssl.create_default_context()
    if ca_file:
        _add_authorities(context, ca_file)
    if client is not None:
        _present(context, client)
    return context


def _add_authorities(context: ssl.SSLContext, ca_file: str) -> None:
    try:
        context.load_verify_locations(Path(ca_file).expanduser())
    except (OSError, ssl.SSLError, ValueError) as error:
        raise ConfigurationError(
            f"NACRE_CA_FILE: {ca_file[:200]!r} is not a readable PEM file with certificates"
        ) from error


def _present(context: ssl.SSLContext, client: ClientCertificate) -> None:
    def refuse() -> str:  # OpenSSL would ask for the password on the terminal
        raise ConfigurationError("client_key: the key has a password; give it without one")

    with tempfile.TemporaryDirectory() as folder:
        certificate = _as_file(client.certificate, folder, "certificate")
        key = _as_file(client.key, folder, "key") if client.key else None
        try:
            context.load_cert_chain(certificate, key, refuse)
        except ssl.SSLError as error:
            raise ConfigurationError(
                "client_cert and client_key are not a PEM certificate and its private key"
            ) from error
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                "client_cert or client_key names a file that cannot be read"
            ) from error


def _as_file(value: str, folder: str, name: str) -> str:
    """Return a path of the PEM: OpenSSL reads files only."""
    if _BEGIN not in value:
        return str(Path(value).expanduser())
    path = Path(folder, name)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(value)
    return str(path)
