"""Lambda: evaluate one call against the policy."""

from nacre.faces.policy import policy_handler

handle = policy_handler()
