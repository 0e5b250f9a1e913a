"""Notifications about changes: in the lists that clients see and the resources they follow.

Another process may approve tools, add servers or edit a policy. So while there is a client to
notify, one thread compares the lists of each client with those that it saw last.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from nacre.core.bounded_cache import BoundedCache
from nacre.core.errors import (
    InvalidParamsError,
    NacreError,
    RateLimitedError,
    UnavailableError,
    UnknownProfileError,
)
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.core.limits import (
    ADMISSION_SECONDS,
    CHANGES_SECONDS,
    FOLLOWED_RESOURCES,
    RECENT_SECONDS,
    SUBSCRIPTIONS,
    SUBSCRIPTIONS_OF_TOKEN,
)
from nacre.protocol.principal import Principal
from nacre.protocol.surface import (
    Definitions,
    GatheringSource,
    SelectiveSource,
    Surface,
    VersionedSource,
    part_of,
)

Tell = Callable[[str, Mapping[str, Any]], None]
"""Takes the method and the parameters of a notification; must not block."""

End = Callable[[NacreError | None], None]
"""Ends a subscription: with the error, or with None when the server stops; must not block."""

_LISTS: Mapping[str, tuple[str, str]] = {
    "tools": ("toolsListChanged", "notifications/tools/list_changed"),
    "prompts": ("promptsListChanged", "notifications/prompts/list_changed"),
    "resources": ("resourcesListChanged", "notifications/resources/list_changed"),
    "resourceTemplates": ("resourcesListChanged", "notifications/resources/list_changed"),
}
_AGAIN_SECONDS = 60
_PAUSE_SECONDS = 0.1  # between two looks, however many tools run
_UPDATED = "notifications/resources/updated"


def definitions(surface: Surface, kind: str, principal: Principal | None) -> Definitions:
    """Return a list as this caller sees it."""
    surface = part_of(surface, principal)
    match kind:
        case "tools":
            if isinstance(surface, SelectiveSource):
                return surface.tools_for(principal)
            return surface.tools()
        case "prompts":
            return surface.prompts()
        case "resources":
            return surface.resources()
        case _:
            return surface.resource_templates()


@dataclass(slots=True)
class Seen:
    """The lists that a client saw last, and the versions of the resources it follows.

    A client that has a stream only while a call runs is told by `tells` then, and what it
    missed is `pending`.
    """

    lists: dict[str, Definitions] = field(default_factory=dict)
    versions: dict[str, object] = field(default_factory=dict)
    tells: list[Tell] = field(default_factory=list)
    pending: dict[tuple[str, str], None] = field(default_factory=dict)

    def miss(self, method: str, params: Mapping[str, Any]) -> None:
        """Keep a notification until the client can be told."""
        self.pending[method, str(params.get("uri", ""))] = None


@dataclass(eq=False, slots=True)
class Watch:
    """One client that is told."""

    principal: Principal | None
    seen: Seen
    tell: Tell
    end: End
    readmit: Callable[[], object] | None = None
    admitted: float = field(default_factory=time.monotonic)


class Changes:
    """Looks for changes while somebody is to be told; any number of threads may use it."""

    def __init__(
        self,
        surface: Surface,
        *,
        seconds: float = CHANGES_SECONDS,
        admission_seconds: float = ADMISSION_SECONDS,
    ) -> None:
        self._surface = surface
        self._seconds = seconds
        self._admission_seconds = admission_seconds
        self._guard = threading.Condition()
        self._watches: list[Watch] = []
        self._recent: BoundedCache[int, tuple[float, Principal | None, Seen]] = BoundedCache(
            SUBSCRIPTIONS
        )
        self._is_open = True
        self._is_looking = False
        self._is_due = False

    @contextmanager
    def watching(
        self,
        principal: Principal | None,
        seen: Seen,
        tell: Tell,
        end: End = lambda _: None,
        readmit: Callable[[], object] | None = None,
    ) -> Iterator[None]:
        """Tell a client what changes until the block ends; `end` is called when the server stops.

        `readmit` raises an error if the client is no longer admitted. It is called before each
        notification and now and then. The client then hears nothing more, and `end` is called.

        Raises RateLimitedError when there are too many subscriptions already.
        """
        watch = Watch(principal, seen, tell, end, readmit)
        self._add(watch)
        try:
            yield
        finally:
            with self._guard:
                self._watches.remove(watch)
                self._guard.notify_all()

    def remember(self, principal: Principal | None, seen: Seen) -> None:
        """Look for changes for a while, for a client without its own stream."""
        if not (seen.lists or seen.versions):
            return
        with self._guard:
            self._recent[id(seen)] = (time.monotonic(), principal, seen)
            self._start()

    def baseline(self, principal: Principal | None, requested: "Wanted") -> Seen:
        """Return the present state of a client's lists and resources; may wait for servers."""
        self._gather([principal])
        seen = Seen()
        for kind in requested.kinds:
            seen.lists[kind] = definitions(self._surface, kind, principal)
        for uri in requested.uris:
            self.follow(principal, seen, uri)
        return seen

    def follow(self, principal: Principal | None, seen: Seen, uri: str) -> bool:
        """Follow a resource from now on; return False if its changes cannot be noticed."""
        if len(seen.versions) >= FOLLOWED_RESOURCES and uri not in seen.versions:
            raise InvalidParamsError(f"at most {FOLLOWED_RESOURCES} resources can be followed")
        version = self._version(principal, uri)
        if version is not None:
            seen.versions[uri] = version
        return version is not None

    def soon(self) -> None:
        """Look at once: a tool has run, which may have changed what is offered."""
        with self._guard:
            self._is_due = True
            self._guard.notify_all()

    def look(self) -> None:
        """Tell every client what has changed since the last look."""
        with self._guard:
            watches = list(self._watches)
            oldest = time.monotonic() - RECENT_SECONDS
            for key in [key for key, (at, _, _) in self._recent.items() if at < oldest]:
                del self._recent[key]
            recent = [(principal, seen) for _, principal, seen in self._recent.values()]
        clients = [*((watch.principal, watch.seen) for watch in watches), *recent]
        self._gather([principal for principal, seen in clients if seen.lists])
        for watch in watches:
            news = list(self._news(watch.principal, watch.seen))
            if self._is_admitted(watch, has_news=bool(news)):
                for method, params in news:
                    watch.tell(method, params)
        for principal, seen in recent:
            for method, params in self._news(principal, seen):
                tells = seen.tells[-1:]
                (tells[0] if tells else seen.miss)(method, params)

    def close(self) -> None:
        """End every subscription, for good."""
        with self._guard:
            self._is_open = False
            watches = list(self._watches)
            self._guard.notify_all()
        for watch in watches:
            watch.end(None)

    def _add(self, watch: Watch) -> None:
        with self._guard:
            if not self._is_open:
                raise UnavailableError("the server is stopping")
            of_token = sum(_subject(other) == _subject(watch) for other in self._watches)
            if len(self._watches) >= SUBSCRIPTIONS or of_token >= SUBSCRIPTIONS_OF_TOKEN:
                raise RateLimitedError("subscriptions of this token", seconds=_AGAIN_SECONDS)
            self._watches.append(watch)
            self._start()

    def _start(self) -> None:
        if not self._is_looking:
            self._is_looking = True
            threading.Thread(target=self._run, name="changes", daemon=True).start()

    def _run(self) -> None:
        while True:
            self._is_due = False
            with suppress(Exception):  # what cannot be read now is compared at the next look
                self.look()
            with self._guard:
                self._guard.wait_for(lambda: not self._is_needed(), _PAUSE_SECONDS)
                self._guard.wait_for(
                    lambda: self._is_due or not self._is_needed(), self._seconds - _PAUSE_SECONDS
                )
                if not self._is_needed():
                    self._is_looking = False
                    return

    def _is_needed(self) -> bool:
        return self._is_open and bool(self._watches or self._recent)

    def _gather(self, principals: Sequence[Principal | None]) -> None:
        surface = self._surface
        if isinstance(surface, GatheringSource) and principals and not surface.is_gathered():
            for principal in principals:
                surface.gather(principal)

    def _news(
        self, principal: Principal | None, seen: Seen
    ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        methods = set()
        for kind, old in list(seen.lists.items()):
            try:
                now = definitions(self._surface, kind, principal)
            except UnknownProfileError:
                now = ()  # it is gone, and may come back
            if now is old or now == old:
                continue
            seen.lists[kind] = now
            method = _LISTS[kind][1]
            if method not in methods:
                methods.add(method)
                yield method, {}
        for uri, version in list(seen.versions.items()):
            current = self._version(principal, uri)
            if current is not None and current != version and uri in seen.versions:
                seen.versions[uri] = current
                yield _UPDATED, {"uri": uri}

    def _is_admitted(self, watch: Watch, *, has_news: bool) -> bool:
        now = time.monotonic()
        is_due = has_news or now >= watch.admitted + self._admission_seconds
        if watch.readmit is None or not is_due:
            return True
        try:
            watch.readmit()
        except NacreError as error:
            watch.end(error)
            return False
        watch.admitted = now
        return True

    def _version(self, principal: Principal | None, uri: str) -> object | None:
        try:
            surface = part_of(self._surface, principal)
            if not isinstance(surface, VersionedSource):
                return None
            return surface.resource_version(uri, principal)
        except NacreError:
            return None  # it cannot be read now


@dataclass(frozen=True, slots=True)
class Wanted:
    """The changes that a client asks to be notified of."""

    kinds: tuple[str, ...]
    uris: tuple[str, ...]

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> "Wanted":
        """Read the parameters of `subscriptions/listen`; raises InvalidParamsError."""
        notifications = params.get("notifications")
        if not isinstance(notifications, Mapping):
            raise InvalidParamsError("subscriptions/listen: 'notifications' must be an object")
        for name in {name for name, _ in _LISTS.values()}:
            if not isinstance(notifications.get(name, False), bool | None):
                raise InvalidParamsError(
                    f"subscriptions/listen: 'notifications.{name}' must be true or false"
                )
        uris = notifications.get("resourceSubscriptions") or []
        if not isinstance(uris, list) or not all(isinstance(uri, str) for uri in uris):
            raise InvalidParamsError(
                "subscriptions/listen: 'notifications.resourceSubscriptions' must be a list of URIs"
            )
        if len(uris) > FOLLOWED_RESOURCES:
            raise InvalidParamsError(
                "subscriptions/listen: 'notifications.resourceSubscriptions' has at most "
                f"{FOLLOWED_RESOURCES} URIs"
            )
        kinds = tuple(kind for kind, (name, _) in _LISTS.items() if notifications.get(name))
        return cls(kinds, tuple(dict.fromkeys(uris)))


def honoured(seen: Seen) -> dict[str, Any]:
    """Return the notifications that a client will get, as the acknowledgement names them."""
    notifications: dict[str, Any] = {_LISTS[kind][0]: True for kind in seen.lists}
    if seen.versions:
        notifications["resourceSubscriptions"] = list(seen.versions)
    return notifications


def _subject(watch: Watch) -> str:
    return watch.principal.subject if watch.principal else ""
