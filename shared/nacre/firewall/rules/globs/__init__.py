"""Glob patterns: their syntax, matching in linear time, and the forms of path patterns.

`firewall.rules.condition` expands the pattern of a rule with `pattern_forms`, and matches each
reading of an argument (`firewall.rules.arguments`) with `matching`. Names of servers and tools are
matched in the same way.
"""
