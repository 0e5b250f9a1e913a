"""What one order may take: time, and media."""

from dataclasses import dataclass

from nacre.being.orders.media.media_limits import MediaLimits
from nacre.core.limits import ORDER_GATEWAY_SECONDS, ORDER_SECONDS


@dataclass(frozen=True, slots=True)
class OrderLimits:
    """How long one order may take, and how much media it carries."""

    seconds: float
    media: MediaLimits

    @classmethod
    def laptop(cls) -> "OrderLimits":
        """Return the limits of a server on this machine."""
        return cls(ORDER_SECONDS, MediaLimits.laptop())

    @classmethod
    def gateway(cls) -> "OrderLimits":
        """Return the limits where API Gateway waits for the answer."""
        return cls(ORDER_GATEWAY_SECONDS, MediaLimits.aws())

    @classmethod
    def worker(cls) -> "OrderLimits":
        """Return the limits of a stack's worker, whose media come and go through Lambda too."""
        return cls(ORDER_SECONDS, MediaLimits.aws())
