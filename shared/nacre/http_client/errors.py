"""The ways in which a request to another server fails."""

from nacre.core.errors import UnavailableError


class HttpError(UnavailableError):
    """The server cannot be reached, breaks the connection, or sends no valid response."""


class ConnectError(HttpError):
    """No connection to the server can be opened."""


class ConnectTimeoutError(ConnectError):
    """The server accepts no connection in time."""


class CertificateError(ConnectError):
    """The server's certificate is not trusted."""


class ProxyError(ConnectError):
    """The server cannot be reached because of its proxy; the text names it without credentials."""


class ReadTimeoutError(HttpError):
    """The server sends nothing for too long."""


class CompressedError(HttpError):
    """The response is compressed, although the request did not allow it."""
