"""Glob patterns: their syntax, matching in linear time, and lookup by prefix."""
