"""Orders on each wiring: the tool beside a Being's own, and what carries it out.

Nothing of a model or of media is loaded before the first order.
"""

from collections.abc import Callable
from datetime import timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING

from nacre.being.order import DEFAULT_ORDER_NAME, order
from nacre.errors import ModelError
from nacre.orders.naming import OrderNames
from nacre.orders.surface import OrderSurface
from nacre.wiring.mind import Minded, Once

if TYPE_CHECKING:
    from nacre.clock import Clock
    from nacre.orders.media_parts import MediaAbilities
    from nacre.orders.order import OrderLimits, Orders
    from nacre.patrol.thinkers import Thinkers
    from nacre.ports.chat import Chat
    from nacre.ports.holders import Holders
    from nacre.ports.table import Table
    from nacre.protocol.surface import Surface
    from nacre.wiring.settings import Settings


class Ordering:
    """The order tool of one server, which calls the server's own tools in turn.

    `serve` is told of the server once it stands behind its policy: what the model of an order
    calls is decided like any other call.
    """

    def __init__(self, orders: "Callable[[Callable[[], Surface]], Orders]") -> None:
        self._orders = Once(lambda: orders(self._surface))
        self._served: Surface | None = None

    def beside(self, own: "Surface", names: OrderNames) -> OrderSurface:
        """Return the server with the tool."""
        return OrderSurface(own, names, lambda name: order(name, self._orders))

    def serve(self, surface: "Surface") -> "Surface":
        """Take the server as its callers have it, and return it."""
        self._served = surface
        return surface

    def _surface(self) -> "Surface":
        assert self._served is not None, "the server was never served"
        return self._served


def order_names(
    lookup: Callable[[str], str | None], settings: "Settings", *, seconds: float
) -> OrderNames:
    """Return the names of orders: a Being's own, else the settings'."""
    return OrderNames(lookup, settings.order_name or DEFAULT_ORDER_NAME, seconds=seconds)


def orders_over(
    minded: Callable[[], Minded],
    table: "Callable[[], Table]",
    thinkers: "Callable[[], Thinkers]",
    abilities: "Callable[[], MediaAbilities]",
    settings: "Settings",
    clock: "Clock",
    *,
    limits: "Callable[[], OrderLimits]",
    holders: "Holders | None" = None,
) -> Ordering:
    """Return the orders over these stores; everything is made by the first of them."""

    def make(surface: "Callable[[], Surface]") -> "Orders":
        from random import SystemRandom

        from nacre.jobs.lease import Leases
        from nacre.limits import SESSION_LEASE_SECONDS
        from nacre.orders.noting import OrderNoting
        from nacre.orders.order import Orders
        from nacre.orders.session_store import SessionStore

        items = table()
        duration = timedelta(seconds=SESSION_LEASE_SECONDS)
        leases = Leases(items, now=clock, duration=duration, holders=holders)
        mind = minded().mind
        memory = mind.memory
        return Orders(
            surface=surface,
            context=mind.context,
            recollection=mind.recollection,
            noting=OrderNoting(memory.history, memory.scenes, memory.trigger, clock),
            sessions=SessionStore(items, leases, clock=clock),
            thinkers=thinkers(),
            chats=chats(settings),
            abilities=Once(abilities),
            limits=limits(),
            clock=clock,
            rng=SystemRandom(),
        )

    return Ordering(make)


def chats(settings: "Settings") -> "Callable[[str], Chat]":
    """Return what opens a conversation with the model that a key belongs to."""

    def opened() -> "Callable[[str], Chat]":
        from nacre.adapters.openai_chat import OpenAIChats
        from nacre.wiring.thinking import provider

        known = OpenAIChats()

        def chat(key: str) -> "Chat":
            base_url, name = provider(key, settings)
            return known.open(name, key=key, base_url=base_url)

        return chat

    once = Once(opened)

    def open_chat(key: str) -> "Chat":
        if find_spec("openai") is None:
            missing = "the openai package is not installed; pip install 'nacre[openai]'"
            raise ModelError("unavailable", missing)
        return once()(key)

    return open_chat
