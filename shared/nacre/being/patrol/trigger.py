"""What `trigger_patrol` does: take messages in, ask for a patrol, and wait a while for its end."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

from nacre.being.language_model.api_keys import checked_llm_key
from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import count_in, counters
from nacre.being.memory.model.message_chain import Said
from nacre.being.memory.patrol_trigger import PatrolTrigger
from nacre.being.memory.store.history import Added, History
from nacre.being.patrol.jobs import LEASE
from nacre.being.patrol.patrol import STEPS
from nacre.being.patrol.planning.model_choice import Thinkers
from nacre.being.patrol.run.runs import OPEN_RUN, RUN_SEQ, Run, Runs, run_id_of
from nacre.core.limits import PATROL_WAIT_SECONDS
from nacre.jobs.lease import Leases
from nacre.ports.items.table import Key, Table

_POLL_SECONDS = 0.25  # some hundred reads of one item, at the most
_BEGINS_SECONDS = 1.0  # whoever follows a patrol may be in the place of the one that would do it
_NOTHING = "nothing to do: no scene and no message waits"
_JOINED = "a patrol was running already; what was handed over now is taken when it has ended"
_NOT_YET = "the patrol goes on in the background: call trigger_patrol with [] to see how far it is"
_NOT_BEGUN = "the patrol is queued and has not begun"

Told = Callable[[int, int, str], None]
"""Is told how far a run is: the step, how many there are, and the step's name."""


class Spoken(Protocol):
    """A message as a tool is given it."""

    @property
    def role(self) -> str: ...
    @property
    def content(self) -> str: ...


def _silently(_step: int, _steps: int, _name: str) -> None:
    return


def _never() -> bool:
    return False


def steps() -> int:
    """Return the number of the last step, which closes the run."""
    return max((number for number, _, _ in STEPS), default=0) + 1


def step_after(step: int) -> str:
    """Return the name of what a run does once a step has decided."""
    return next((name for number, name, _ in STEPS if number > step), "finish")


@dataclass(frozen=True, slots=True)
class Asked:
    """A patrol that was asked for: the number its run has, or will have, and who does it."""

    seq: int
    attempts: int  # at patrols of this Being before it
    joined: bool = False  # it was running before


@dataclass(frozen=True, slots=True)
class Handed:
    """What was handed over to a patrol that has not ended."""

    notes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PatrolCalls:
    """Asks for patrols and tells what came of them; answers are what the model is shown."""

    table: Table
    history: History
    trigger: PatrolTrigger
    leases: Leases
    thinkers: Thinkers
    # Waiting is not time that the patrol knows of.
    sleep: Callable[[float], None] = field(default=time.sleep)
    monotonic: Callable[[], float] = field(default=time.monotonic)

    def take(
        self,
        being_id: str,
        messages: Iterable[Spoken],
        *,
        marker_id: str | None = None,
        llm_api_key: str | None = None,
        seconds: float = PATROL_WAIT_SECONDS,
        told: Told = _silently,
        given_up: Callable[[], bool] = _never,
    ) -> dict[str, Any]:
        """Store messages, and have a patrol turn what waits into memories.

        Returns once the patrol has ended, or while it runs when that takes longer than the caller
        waits. The key is for this patrol only, and is kept sealed until it has ended.
        """
        end = self.monotonic() + seconds
        added = self._stored(being_id, messages, marker_id, llm_api_key)
        asked = self.ask(being_id, llm_api_key=llm_api_key)
        if asked is None:
            return _answer(added, "ok", None, [_NOTHING])
        if asked.joined:
            return _answer(added, "running", Runs(self.table).at(being_id, asked.seq), [_JOINED])
        run = self.wait(being_id, asked, end=end, told=told, given_up=given_up)
        if run is None:
            queued = _answer(added, "running", None, [_NOT_BEGUN, _NOT_YET])
            return {**queued, "run_id": run_id_of(being_id, asked.seq)}
        if run.state == "open":
            return _answer(added, "running", run, [_NOT_YET])
        return _ended(added, run)

    def hand_over(
        self,
        being_id: str,
        messages: Iterable[Spoken],
        *,
        marker_id: str | None = None,
        llm_api_key: str | None = None,
    ) -> dict[str, Any]:
        """Store messages and ask for a patrol; return what `follow` needs, as JSON has it."""
        added = self._stored(being_id, messages, marker_id, llm_api_key)
        asked = self.ask(being_id, llm_api_key=llm_api_key)
        told = asdict(replace(added, messages=()))  # the messages themselves are of no use
        return {"added": told, "asked": None if asked is None else asdict(asked)}

    def follow(
        self,
        being_id: str,
        handed: Mapping[str, Any],
        *,
        llm_api_key: str | None = None,
        seconds: float = math.inf,
        patient: bool = True,
        told: Told = _silently,
        given_up: Callable[[], bool] = _never,
    ) -> dict[str, Any] | Handed:
        """Return the answer once the patrol of what was handed over has ended.

        When that takes longer than the caller waits, a patient one gets what to follow the next
        time. A patrol that was running already is followed by one that takes what it did not
        know of.
        """
        end = self.monotonic() + seconds
        added = Added(**handed["added"])
        if handed["asked"] is None:
            return _answer(added, "ok", None, [_NOTHING])
        asked = Asked(**handed["asked"])
        soon = min(end, self.monotonic() + _BEGINS_SECONDS)
        run = self.wait(being_id, asked, end=soon, told=told, given_up=given_up)
        if run is not None and run.state == "open" and self._is_at(being_id, asked.seq):
            run = self.wait(being_id, asked, end=end, told=told, given_up=given_up)
        if run is None or not self._has_ended(being_id, run, asked):
            still = _answer(added, "running", run, [_NOT_YET])
            return Handed(handed) if patient else still
        if asked.joined and run.state == "done":
            after = self.ask(being_id, llm_api_key=llm_api_key)
            if after is not None:
                return Handed({**handed, "asked": asdict(after)})
        return _ended(added, run)

    def _stored(
        self,
        being_id: str,
        messages: Iterable[Spoken],
        marker_id: str | None,
        llm_api_key: str | None,
    ) -> Added:
        if llm_api_key:
            checked_llm_key(llm_api_key)  # refused before anything is stored
        batch = [Said(message.role, message.content) for message in messages]
        return self.history.add(being_id, batch, marker_id=marker_id, for_patrol=True)

    def ask(
        self, being_id: str, *, llm_api_key: str | None = None, always: bool = False
    ) -> Asked | None:
        """Ask for a patrol of all that waits, or join the one that runs; None: nothing waits.

        With `always` a patrol runs even so, and its receipt says that there was nothing.
        Raises NotFoundError when there is no such Being, UnavailableError as the queue does.
        """
        meta = counters(self.table, being_id)
        attempts = self.leases.times_taken(lease_of(being_id))
        unfinished = meta.get(OPEN_RUN)
        if isinstance(unfinished, int) and self._is_at(being_id, unfinished):
            # What has come since that run began is for another one.
            given = self.thinkers.hand_over(being_id, llm_api_key)
            after = None if given else f"after-{run_id_of(being_id, unfinished)}"
            self.trigger.ask(being_id, repeat=after, **given)
            return Asked(unfinished, attempts, joined=True)
        if "gsi1pk" not in meta and not always:
            return None
        refs = {"always": "yes"} if always else {}
        self.trigger.ask(being_id, **refs, **self.thinkers.hand_over(being_id, llm_api_key))
        seq = unfinished if isinstance(unfinished, int) else count_in(meta, RUN_SEQ) + 1
        return Asked(seq, attempts)

    def wait(
        self,
        being_id: str,
        asked: Asked,
        *,
        end: float = math.inf,
        told: Told = _silently,
        given_up: Callable[[], bool] = _never,
    ) -> Run | None:
        """Return the run once it has ended, or as it is when nobody waits any longer."""
        said = -1
        while True:
            run = Runs(self.table).at(being_id, asked.seq)
            if run is not None:
                if self._has_ended(being_id, run, asked):
                    return run
                if run.step > said:
                    said = run.step
                    told(said, steps(), step_after(said))
            if self.monotonic() >= end or given_up():
                return run
            self.sleep(_POLL_SECONDS)

    def _is_at(self, being_id: str, seq: int) -> bool:
        """Whether a worker is at this run now."""
        run = Runs(self.table).at(being_id, seq)
        return run is not None and run.state == "open" and self.leases.is_held(lease_of(being_id))

    def _has_ended(self, being_id: str, run: Run, asked: Asked) -> bool:
        return run.state == "done" or self._is_blocked_again(being_id, run, asked)

    def _is_blocked_again(self, being_id: str, run: Run, asked: Asked) -> bool:
        """Whether a run that could not go on was tried since it was asked for."""
        return run.state == "blocked" and (
            self.leases.times_taken(lease_of(being_id)) > asked.attempts
            and not self.leases.is_held(lease_of(being_id))
        )


def lease_of(being_id: str) -> Key:
    """Return the lease under which a Being's patrols run."""
    return Key(keys.home(being_id), f"LOCK#{LEASE}")


def _ended(added: Added, run: Run) -> dict[str, Any]:
    return _answer(added, "ok" if run.state == "done" else "blocked", run, run.receipt.reasons)


def _answer(added: Added, status: str, run: Run | None, reasons: Sequence[str]) -> dict[str, Any]:
    receipt = None if run is None else run.receipt
    counts: Mapping[str, int] = {} if receipt is None else receipt.counts
    marker = added.marker_id or (None if receipt is None else receipt.marker_out)
    said = [reason for reason in (added.remark, *reasons) if reason]
    return {
        "status": status,
        "scenes_created": counts.get("scenes_created", 0),
        "nodes_created": counts.get("nodes_created", 0),
        "marker_id": marker or "",
        "run_id": None if receipt is None else receipt.run_id,
        "messages_stored": added.stored,
        "messages_known": added.known,
        "counts": dict(counts) or None,
        "reasons": said or None,
    }
