"""The way back to the client for what an order calls."""

from functools import partial
from typing import Any

from nacre.orders.patience import Patience
from nacre.orders.threads import begun
from nacre.protocol.context import Channel
from nacre.protocol.running import step


class PatientChannel:
    """A channel whose questions wait no longer than the order does.

    A person may take minutes to answer. Meanwhile the order keeps its session, is heard of, and
    ends when its client gives it up; an answer after that reaches nobody.
    """

    def __init__(self, channel: Channel, patience: Patience) -> None:
        self._channel = channel
        self._patience = patience

    @property
    def can_ask(self) -> bool:
        """Whether the client can be asked."""
        return self._channel.can_ask

    @property
    def cancelled(self) -> bool:
        """Whether the client has given the order up."""
        return self._channel.cancelled

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification that belongs to the call."""
        self._channel.notify(method, params)

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return the client's result; the order's thread waits for it."""
        return self._patience.hold(begun(partial(step, self._channel.ask(method, params))))
