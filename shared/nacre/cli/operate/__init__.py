"""The commands of operation: `status`, `doctor`, `dlq`, `backup` and `restore`.

`doctor_checks` checks this machine or a stack. For `doctor --live`, `live_checks` sends requests,
and `adapters.aws.deployment` checks the stack's resources.
"""
