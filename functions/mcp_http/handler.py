"""Lambda: the MCP endpoint."""

from nacre.core.logs import log_at
from nacre.faces.aws_lambda.mcp_http import mcp_handler
from nacre.wiring import aws, snapshots
from nacre.wiring.compose import compose
from nacre.wiring.settings import Settings

settings = Settings.from_environment()
ports = aws.mcp_ports(settings)
handle = mcp_handler(
    compose(ports, settings).application,
    gate=aws.mcp_gate(settings),
    peers=ports.peers,
    log=log_at(settings.log_level, stack=settings.stack),
    public_url=settings.public_url,
)
snapshots.preload(settings, snapshots.MCP)
