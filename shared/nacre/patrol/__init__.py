"""Patrol: the background round that turns scenes into lasting memory."""
