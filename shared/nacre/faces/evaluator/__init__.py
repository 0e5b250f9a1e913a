"""The policy evaluator: `POST /policy/evaluate`, as a Lambda function and on a laptop.

Both ask `evaluation.Evaluator`, which calls `firewall.rules`.
"""
