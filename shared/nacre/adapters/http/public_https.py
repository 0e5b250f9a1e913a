"""HTTPS requests whose connection goes only to a checked address."""

import socket
from collections.abc import Collection
from http.client import HTTPSConnection

from nacre.adapters.http.public_addresses import Network, Resolve, checked_addresses, resolved


class PublicHttpsConnection(HTTPSConnection):
    """A connection to a host of the public internet; its certificate is the host's.

    It follows no redirect and uses no proxy. Connecting raises PrivateAddressError.
    """

    def __init__(
        self,
        host: str,
        port: int = 443,
        *,
        timeout: float,
        allowed: Collection[Network] = (),
        resolve: Resolve = resolved,
    ) -> None:
        super().__init__(host, port, timeout=timeout)
        self._allowed = tuple(allowed)
        self._resolve = resolve

    def connect(self) -> None:
        """Connect to the first address that answers, over TLS for the host's name."""
        addresses = checked_addresses(
            self.host, self.port, allowed=self._allowed, resolve=self._resolve
        )
        context = self._context  # type: ignore[attr-defined]  # made by http.client, verifying
        raw = _connected(addresses, self.port, self.timeout)
        try:
            self.sock = context.wrap_socket(raw, server_hostname=self.host)
        except BaseException:
            raw.close()
            raise


def _connected(addresses: list[str], port: int, timeout: float | None) -> socket.socket:
    problem: OSError | None = None
    for address in addresses:
        try:
            return socket.create_connection((address, port), timeout)
        except OSError as error:
            problem = error
    assert problem is not None  # there is at least one address
    raise problem
