"""A crowd of connections, as the commands make one, for servers in the test's own process."""

from io import StringIO

from nacre.faces.crowd import Crowd
from nacre.faces.logs import Log, RareLog
from nacre.limits import ADDRESS_CONNECTIONS, HTTP_CONNECTIONS


def crowd(log: StringIO | None = None) -> Crowd:
    """Return a crowd with the default limits."""
    rare = RareLog(Log("warning", log or StringIO()))
    return Crowd(rare, most=HTTP_CONNECTIONS, of_one_address=ADDRESS_CONNECTIONS)
