"""Lambda: evaluate one call against the policy."""

from nacre.faces.policy import policy_handler
from nacre.wiring.policies import stack_evaluator
from nacre.wiring.settings import Settings

handle = policy_handler(stack_evaluator(Settings.from_environment()))
