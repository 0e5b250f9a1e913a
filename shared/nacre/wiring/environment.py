"""Variables of the environment that the owner of this machine names himself."""

import os


def variable(name: str) -> str | None:
    """Return a variable's value, None when it is not set."""
    return os.environ.get(name)
