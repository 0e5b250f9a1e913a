"""How many examples a law is tried with."""

from hypothesis import settings


def examples(all_of_them: int) -> int:
    """Return how many of these this run takes: two in five, and in `make slow` all of them."""
    return all_of_them * settings().max_examples // 100
