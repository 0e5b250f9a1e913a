"""One order as its client sent it, and the limits that it must keep."""

from random import Random

from nacre.being.orders.media.incoming import Attachment
from nacre.being.orders.media.media_limits import MediaLimits
from nacre.being.orders.sessions.session import SessionKey
from nacre.core.errors import InvalidArgumentError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import MAX_ORDER_BYTES, ORDER_GATEWAY_SECONDS, ORDER_SECONDS
from nacre.protocol.context import Context
from nacre.protocol.principal import Principal


@dataclass(frozen=True, slots=True)
class OrderLimits:
    """The time and the media that one order may take."""

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
        """Return the limits of a stack's worker, whose media pass through Lambda too."""
        return cls(ORDER_SECONDS, MediaLimits.aws())


@dataclass(frozen=True, slots=True)
class OrderRequest:
    """One order: who sent it, in which session, and with which attachments."""

    principal: Principal
    context: Context
    message: str
    key: SessionKey
    attachments: tuple[Attachment, ...]
    llm_key: str

    def turn_id(self, rng: Random) -> str:
        """Return the id of the order's turn; a task that runs again has the same id."""
        return self.context.task.id if self.context.task else f"{rng.getrandbits(64):016x}"

    def caller(self) -> str:
        """Return the name that the client gives itself, as people may read it."""
        name = self.context.client_info.get("name")
        readable = " ".join(str(name).split())[:64] if isinstance(name, str) else ""
        return readable if readable and readable.isprintable() else "a client"


def check_message(message: str) -> None:
    """Raise InvalidArgumentError if the message is empty or too long."""
    if not message.strip():
        raise InvalidArgumentError("argument 'message' is empty; say what is to be done")
    if len(message.encode()) > MAX_ORDER_BYTES:
        raise InvalidArgumentError(
            f"argument 'message' is longer than {MAX_ORDER_BYTES} bytes; send a long text as a file"
        )
