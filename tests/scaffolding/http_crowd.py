"""A crowd of connections, as the commands make one, for servers in the test's own process."""

from io import StringIO

from nacre.core.limits import ADDRESS_CONNECTIONS, HTTP_CONNECTIONS
from nacre.core.logs import Log, RareLog
from nacre.protocol.http.connection_limit import Crowd


def crowd(log: StringIO | None = None) -> Crowd:
    """Return a crowd with the default limits."""
    rare = RareLog(Log("warning", log or StringIO()))
    return Crowd(rare, most=HTTP_CONNECTIONS, of_one_address=ADDRESS_CONNECTIONS)
