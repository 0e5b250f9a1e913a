"""Glob patterns: their syntax, matching in linear time, and the forms of path patterns."""
