"""Orders on each wiring: the tool beside a Being's own, and what carries it out.

Nothing of a model or of media is loaded before the first order.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from nacre.being.orders.order_names import OrderNames
from nacre.being.orders.order_surface import OrderSurface
from nacre.being.tools.order import DEFAULT_ORDER_NAME, order
from nacre.core.errors import ModelError
from nacre.core.limits import ORDER_NAME_SECONDS
from nacre.wiring.features.memory import Minded, Once

if TYPE_CHECKING:
    from pathlib import Path

    from nacre.adapters.aws.dynamodb.get import SignedGet
    from nacre.adapters.sqlite.database import SqliteDatabase
    from nacre.being.orders.media.chat_parts import MediaAbilities
    from nacre.being.orders.order.order_limits import OrderLimits
    from nacre.being.orders.order.run import Orders
    from nacre.being.patrol.planning.model_choice import Thinkers
    from nacre.core.clock import Clock
    from nacre.ports.chat import Chat
    from nacre.ports.items.table import Table
    from nacre.ports.processes import Holders
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
    lookup: Callable[[str], str | None],
    settings: "Settings",
    *,
    seconds: float = ORDER_NAME_SECONDS,
) -> OrderNames:
    """Return the names of orders: a Being's own, else the settings'."""
    return OrderNames(lookup, settings.order_name or DEFAULT_ORDER_NAME, seconds=seconds)


def laptop_ordering(
    database: "SqliteDatabase",
    minded: Callable[[], Minded],
    settings: "Settings",
    clock: "Clock",
    *,
    key_file: "Path",
    holders: "Callable[[], Holders]",
) -> Ordering:
    """Return the orders of a data folder."""

    def table() -> "Table":
        from nacre.adapters.sqlite.table import SqliteTable

        return SqliteTable(database, "data", now=clock)

    def thinkers() -> "Thinkers":
        from nacre.wiring.features.models import laptop_thinkers

        return laptop_thinkers(database, key_file, settings, clock)

    def abilities() -> "MediaAbilities":
        from nacre.wiring.features.media import media_abilities

        return media_abilities(settings)

    def limits() -> "OrderLimits":
        from nacre.being.orders.order.order_limits import OrderLimits

        return OrderLimits.laptop()

    return orders_over(
        minded, table, thinkers, abilities, settings, clock, limits=limits, holders=holders
    )


def stack_ordering(
    clients: "Callable[[], Callable[[str], Any]]",
    minded: Callable[[], Minded],
    settings: "Settings",
    clock: "Clock",
    *,
    in_worker: bool,
) -> Ordering:
    """Return the orders of a stack, in the function that API Gateway waits for or in the worker.

    `clients` gives what opens an AWS service.
    """
    opened = Once(clients)

    def table() -> "Table":
        from nacre.adapters.aws.dynamodb.table import DynamoTable

        return DynamoTable(opened()("dynamodb"), settings.data_table, now=clock)

    def thinkers() -> "Thinkers":
        from nacre.wiring.features.models import stack_thinkers

        return stack_thinkers(opened, settings, clock)

    def abilities() -> "MediaAbilities":
        from nacre.wiring.features.index import stack_secret
        from nacre.wiring.features.media import media_abilities

        return media_abilities(
            settings, key=lambda: stack_secret(opened(), settings.transcribe_secret)
        )

    def limits() -> "OrderLimits":
        from nacre.being.orders.order.order_limits import OrderLimits

        return OrderLimits.worker() if in_worker else OrderLimits.gateway()

    return orders_over(minded, table, thinkers, abilities, settings, clock, limits=limits)


def stack_order_names(settings: "Settings") -> OrderNames:
    """Return the names of a stack's orders, read without the SDK: a list of tools asks for one."""

    @cache
    def items() -> "SignedGet":
        from nacre.adapters.aws.dynamodb.get import SignedGet
        from nacre.wiring.signed_requests import signed

        return signed(SignedGet, settings.data_table, settings)

    def lookup(being_id: str) -> str | None:
        from nacre.access.beings import order_name_in
        from nacre.ports.items.table import Key

        return order_name_in(items().get(Key(f"B#{being_id}", "META")))

    return order_names(lookup, settings)


def orders_over(
    minded: Callable[[], Minded],
    table: "Callable[[], Table]",
    thinkers: "Callable[[], Thinkers]",
    abilities: "Callable[[], MediaAbilities]",
    settings: "Settings",
    clock: "Clock",
    *,
    limits: "Callable[[], OrderLimits]",
    holders: "Callable[[], Holders] | None" = None,
) -> Ordering:
    """Return the orders over these stores; everything is made by the first of them."""

    def make(surface: "Callable[[], Surface]") -> "Orders":
        from random import SystemRandom

        from nacre.being.orders.order.order_notes import OrderNoting
        from nacre.being.orders.order.order_record import Keeping
        from nacre.being.orders.order.run import Orders
        from nacre.being.orders.sessions.store import SessionStore
        from nacre.being.orders.transcription import PaidTranscriber
        from nacre.core.limits import SESSION_LEASE_SECONDS
        from nacre.jobs.lease import Leases
        from nacre.wiring.features.models import transcription_spending

        items = table()
        hearing = transcription_spending(settings, items, clock)
        known = Once(abilities)

        def abilities_of(being_id: str) -> "MediaAbilities":
            found = known()
            if found.transcriber is None:
                return found
            return replace(found, transcriber=PaidTranscriber(found.transcriber, hearing, being_id))

        duration = timedelta(seconds=SESSION_LEASE_SECONDS)
        held = holders() if holders else None
        leases = Leases(items, now=clock, duration=duration, holders=held)
        mind = minded().mind
        memory = mind.memory
        noting = OrderNoting(memory.history, memory.scenes, memory.trigger, clock)
        sessions, rng = SessionStore(items, leases, clock=clock), SystemRandom()
        return Orders(
            surface=surface,
            context=mind.context,
            recollection=mind.recollection,
            keeping=Keeping(noting, sessions, clock, rng),
            sessions=sessions,
            thinkers=thinkers(),
            chats=chats(settings),
            abilities=abilities_of,
            limits=limits(),
            clock=clock,
            rng=rng,
        )

    return Ordering(make)


def chats(settings: "Settings") -> "Callable[[str], Chat]":
    """Return what opens a conversation with the model that a key belongs to."""

    def opened() -> "Callable[[str], Chat]":
        from nacre.adapters.openai.chat import OpenAIChats
        from nacre.wiring.features.models import provider

        known = OpenAIChats()

        def chat(key: str) -> "Chat":
            base_url, name = provider(key, settings)
            return known.open(name, key=key, base_url=base_url)

        return chat

    once = Once(opened)

    def open_chat(key: str) -> "Chat":
        if find_spec("openai") is None:
            missing = (
                "the openai package is not installed; "
                "in the clone: make setup, or pip install '.[openai]'"
            )
            raise ModelError("unavailable", missing)
        return once()(key)

    return open_chat
