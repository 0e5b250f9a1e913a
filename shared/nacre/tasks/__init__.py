"""Tasks: calls that the worker makes, and whose results their callers fetch later."""
