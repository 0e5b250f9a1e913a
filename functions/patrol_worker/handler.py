"""Lambda: work that waits in the queue, one job at a time."""

from nacre.core.logs import log_at
from nacre.faces.aws_lambda.patrol_worker import worker_handler
from nacre.faces.task_errors import TaskRules
from nacre.wiring import aws
from nacre.wiring.settings import Settings

settings = Settings.from_environment()
log = log_at(settings.log_level, stack=settings.stack)
handle = worker_handler(aws.worker(settings, TaskRules(log)), aws.postponing(settings), log)
