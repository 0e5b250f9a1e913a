"""Lambda: what is web, as FastAPI behind Mangum."""

from nacre.core.logs import log_at
from nacre.faces.aws_lambda.portal import stack_handler
from nacre.wiring import aws, snapshots
from nacre.wiring.console import stack_console
from nacre.wiring.control import stack_control
from nacre.wiring.settings import Settings

settings = Settings.from_environment()
log = log_at(settings.log_level, stack=settings.stack)
handle = stack_handler(
    aws.authority(settings),
    settings.public_url,
    log,
    stack_console(settings),
    stack_control(settings),
)
snapshots.ready(settings, snapshots.PORTAL)
