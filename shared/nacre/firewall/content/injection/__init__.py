"""Text that tries to instruct a model: a heuristic that explains its findings.

Callers use `scan` for a text, `json_values` for a result, and `tool_definitions` for lists.
"""
