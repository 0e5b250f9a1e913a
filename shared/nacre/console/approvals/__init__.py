"""The inbox of calls that wait for approval."""
