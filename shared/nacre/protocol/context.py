"""One call as its handler sees it, and the channel back to the client."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from nacre.core.coroutines import is_in_loop
from nacre.core.errors import ClientCapabilityError, ClientExtensionError, InvalidParamsError
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.protocol.messages import RequestId
from nacre.protocol.principal import Principal
from nacre.protocol.versions import LEGACY_VERSIONS, MODERN, TASKS

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

# What a client must have declared to be asked, by the request's method.
_CAPABILITY_OF = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}


def log_level(level: object) -> str:
    """Return the level if it is one; raises InvalidParamsError otherwise."""
    if not isinstance(level, str) or level not in LOG_LEVELS:
        raise InvalidParamsError(f"the log level must be one of {', '.join(LOG_LEVELS)}")
    return level


def capability_of(method: str) -> str:
    """Return the capability a client must have declared to be sent this request."""
    return _CAPABILITY_OF[method]


class InputRequired(Exception):  # noqa: N818 - a question to the client, not an error
    """The handler needs the client's answers to these requests before it can continue."""

    def __init__(self, requests: Mapping[str, Mapping[str, Any]]) -> None:
        super().__init__("input required")
        self.requests = requests


class TaskWanted(Exception):  # noqa: N818 - as above
    """The handler continues as a task: it runs again from its start in the worker.

    Tasks of one group run one after the other.
    """

    def __init__(self, group: str | None = None) -> None:
        super().__init__("task wanted")
        self.group = group


class TaskRun(Protocol):
    """One attempt at a task, as its handler sees it."""

    @property
    def id(self) -> str:
        """The task's id, the same at every attempt."""
        ...

    @property
    def attempt(self) -> int:
        """The number of this attempt; the first is 1."""
        ...

    @property
    def notes(self) -> Mapping[str, Any]:
        """The notes of earlier attempts."""
        ...

    def keep(self, notes: Mapping[str, Any]) -> None:
        """Keep these notes in place of the earlier ones, durably; at most 32 kB of JSON."""
        ...

    def makes(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        """Tell whether this call is the task itself, and not a call that its handler makes."""
        ...

    def go_on_later(self) -> NoReturn:
        """End this attempt to let other work run; the next attempt begins soon."""
        ...

    async def wait_for(
        self, requests: Mapping[str, Mapping[str, Any]]
    ) -> Mapping[str, dict[str, Any]]:
        """Return the client's answers to these requests, while this attempt goes on."""
        ...


class Channel(Protocol):
    """The way back to the client while a call runs."""

    @property
    def can_ask(self) -> bool:
        """True if the client can answer requests now."""
        ...

    @property
    def cancelled(self) -> bool:
        """True if the client has cancelled the call."""
        ...

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification that belongs to the call."""
        ...

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return the client's result.

        Raises ClientCapabilityError when the client refuses it, UnavailableError
        when it does not answer in time.
        """
        ...


class Silence:
    """A channel with nobody at the other end."""

    can_ask = False
    cancelled = False

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Drop the notification."""

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Refuse: nobody can answer."""
        raise ClientCapabilityError(capability_of(method))


_SILENCE: Channel = Silence()


def _no_level() -> None:
    return None


@dataclass(slots=True, kw_only=True)
class Context:
    """One call: who makes it, what the client can do, and the way back to it."""

    request_id: RequestId | None = None
    version: str = LEGACY_VERSIONS[0]
    principal: Principal | None = None
    client_info: Mapping[str, Any] = field(default_factory=dict)
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    llm_api_key: str | None = field(default=None, repr=False)
    # Called when something is logged: to know the level may take a read.
    wanted_level: Callable[[], str | None] = field(default=_no_level, repr=False)
    progress_token: RequestId | None = None
    answers: Mapping[str, dict[str, Any]] = field(default_factory=dict, repr=False)
    # What a handler wants to find again when it is run once more with the answers; it
    # travels sealed, and is empty in the first round.
    handler_state: dict[str, Any] = field(default_factory=dict, repr=False)
    channel: Channel = field(default=_SILENCE, repr=False)
    # Whether the caller takes a task in place of a result.
    takes_task: bool = False
    task: TaskRun | None = None  # set where the call runs as one
    # Whether a task waits here for answers, because what it has begun cannot be begun again.
    waits_here: bool = False
    via: str | None = None  # the tool through which the client called this one
    # The caller's trace, as `trace_of` returns it.
    trace: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def detached(cls) -> "Context":
        """Return a context for a call in process, with no client behind it."""
        return cls()

    @property
    def log_level(self) -> str | None:
        """The least important level that the client wants to hear of, None for nothing."""
        return self.wanted_level()

    @property
    def cancelled(self) -> bool:
        """True if the client has cancelled the call; long work should stop."""
        return self.channel.cancelled

    def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Tell the client how far the call is; does nothing unless it asked to know."""
        if self.progress_token is None:
            return
        params: dict[str, Any] = {"progressToken": self.progress_token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        self.channel.notify("notifications/progress", params)

    def log(self, level: str, data: Any, logger: str | None = None) -> None:
        """Send a log message to the client; does nothing below the level it asked for."""
        least = self.log_level
        if least is None or LOG_LEVELS.index(level) < LOG_LEVELS.index(least):
            return
        params: dict[str, Any] = {"level": level, "data": data}
        if logger is not None:
            params["logger"] = logger
        self.channel.notify("notifications/message", params)

    def require(self, capability: str) -> None:
        """Raise ClientCapabilityError unless the client declared the capability."""
        if capability not in self.capabilities:
            raise ClientCapabilityError(capability)

    async def as_task(self, group: str | None = None, *, required: bool = False) -> None:
        """Go on as a task where the caller takes one, else here and now.

        As a task the call ends here and is made again by the worker, where this returns at
        once; so what a handler does before it must be repeatable. Tasks of one group run one
        after the other. With `required` a caller that takes no task meets
        ClientExtensionError. A token that only reads gets a task where one is required only.
        """
        if self.task is not None:
            return
        may_write = self.principal is not None and self.principal.may_write
        if self.takes_task and (may_write or required):
            raise TaskWanted(group)
        if required:
            raise ClientExtensionError(TASKS)

    async def ask(self, requests: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        """Return the client's answer to each request, by its key.

        A request is `{"method": "elicitation/create", "params": {...}}`, or
        `sampling/createMessage`, or `roots/list`. With a modern client the call
        ends here and is made again with the answers, so what a handler does
        before `ask` must be repeatable, unless it `waits_here`. Raises
        ClientCapabilityError when the client cannot be asked, InvalidParamsError when its answer
        does not fit the question.
        """
        for request in requests.values():
            self.require(capability_of(request["method"]))
        if self.version == MODERN:
            missing = {key: request for key, request in requests.items() if key not in self.answers}
            client_answers = self.answers
            if missing and self.waits_here and self.task is not None:
                client_answers = {**client_answers, **await self.task.wait_for(missing)}
            elif missing:
                raise InputRequired(missing)
            answers = {key: client_answers[key] for key in requests}
        else:
            answers = {
                key: await self.channel.ask(request["method"], dict(request.get("params", {})))
                for key, request in requests.items()
            }
        from nacre.protocol.client_answers import check_answer  # noqa: PLC0415 - see there

        for key, request in requests.items():
            check_answer(key, request, answers[key])
        return answers


class WrappedChannel:
    """A channel that passes everything on to another one; subclasses change a part of it."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    @property
    def can_ask(self) -> bool:
        """True if the client can answer requests now."""
        return self._channel.can_ask

    @property
    def cancelled(self) -> bool:
        """True if the client has cancelled the call."""
        return self._channel.cancelled

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification that belongs to the call."""
        self._channel.notify(method, params)

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return the client's result."""
        return await self._channel.ask(method, params)


class LoopChannel(WrappedChannel):
    """A channel that lives in one event loop, for a handler in another loop or in a thread."""

    def __init__(self, channel: Channel, loop: "AbstractEventLoop") -> None:
        super().__init__(channel)
        self._loop = loop

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification from the channel's loop."""
        self._loop.call_soon_threadsafe(self._channel.notify, method, params)

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return the client's result; a thread without a loop is blocked."""
        import asyncio  # noqa: PLC0415 - as for Looper

        question = self._channel.ask(method, params)
        future = asyncio.run_coroutine_threadsafe(question, self._loop)
        return await asyncio.wrap_future(future) if is_in_loop() else future.result()
