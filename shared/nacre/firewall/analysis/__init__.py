"""Questions about a policy: explain, prove, lint, coverage, replay and fixtures.

Calls come in from the commands of `nacre policy`, the evaluator and the console. Nothing here
enforces a policy.
"""
