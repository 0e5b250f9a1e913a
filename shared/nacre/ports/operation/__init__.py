"""Ports for operators: health, the deployment, failed messages and remains of erased texts.

Commands such as `doctor`, `status`, `dlq` and `forget` call them.
"""
