"""Time, as an argument."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

Clock = Callable[[], datetime]

system_clock: Clock = partial(datetime.now, UTC)
"""The current time in UTC."""
