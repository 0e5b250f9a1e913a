"""Build the order tool, and the parts that carry out orders.

Modules for models and media are imported at the first order.
"""

from collections.abc import Callable
from datetime import timedelta
from functools import cache, partial
from typing import TYPE_CHECKING

from nacre.being.orders.order_surface import OrderNames, OrderSurface
from nacre.being.tools.order_definition import DEFAULT_ORDER_NAME, order_definition
from nacre.core.errors import ModelError
from nacre.core.lazy_dataclasses import replace
from nacre.core.limits import ORDER_NAME_SECONDS

if TYPE_CHECKING:
    from nacre.adapters.openai.chat import OpenAIChats
    from nacre.being.memory.services import MemoryServices
    from nacre.being.orders.media.chat_parts import MediaAbilities
    from nacre.being.orders.order.run import Orders
    from nacre.being.patrol.planning.model_choice import ModelAccess
    from nacre.ports.chat import Chat
    from nacre.protocol.surface import Surface
    from nacre.sdk.tool import Tool
    from nacre.wiring.ports import Ports
    from nacre.wiring.settings import Settings


def with_orders(
    server: "Surface",
    ports: "Ports",
    settings: "Settings",
    orders: "Callable[[], Orders]",
    *,
    name: str = "",
) -> OrderSurface:
    """Return a server with the tool that takes orders.

    The tool is called `name`. Without it, the Being's own choice counts, then the settings.
    """

    def lookup(being_id: str) -> str | None:
        from nacre.access.beings import order_name_in

        return name or order_name_in(ports.read((f"B#{being_id}", "META")))

    # On a stack each lookup is a read over the network, so names are cached.
    seconds = ORDER_NAME_SECONDS if ports.is_stack else 0.0
    names = OrderNames(lookup, settings.order_name or DEFAULT_ORDER_NAME, seconds=seconds)

    def tool_named(tool_name: str) -> "Tool":
        from nacre.being.tools.order import order

        return order(tool_name, orders, links=links)

    links = has_media_links(ports, settings)
    definition = partial(order_definition, links=links)
    return OrderSurface(server, names, tool_named, definition)


def has_media_links(ports: "Ports", settings: "Settings") -> bool:
    """Return whether large media may pass by links."""
    return ports.is_stack and settings.media_links


def build_orders(
    ports: "Ports",
    settings: "Settings",
    surface: "Callable[[], Surface]",
    services: "MemoryServices",
    model_access: "ModelAccess",
    abilities: "MediaAbilities | None" = None,
) -> "Orders":
    """Return the part that carries out orders.

    The model calls tools through `surface`, the server behind its policy, so its calls are decided
    like any other. Without `abilities`, those of the settings are used.
    """
    from nacre.being.orders.media.linked_media import LinkedMedia
    from nacre.being.orders.order.order_record import OrderRecorder
    from nacre.being.orders.order.run import Orders
    from nacre.being.orders.sessions.store import SessionStore
    from nacre.being.orders.transcription import BudgetedTranscriber
    from nacre.core.limits import SESSION_LEASE_SECONDS
    from nacre.jobs.lease import Leases
    from nacre.wiring.features.media import media_abilities
    from nacre.wiring.features.models import transcription_spending

    table, clock = ports.data, ports.clock
    spending = transcription_spending(settings, table, clock)
    shared = abilities or media_abilities(
        settings, key=lambda: ports.secret_at(settings.transcribe_secret)
    )

    def abilities_of(being_id: str) -> "MediaAbilities":
        if shared.transcriber is None:
            return shared
        transcriber = BudgetedTranscriber(shared.transcriber, spending, being_id)
        return replace(shared, transcriber=transcriber)

    duration = timedelta(seconds=SESSION_LEASE_SECONDS)
    leases = Leases(table, now=clock, duration=duration, holders=ports.holders)
    memory = services.memory
    sessions = SessionStore(table, leases, clock=clock)
    recorder = OrderRecorder(
        memory.history, memory.scenes, memory.trigger, sessions, services.writers, clock, ports.rng
    )
    limits, linked = ports.order_limits, None
    if has_media_links(ports, settings):
        linked = LinkedMedia(table, lambda: ports.media_links, clock, ports.rng)
        limits = replace(limits, media=limits.media.with_links())
    return Orders(
        surface=surface,
        context=services.context,
        queries=services.queries,
        recorder=recorder,
        sessions=sessions,
        models=model_access,
        chats=chats(settings),
        abilities=abilities_of,
        limits=limits,
        clock=clock,
        rng=ports.rng,
        linked=linked,
    )


def chats(settings: "Settings") -> "Callable[[str], Chat]":
    """Return the function that opens a conversation with the model that a key belongs to."""

    @cache
    def shared() -> "OpenAIChats":
        from nacre.adapters.openai.chat import OpenAIChats
        from nacre.wiring.outgoing import outgoing_of

        return OpenAIChats(outgoing_of(settings))

    def open_chat(key: str) -> "Chat":
        from importlib.util import find_spec

        from nacre.wiring.features.models import MISSING_OPENAI, provider

        if find_spec("openai") is None:
            raise ModelError("unavailable", MISSING_OPENAI)
        base_url, name = provider(key, settings)
        return shared().open(name, key=key, base_url=base_url)

    return open_chat
