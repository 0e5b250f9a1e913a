"""Lambda: the MCP endpoint."""

from nacre.core.logs import log_at
from nacre.faces.aws_lambda.mcp_http import mcp_handler
from nacre.wiring import aws, snapshots
from nacre.wiring.settings import Settings

settings = Settings.from_environment()
handle = mcp_handler(
    aws.mcp_application(settings),
    gate=aws.mcp_gate(settings),
    peers=aws.mcp_peers(settings),
    log=log_at(settings.log_level, stack=settings.stack),
    public_url=settings.public_url,
)
snapshots.ready(settings, snapshots.MCP)
