"""Separate processes that check large results, so that this process stays responsive."""
