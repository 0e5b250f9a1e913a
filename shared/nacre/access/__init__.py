"""Tokens, scopes and who may call what."""
