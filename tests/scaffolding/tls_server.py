"""A TLS server on loopback that answers as it is told, under whichever names it is given."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.scaffolding.server_threads import answering


@dataclass
class TlsServer:
    """Answers by path; counts connections, and what was asked for."""

    port: int
    certificate: str
    answers: dict[str, tuple[int, dict[str, str], bytes]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    connections: int = 0

    def trust(self) -> ssl.SSLContext:
        """Return a client's TLS settings that trust this server's certificate."""
        return ssl.create_default_context(cafile=self.certificate)


@contextmanager
def tls_server(folder: Path, *names: str) -> Iterator[TlsServer]:
    """Serve until the block ends, with a certificate for these names."""
    certificate = _certificate(folder, names)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.asked.append(self.path)
            status, headers, body = state.answers.get(self.path, (404, {}, b""))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            with suppress(OSError):  # nobody reads what is too long
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def get_request(self):  # type: ignore[no-untyped-def]
            connection, address = super().get_request()
            state.connections += 1
            connection.settimeout(60)
            return context.wrap_socket(
                connection, server_side=True, do_handshake_on_connect=False
            ), address

        def close_request(self, request):  # type: ignore[no-untyped-def]
            request._real_close()  # even where a handshake that failed left files open

        def handle_error(self, request: object, client_address: object) -> None:
            pass  # a client that went away

    server = Server(("127.0.0.1", 0), Handler)
    state = TlsServer(server.server_address[1], certificate)
    with answering(server):
        yield state


def _certificate(folder: Path, names: tuple[str, ...]) -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), False)
        .sign(key, hashes.SHA256())
    )
    path = folder / "tls.pem"
    path.write_bytes(
        made.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return str(path)
