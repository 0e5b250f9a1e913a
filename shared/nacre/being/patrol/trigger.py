"""The requests of clients for a patrol: store messages, queue a patrol, and wait for its end."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from nacre.being.language_model.api_keys import checked_llm_key
from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import count_in, counters
from nacre.being.memory.model.message_chain import ChatMessage
from nacre.being.memory.patrol_trigger import PatrolTrigger
from nacre.being.memory.store.history import AddedMessages, History
from nacre.being.memory.writer_origins import WriterOrigins, origins_of_message
from nacre.being.patrol.jobs import LEASE
from nacre.being.patrol.patrol import STEPS
from nacre.being.patrol.planning.model_choice import ModelAccess
from nacre.being.patrol.run.runs import OPEN_RUN, RUN_SEQ, Run, Runs, run_id_of
from nacre.core.lazy_dataclasses import asdict, dataclass, field, replace
from nacre.core.limits import PATROL_WAIT_SECONDS
from nacre.jobs.lease import Leases
from nacre.ports.items.table import Key, Table
from nacre.ports.untrusted_results import Holder

_POLL_SECONDS = 0.25  # at most about a hundred reads of one item
_BEGINS_SECONDS = 1.0  # the caller may occupy the worker's only thread, so it waits no longer
_NOTHING = "nothing to do: no scene and no message waits"
_JOINED = "a patrol was running already; anything sent now is processed after it ends"
_NOT_YET = "the patrol goes on in the background: call trigger_patrol with [] to see how far it is"
_NOT_BEGUN = "the patrol is queued and has not begun"

OnProgress = Callable[[int, int, str], None]
"""Called with the progress of a run: the step, the number of steps, and the step's name."""


class IncomingMessage(Protocol):
    """A message as the tool receives it."""

    @property
    def role(self) -> str: ...
    @property
    def content(self) -> str: ...


def _ignore(_step: int, _steps: int, _name: str) -> None:
    return


def _never() -> bool:
    return False


def last_step() -> int:
    """Return the number of the last step, which closes the run."""
    return max((number for number, _, _ in STEPS), default=0) + 1


def step_after(step: int) -> str:
    """Return the name of the step that a run does after this one."""
    return next((name for number, name, _ in STEPS if number > step), "finish")


@dataclass(frozen=True, slots=True)
class PatrolRequest:
    """A requested patrol."""

    seq: int  # the number that its run has or will have
    attempts: int  # how many patrols of this Being were tried before it
    joined: bool = False  # whether the run was under way before the request


@dataclass(frozen=True, slots=True)
class UnfinishedPatrol:
    """A patrol that has not ended; `follow` continues it with the notes."""

    notes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PatrolRequests:
    """Requests patrols and reports their outcome, in the form that the model is shown."""

    table: Table
    history: History
    trigger: PatrolTrigger
    leases: Leases
    models: ModelAccess
    writers: WriterOrigins
    # Not the patrol's clock: tests move that one by hand.
    sleep: Callable[[float], None] = field(default=time.sleep)
    monotonic: Callable[[], float] = field(default=time.monotonic)

    def take(
        self,
        being_id: str,
        messages: Iterable[IncomingMessage],
        *,
        marker_id: str | None = None,
        llm_api_key: str | None = None,
        seconds: float = PATROL_WAIT_SECONDS,
        on_progress: OnProgress = _ignore,
        is_cancelled: Callable[[], bool] = _never,
        holder: Holder | None = None,
    ) -> dict[str, Any]:
        """Store messages, and request a patrol that turns what waits into memories.

        Returns when the patrol has ended, or earlier if it takes longer than the caller waits. The
        key is used for this patrol only, and is stored sealed until the patrol has ended. `holder`
        is the client that sends the messages, if it is one.
        """
        end = self.monotonic() + seconds
        added = self._store(being_id, messages, marker_id, llm_api_key, holder)
        request = self.ask(being_id, llm_api_key=llm_api_key)
        if request is None:
            return _answer(added, "ok", None, [_NOTHING])
        if request.joined:
            return _answer(added, "running", Runs(self.table).at(being_id, request.seq), [_JOINED])
        run = self.wait(
            being_id, request, end=end, on_progress=on_progress, is_cancelled=is_cancelled
        )
        if run is None:
            queued = _answer(added, "running", None, [_NOT_BEGUN, _NOT_YET])
            return {**queued, "run_id": run_id_of(being_id, request.seq)}
        if run.state == "open":
            return _answer(added, "running", run, [_NOT_YET])
        return _final_answer(added, run)

    def hand_over(
        self,
        being_id: str,
        messages: Iterable[IncomingMessage],
        *,
        marker_id: str | None = None,
        llm_api_key: str | None = None,
        holder: Holder | None = None,
    ) -> dict[str, Any]:
        """Store messages and request a patrol; return the notes for `follow`, as JSON values.

        `holder` is the client that sends the messages, if it is one.
        """
        added = self._store(being_id, messages, marker_id, llm_api_key, holder)
        request = self.ask(being_id, llm_api_key=llm_api_key)
        counted = asdict(replace(added, messages=()))
        return {"added": counted, "asked": None if request is None else asdict(request)}

    def follow(
        self,
        being_id: str,
        notes: Mapping[str, Any],
        *,
        llm_api_key: str | None = None,
        seconds: float = math.inf,
        patient: bool = True,
        on_progress: OnProgress = _ignore,
        is_cancelled: Callable[[], bool] = _never,
    ) -> dict[str, Any] | UnfinishedPatrol:
        """Return the answer when the patrol of these notes has ended.

        If that takes longer than the caller waits, a patient caller gets an UnfinishedPatrol to
        follow again. A patrol that was running already is followed by another, which takes the
        messages that came too late for it.
        """
        end = self.monotonic() + seconds
        added = AddedMessages(**notes["added"])
        if notes["asked"] is None:
            return _answer(added, "ok", None, [_NOTHING])
        request = PatrolRequest(**notes["asked"])
        soon = min(end, self.monotonic() + _BEGINS_SECONDS)
        run = self.wait(
            being_id, request, end=soon, on_progress=on_progress, is_cancelled=is_cancelled
        )
        if run is not None and run.state == "open" and self._is_at(being_id, request.seq):
            run = self.wait(
                being_id, request, end=end, on_progress=on_progress, is_cancelled=is_cancelled
            )
        if run is None or not self._has_ended(being_id, run, request):
            if patient:
                return UnfinishedPatrol(notes)
            return _answer(added, "running", run, [_NOT_YET])
        if request.joined and run.state == "done":
            next_request = self.ask(being_id, llm_api_key=llm_api_key)
            if next_request is not None:
                return UnfinishedPatrol({**notes, "asked": asdict(next_request)})
        return _final_answer(added, run)

    def _store(
        self,
        being_id: str,
        messages: Iterable[IncomingMessage],
        marker_id: str | None,
        llm_api_key: str | None,
        holder: Holder | None,
    ) -> AddedMessages:
        if llm_api_key:
            checked_llm_key(llm_api_key)  # refused before anything is stored
        messages = list(messages)
        self.writers.heard(holder, ((message.role, message.content) for message in messages))
        received = self.writers.of_text(holder)
        batch = [
            ChatMessage(
                message.role,
                message.content,
                origins_of_message(message.role, message.content, received),
            )
            for message in messages
        ]
        return self.history.add(being_id, batch, marker_id=marker_id, for_patrol=True)

    def ask(
        self, being_id: str, *, llm_api_key: str | None = None, always: bool = False
    ) -> PatrolRequest | None:
        """Request a patrol, or join the one that runs; return None if nothing waits.

        With `always`, a patrol is requested even then, and its receipt says that nothing waited.
        Raises NotFoundError if there is no such Being, and UnavailableError if the queue fails.
        """
        meta = counters(self.table, being_id)
        attempts = self.leases.times_taken(lease_key(being_id))
        unfinished = meta.get(OPEN_RUN)
        if isinstance(unfinished, int) and self._is_at(being_id, unfinished):
            # Scenes and messages since the beginning of that run are for another one.
            refs = self.models.hand_over(being_id, llm_api_key)
            after = None if refs else f"after-{run_id_of(being_id, unfinished)}"
            self.trigger.ask(being_id, dedupe_key=after, **refs)
            return PatrolRequest(unfinished, attempts, joined=True)
        if "gsi1pk" not in meta and not always:
            return None
        refs = {"always": "yes"} if always else {}
        self.trigger.ask(being_id, **refs, **self.models.hand_over(being_id, llm_api_key))
        seq = unfinished if isinstance(unfinished, int) else count_in(meta, RUN_SEQ) + 1
        return PatrolRequest(seq, attempts)

    def wait(
        self,
        being_id: str,
        request: PatrolRequest,
        *,
        end: float = math.inf,
        on_progress: OnProgress = _ignore,
        is_cancelled: Callable[[], bool] = _never,
    ) -> Run | None:
        """Return the run when it has ended, or as it is when the caller stops waiting."""
        reported = -1
        while True:
            run = Runs(self.table).at(being_id, request.seq)
            if run is not None:
                if self._has_ended(being_id, run, request):
                    return run
                if run.step > reported:
                    reported = run.step
                    on_progress(reported, last_step(), step_after(reported))
            if self.monotonic() >= end or is_cancelled():
                return run
            self.sleep(_POLL_SECONDS)

    def _is_at(self, being_id: str, seq: int) -> bool:
        """Return whether a worker does this run now."""
        run = Runs(self.table).at(being_id, seq)
        return run is not None and run.state == "open" and self.leases.is_held(lease_key(being_id))

    def _has_ended(self, being_id: str, run: Run, request: PatrolRequest) -> bool:
        return run.state == "done" or self._is_blocked_again(being_id, run, request)

    def _is_blocked_again(self, being_id: str, run: Run, request: PatrolRequest) -> bool:
        """Return whether a run has been tried since the request and is blocked again."""
        return run.state == "blocked" and (
            self.leases.times_taken(lease_key(being_id)) > request.attempts
            and not self.leases.is_held(lease_key(being_id))
        )


def lease_key(being_id: str) -> Key:
    """Return the key of the lease under which a Being's patrols run."""
    return Key(keys.home(being_id), f"LOCK#{LEASE}")


def _final_answer(added: AddedMessages, run: Run) -> dict[str, Any]:
    return _answer(added, "ok" if run.state == "done" else "blocked", run, run.receipt.reasons)


def _answer(
    added: AddedMessages, status: str, run: Run | None, reasons: Sequence[str]
) -> dict[str, Any]:
    receipt = None if run is None else run.receipt
    counts: Mapping[str, int] = {} if receipt is None else receipt.counts
    marker = added.marker_id or (None if receipt is None else receipt.marker_out)
    remarks = [reason for reason in (added.remark, *reasons) if reason]
    return {
        "status": status,
        "scenes_created": counts.get("scenes_created", 0),
        "nodes_created": counts.get("nodes_created", 0),
        "marker_id": marker or "",
        "run_id": None if receipt is None else receipt.run_id,
        "messages_stored": added.stored,
        "messages_known": added.known,
        "counts": dict(counts) or None,
        "reasons": remarks or None,
    }
