"""What a Being's patrol thinks with, by whose key: one sent along, its own, the deployment's."""

from collections.abc import Callable, Sequence

from nacre.being.language_model.api_keys import LlmKeys, checked_llm_key
from nacre.being.language_model.spending import Spending
from nacre.being.memory.model.types import Cluster, Message, Node, Scene
from nacre.being.patrol.planning.planner import ModelThinking
from nacre.being.patrol.planning.plans import (
    Digest,
    MergePlan,
    SceneDraft,
    SplitPlan,
    Thinking,
    Thought,
)
from nacre.core.errors import BrokenSealError, ConfigurationError
from nacre.jobs.job import Job
from nacre.ports.model import Model

KEY = "key"  # a job's reference to the key that was sent with the call behind it
TRIGGER = "trigger"
MANUAL = "manual"
_UNOPENED = "the Being's stored key does not open; set it again with 'nacre llm-key set'"


class Thinkers:
    """Chooses the key, and gives the thinking that uses it.

    A key that came with a call counts first, then the one that the Being keeps, then the
    deployment's. A patrol that nobody asked for uses the Being's own key or none: what the
    owner set for other calls is not spent, and no text is sent away, without being asked.
    """

    def __init__(
        self,
        llm_keys: LlmKeys,
        spending: Spending,
        models: Callable[[str], Model],
        *,
        deployment_key: Callable[[], str],
    ) -> None:
        self.keys = llm_keys
        self.spending = spending
        self._models = models
        self._deployment_key = deployment_key

    def for_call(self, being_id: str, sent: str | None) -> Thinking | None:
        """Return what a patrol in this call thinks with; None without any key.

        `sent` is X-LLM-API-Key, and raises InvalidInputError where it is no key.
        """
        if sent and sent.strip():
            return self._with(checked_llm_key(sent))
        return self._asked_for(being_id)

    def key_for_call(self, being_id: str, sent: str | None) -> str | None:
        """Return the key that counts in this call; None without any.

        Raises InvalidInputError where what was sent is no key, where the Being's own does not
        open, and where a setting names a secret that is not set.
        """
        if sent and sent.strip():
            return checked_llm_key(sent)
        try:
            own = self.keys.stored(being_id)
        except BrokenSealError:
            raise ConfigurationError(_UNOPENED) from None
        return own or self._deployment_key() or None

    def for_job(self, being_id: str, job: Job) -> Thinking | None:
        """Return what a queued patrol thinks with; None without any key that it may use."""
        reference = job.refs.get(KEY)
        try:
            sent = self.keys.of_run(being_id, reference) if reference else None
        except BrokenSealError:
            return NoThinking("the key of this run does not open; ask for the patrol again")
        if sent:
            return self._with(sent)
        if reference or job.refs.get(TRIGGER) == MANUAL:
            return self._asked_for(being_id)
        return self._own(being_id)

    def hand_over(self, being_id: str, sent: str | None) -> dict[str, str]:
        """Keep a key that was sent with a call for the job behind it; return the job's refs."""
        if sent and sent.strip():
            return {KEY: self.keys.keep_for_run(being_id, sent)}
        return {}

    def job_ended(self, being_id: str, job: Job) -> None:
        """Erase the key that was kept for a job, which is done or is not tried again."""
        reference = job.refs.get(KEY)
        if reference:
            self.keys.erase_run(being_id, reference)

    def _asked_for(self, being_id: str) -> Thinking | None:
        own = self._own(being_id)
        if own is not None:
            return own
        try:
            key = self._deployment_key()
        except ConfigurationError as error:  # a secret is named and not set
            return NoThinking(str(error))
        return self._with(key) if key else None

    def _own(self, being_id: str) -> Thinking | None:
        try:
            key = self.keys.stored(being_id)
        except BrokenSealError:
            return NoThinking(_UNOPENED)
        return self._with(key) if key else None

    def _with(self, key: str) -> Thinking:
        return ModelThinking(self._models(key), self.spending)


class NoThinking:
    """Thinking that gives a reason instead, such as a key that does not open."""

    model = "none"

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def extract(
        self, being_id: str, messages: Sequence[Message]
    ) -> Thought[tuple[SceneDraft, ...]]:
        """Give the reason."""
        return Thought(None, self._reason)

    def consolidate(self, being_id: str, group: Sequence[Node]) -> Thought[MergePlan]:
        """Give the reason."""
        return Thought(None, self._reason)

    def split(
        self, being_id: str, halves: tuple[Sequence[Node], Sequence[Node]]
    ) -> Thought[SplitPlan]:
        """Give the reason."""
        return Thought(None, self._reason)

    def digest(self, being_id: str, cluster: Cluster, members: Sequence[Node]) -> Thought[Digest]:
        """Give the reason."""
        return Thought(None, self._reason)

    def diary(self, being_id: str, scenes: Sequence[Scene]) -> Thought[str]:
        """Give the reason."""
        return Thought(None, self._reason)

    def think(
        self, being_id: str, clusters: Sequence[Cluster], nodes: Sequence[Node]
    ) -> Thought[tuple[str, ...]]:
        """Give the reason."""
        return Thought(None, self._reason)
