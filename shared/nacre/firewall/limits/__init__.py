"""Limits: calls, bytes and concurrent calls, counted across processes, and cut results.

A call enters at `CallLimits.count`, after the rules have allowed it, and leaves with `Running.end`.
A result that is too large is cut by `result_cut`, and `whole_results` stores the whole.
"""
