"""`nacre proxy --listen`: HTTP to the client and to the server."""

from nacre.cli.proxy_options import ProxyOptions
from nacre.errors import UnavailableError


def run(options: ProxyOptions) -> int:
    """Relay until it ends, and return the exit code."""
    del options
    raise UnavailableError("servers with a --url cannot be had yet; give the command of one")
