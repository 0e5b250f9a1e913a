"""Lambda: work that waits in the queue, one job at a time."""

from nacre.faces import error_map
from nacre.faces.logs import log_at
from nacre.faces.patrol import worker_handler
from nacre.wiring import aws
from nacre.wiring.settings import Settings

settings = Settings.from_environment()
handle = worker_handler(
    aws.worker(settings, error_map), aws.postponing(settings), log_at(settings.log_level)
)
