"""Lambda: evaluate one call against the policy."""

from nacre.faces.evaluator.evaluator_function import policy_handler
from nacre.wiring.features.policies import stack_source
from nacre.wiring.settings import Settings

settings = Settings.from_environment()
handle = policy_handler(stack_source(settings), settings.log_level, settings.stack)
