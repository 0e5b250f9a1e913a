"""The Lambda functions of a stack, one file for each, named like the function.

`functions/*/handler.py` builds each of them from `wiring`. Events of API Gateway and SQS come
in here. The policy evaluator is in `faces.evaluator`.
"""
