"""Lambda: the console and OAuth, as FastAPI behind Mangum."""

from nacre.core.logs import log_at
from nacre.faces.aws_lambda.portal import stack_handler
from nacre.wiring import aws, snapshots
from nacre.wiring.compose import compose
from nacre.wiring.console import console_parts, control_parts
from nacre.wiring.settings import Settings

settings = Settings.from_environment()
log = log_at(settings.log_level, stack=settings.stack)
home = compose(aws.StackPorts(settings), settings)
pages = (console_parts(home), control_parts(home))
secret = settings.front_secret.reveal()
handle = stack_handler(lambda: home.authority, settings.public_url, log, *pages, secret)
snapshots.preload(settings, snapshots.PORTAL)
