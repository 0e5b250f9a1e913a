"""A surface whose list holds a few tools, through which all others are found and called.

A call through `call_tool` is turned into the call of the tool that it names before anything else
sees it, so scopes, rules, pins, the audit, tasks and progress treat both in the same way.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from nacre.access.scopes import reads
from nacre.core.bounded_cache import BoundedCache
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import TOOLS_ON_DEMAND
from nacre.gateway.qualified_names import PREFIX, server_of
from nacre.protocol.large_calls import in_full
from nacre.protocol.principal import Principal
from nacre.protocol.surface import Definitions, GatheringSource, Surface, WireTool, part_of
from nacre.protocol.wrapped_surface import WrappedSurface

if TYPE_CHECKING:
    from nacre.gateway.on_demand.search import ToolSearch

FIND, DESCRIBE, READ, CALL = "find_tools", "describe_tools", "call_reading_tool", "call_tool"
NAMES = frozenset({FIND, DESCRIBE, READ, CALL})
Mode = Literal["auto", "search", "all"]
_MAX_LISTS = 256  # of callers who see different tools


@dataclass(frozen=True, slots=True)
class ShortList:
    """A caller's list, and the tools to search: those of other servers, and hidden own ones."""

    every: Definitions
    listed: Definitions
    searched: Definitions
    is_short: bool


class OnDemandSurface(WrappedSurface):
    """Hides tools from the list, in the mode `auto` where other servers have very many.

    `visible` are globs of names that always stay in the list; None keeps the own tools.
    """

    def __init__(
        self,
        inner: Surface,
        search: "Callable[[], ToolSearch]",
        *,
        mode: Mode = "auto",
        visible: tuple[str, ...] | None = None,
    ) -> None:
        super().__init__(inner)
        self._gathering = inner if isinstance(inner, GatheringSource) else None
        self._search = search
        self._mode = mode
        self._visible = visible
        self._lists: BoundedCache[int, ShortList] = BoundedCache(_MAX_LISTS)
        self._own: dict[str, WireTool] = {}
        self._parts: BoundedCache[int, OnDemandSurface] = BoundedCache(_MAX_LISTS)

    def part_for(self, principal: Principal) -> Surface:
        """Return the part that a caller in a profile sees, with its own short list."""
        inner = part_of(self._inner, principal)
        if inner is self._inner:
            return self
        part = self._parts.get(id(inner))
        if part is None or part._inner is not inner:
            part = OnDemandSurface(inner, self._search, mode=self._mode, visible=self._visible)
            self._parts[id(inner)] = part
        return part

    # Lists.

    def is_gathered(self) -> bool:
        """Tell whether the lists can be given at once."""
        return self._gathering is None or self._gathering.is_gathered()

    def gather(self, principal: Principal | None) -> None:
        """Fetch missing lists."""
        if self._gathering is not None:
            self._gathering.gather(principal)

    def list_meta(self) -> Mapping[str, Any] | None:
        """Return the metadata of the lists."""
        return None if self._gathering is None else self._gathering.list_meta()

    def tools(self) -> Definitions:
        """Return the list without a caller."""
        return self._shortened(super().tools()).listed

    def tools_for(self, principal: Principal | None) -> Definitions:
        """Return the list of a caller; the same object while nothing changed for it."""
        short = self._shortened(super().tools_for(principal))
        if short.is_short:
            self._search().prepare(short.searched)
        return short.listed

    def searched_tools(self, principal: Principal | None) -> Definitions:
        """Return the tools that a caller may find; the same object while nothing changed."""
        if not self.is_gathered():
            self.gather(principal)
        return self._shortened(super().tools_for(principal)).searched

    def found(self, tools: Definitions, query: str) -> list[Mapping[str, Any]]:
        """Return the tools that a request is about, best first."""
        return self._search().find(tools, query)

    def _shortened(self, every: Definitions) -> ShortList:
        short = self._lists.get(id(every))
        if short is None or short.every is not every:
            short = self._lists[id(every)] = self._new_list(every)
        return short

    def _new_list(self, every: Definitions) -> ShortList:
        names = [str(entry["name"]) for entry in every]
        hidden = {name for name in names if not self._stays(name)}
        searched = tuple(
            entry
            for name, entry in zip(names, every, strict=True)
            if name in hidden or name.startswith(PREFIX)
        )
        is_short = bool(hidden) and (len(hidden) > TOOLS_ON_DEMAND or self._mode == "search")
        if not is_short:
            return ShortList(every, every, searched, is_short)
        from nacre.gateway.on_demand.definitions import definitions  # noqa: PLC0415 - see get_tool

        visible = [entry for name, entry in zip(names, every, strict=True) if name not in hidden]
        counts = Counter(server_of(name) or self.name for name in names if name in hidden)
        return ShortList(every, (*visible, *definitions(counts)), searched, is_short)

    def _stays(self, name: str) -> bool:
        if self._visible is None:
            return not name.startswith(PREFIX)
        from nacre.firewall.rules.globs.matching import matches  # noqa: PLC0415 - see get_tool

        return any(matches(glob, name) for glob in self._visible)

    # Calls.

    def get_tool(self, name: str) -> WireTool | None:
        """Return the tool, None for an unknown name."""
        if name not in NAMES:
            return self._inner.get_tool(name)
        tool = self._own.get(name)
        if tool is None:
            # A start pays for nothing that reads texts.
            from nacre.gateway.on_demand.tools import OnDemandTool  # noqa: PLC0415

            tool = self._own[name] = OnDemandTool(name, self)
        return tool

    def redirects(self, name: str) -> bool:
        """Tell whether calls of this tool stand for calls of other ones."""
        return name in (CALL, READ)

    def redirected(
        self, name: str, arguments: Mapping[str, Any]
    ) -> tuple[str, Mapping[str, Any]] | None:
        """Return the call that a call through `call_tool` stands for, or None.

        It is None also for a call that cannot be made; the tool `call_tool` itself says why.
        """
        if not self.redirects(name):
            return None
        fields = in_full(arguments)
        target, inner = fields.get("name"), fields.get("arguments")
        if inner is None:
            inner = {}
        if not isinstance(target, str) or not isinstance(inner, dict):
            return None
        tool = self._callable(target)
        if tool is None or (name == READ and not reads(target, marked_read_only=tool.read_only)):
            return None
        return target, inner

    def reads(self, name: str) -> bool:
        """Tell whether a tool only reads, by our own configuration."""
        tool = self._callable(name)
        return tool is not None and reads(name, marked_read_only=tool.read_only)

    def is_known(self, name: str) -> bool:
        """Tell whether there is a tool of this name to call."""
        return self._callable(name) is not None

    def _callable(self, name: str) -> WireTool | None:
        """Return a tool that may be called through another one, or None.

        Tools for views are for a person's clicks, never for a model.
        """
        is_barred = name in NAMES or name in self.view_names()
        return None if is_barred else self._inner.get_tool(name)
