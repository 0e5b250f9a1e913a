"""Lambda: work that waits in the queue, one job at a time."""

from functools import cache

from nacre.core.logs import log_at
from nacre.faces.aws_lambda.patrol_worker import worker_handler
from nacre.faces.task_errors import TaskRules
from nacre.wiring import aws
from nacre.wiring.compose import compose
from nacre.wiring.settings import Settings

settings = Settings.from_environment()
log = log_at(settings.log_level, stack=settings.stack)
ports = aws.worker_ports(settings)
home = compose(ports, settings)
rules = TaskRules(log)
handle = worker_handler(cache(lambda: home.worker(rules)), ports.postpone, log)
