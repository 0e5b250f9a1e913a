"""Lambda: what is web, as FastAPI behind Mangum."""

from nacre.faces.console import console
from nacre.faces.console_controls import controls
from nacre.faces.logs import log_at
from nacre.faces.portal_function import portal_handler
from nacre.faces.portal_parts import stack_portal
from nacre.wiring import aws, snapshots
from nacre.wiring.console import stack_console
from nacre.wiring.controlling import stack_control
from nacre.wiring.settings import Settings

settings = Settings.from_environment()
log = log_at(settings.log_level, stack=settings.stack)
handle = portal_handler(
    stack_portal(aws.authority(settings), settings.public_url, log),
    console(stack_console(settings)),
    controls(stack_control(settings)),
)
snapshots.ready(settings, snapshots.PORTAL)
