"""The settings of connections to other machines: their proxies and trusted authorities."""

import ssl

from nacre.core.lazy_dataclasses import dataclass
from nacre.http_client.certificates import ClientCertificate, tls_context
from nacre.http_client.proxies import NO_PROXIES, Proxies


@dataclass(frozen=True, slots=True)
class Outgoing:
    """The proxies, and a file with authorities that are trusted besides the system's.

    The certificate of the `client` is shown to servers that ask for one, and never to a proxy.
    """

    proxies: Proxies = NO_PROXIES
    ca_file: str = ""
    client: ClientCertificate | None = None

    def tls(self) -> ssl.SSLContext:
        """Return the settings of TLS with servers; raises ConfigurationError."""
        return tls_context(self.ca_file, self.client)

    def proxy_tls(self) -> ssl.SSLContext:
        """Return the settings of TLS with proxies; raises ConfigurationError."""
        return tls_context(self.ca_file)


DIRECT = Outgoing()
