"""Clients' metadata documents, fetched over HTTPS from public addresses only."""

import threading
from collections.abc import Callable, Collection
from http.client import HTTPException
from time import monotonic
from urllib.parse import urlsplit

from nacre.adapters.http.public_addresses import Network, Resolve, resolved
from nacre.adapters.http.public_https import PublicHttpsConnection
from nacre.core.errors import ForbiddenError, UnavailableError
from nacre.core.limits import CLIENT_DOCUMENT_BYTES, CLIENT_FETCH_SECONDS

_PIECE = 1024


class HttpsClientDocuments:
    """Fetches documents; each step has three seconds, and all of them together twice that.

    All that can be given is for tests with a server of their own.
    """

    def __init__(
        self,
        *,
        allowed: Collection[Network] = (),
        resolve: Resolve = resolved,
        port: int = 443,
        now: Callable[[], float] = monotonic,
        trust: str | None = None,
    ) -> None:
        self._allowed = allowed
        self._resolve = resolve
        self._port = port
        self._now = now
        self._trust = trust

    def fetch(self, url: str) -> bytes:
        """Return the document; raises as the port says."""
        parts = urlsplit(url)
        connection = PublicHttpsConnection(
            parts.hostname or "",
            self._port,
            timeout=CLIENT_FETCH_SECONDS,
            allowed=self._allowed,
            resolve=self._resolve,
        )
        if self._trust is not None:
            connection._context.load_verify_locations(self._trust)  # type: ignore[attr-defined]
        try:
            return _within(2 * CLIENT_FETCH_SECONDS, lambda: self._fetched(connection, parts.path))
        except ForbiddenError:
            raise
        except (OSError, HTTPException, ValueError) as error:
            raise UnavailableError(f"the document at {url[:200]} cannot be fetched") from error

    def _fetched(self, connection: PublicHttpsConnection, path: str) -> bytes:
        """Fetch and close, also where nobody waits any more."""
        try:
            return self._fetch(connection, path)
        finally:
            connection.close()

    def _fetch(self, connection: PublicHttpsConnection, path: str) -> bytes:
        headers = {"Accept": "application/json", "User-Agent": "nacre", "Connection": "close"}
        connection.request("GET", path, headers=headers)
        with connection.getresponse() as answer:
            kind = answer.headers.get_content_type()
            if answer.status != 200 or not (kind == "application/json" or kind.endswith("+json")):
                raise UnavailableError("the document is not there, or is no JSON")
            body = b""
            end = self._now() + CLIENT_FETCH_SECONDS
            # In pieces, so that one who sends a byte now and then does not hold on for ever.
            while piece := answer.read1(_PIECE):
                body += piece
                if len(body) > CLIENT_DOCUMENT_BYTES or self._now() > end:
                    raise UnavailableError("the document is too long, or comes too slowly")
            return body


def _within(seconds: float, work: Callable[[], bytes]) -> bytes:
    """Return what the work returns, or raise UnavailableError when it takes longer.

    Looking up a name knows no timeout; a thread that still waits for one ends by itself.
    """
    done: list[bytes] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again where somebody waits
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if failed:
        raise failed[0]
    if not done:
        raise UnavailableError("the document does not come in time")
    return done[0]
