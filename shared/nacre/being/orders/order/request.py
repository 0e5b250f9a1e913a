"""An order as it was given: by whom, in which session, with what."""

from dataclasses import dataclass
from random import Random

from nacre.being.orders.media.incoming import Attachment
from nacre.being.orders.sessions.session import SessionKey
from nacre.core.errors import InvalidArgumentError
from nacre.core.limits import MAX_ORDER_BYTES
from nacre.protocol.context import Context
from nacre.protocol.principal import Principal


@dataclass(frozen=True, slots=True)
class GivenOrder:
    """One order as it was given."""

    principal: Principal
    context: Context
    message: str
    key: SessionKey
    attachments: tuple[Attachment, ...]
    llm_key: str

    def turn_id(self, rng: Random) -> str:
        """Return what the turn is known by; a task that is done once more has the same."""
        return self.context.task.id if self.context.task else f"{rng.getrandbits(64):016x}"

    def caller(self) -> str:
        """Return how the client calls itself, for people who look at what it said."""
        name = self.context.client_info.get("name")
        shown = " ".join(str(name).split())[:64] if isinstance(name, str) else ""
        return shown if shown and shown.isprintable() else "a client"


def check_message(message: str) -> None:
    """Raise InvalidArgumentError for what cannot be an order."""
    if not message.strip():
        raise InvalidArgumentError("argument 'message' is empty; say what is to be done")
    if len(message.encode()) > MAX_ORDER_BYTES:
        raise InvalidArgumentError(
            f"argument 'message' is longer than {MAX_ORDER_BYTES} bytes; send a long text as a file"
        )
