"""Limits: counts of the calls that a policy bounds, exact across processes.

A call enters at `CallLimits.count`, once it may be made otherwise.
"""
