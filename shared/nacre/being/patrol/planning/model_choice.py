"""The choice of the model and the key for a Being's patrol."""

from collections.abc import Callable

from nacre.being.language_model.api_keys import LlmKeys, checked_llm_key
from nacre.being.language_model.daily_budget import Spending
from nacre.being.patrol.planning.planner import ModelPlanner
from nacre.being.patrol.planning.plans import Planner
from nacre.core.errors import BrokenSealError, ConfigurationError
from nacre.jobs.job import Job
from nacre.ports.model import Model

KEY = "key"  # a job's reference to a key that came with the call
TRIGGER = "trigger"
MANUAL = "manual"
_SEALED = "the Being's stored key does not open; set it again with 'nacre llm-key set'"


class ModelAccess:
    """Chooses the key of a language model, and makes the planner that uses it.

    A key that came with a call is used first, then the Being's stored key, then the
    deployment's. An automatic patrol uses only the Being's own key: unless somebody asks, the
    deployment's budget is not spent and no text is sent away.
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

    def for_call(self, being_id: str, sent: str | None) -> Planner | None:
        """Return the planner for a patrol in this call; None if there is no key.

        `sent` is X-LLM-API-Key. Raises InvalidInputError if it is not a key.
        """
        if sent and sent.strip():
            return self._with(checked_llm_key(sent))
        return self._own_or_deployment(being_id)

    def key_for_call(self, being_id: str, sent: str | None) -> str | None:
        """Return the key to use in this call; None if there is none.

        Raises InvalidInputError if the sent text is not a key, and ConfigurationError if the
        Being's key cannot be opened or a setting names a secret that does not exist.
        """
        if sent and sent.strip():
            return checked_llm_key(sent)
        try:
            key = self.keys.stored(being_id)
        except BrokenSealError:
            raise ConfigurationError(_SEALED) from None
        return key or self._deployment_key() or None

    def for_job(self, being_id: str, job: Job) -> Planner | None:
        """Return the planner for a queued patrol; None if there is no key that it may use."""
        reference = job.refs.get(KEY)
        try:
            sent = self.keys.of_run(being_id, reference) if reference else None
        except BrokenSealError:
            return self._without_model(
                "the key of this run does not open; ask for the patrol again"
            )
        if sent:
            return self._with(sent)
        if reference or job.refs.get(TRIGGER) == MANUAL:
            return self._own_or_deployment(being_id)
        return self._own(being_id)

    def hand_over(self, being_id: str, sent: str | None) -> dict[str, str]:
        """Store a key that came with a call for the job behind it; return the refs of the job."""
        if sent and sent.strip():
            return {KEY: self.keys.keep_for_run(being_id, sent)}
        return {}

    def job_ended(self, being_id: str, job: Job) -> None:
        """Erase the key that was stored for a job, which is done or will not be tried again."""
        reference = job.refs.get(KEY)
        if reference:
            self.keys.erase_run(being_id, reference)

    def _own_or_deployment(self, being_id: str) -> Planner | None:
        planner = self._own(being_id)
        if planner is not None:
            return planner
        try:
            key = self._deployment_key()
        except ConfigurationError as error:  # a setting names a secret that does not exist
            return self._without_model(str(error))
        return self._with(key) if key else None

    def _own(self, being_id: str) -> Planner | None:
        try:
            key = self.keys.stored(being_id)
        except BrokenSealError:
            return self._without_model(_SEALED)
        return self._with(key) if key else None

    def _with(self, key: str) -> Planner:
        return ModelPlanner(self._models(key), self.spending)

    def _without_model(self, reason: str) -> Planner:
        return ModelPlanner(None, self.spending, reason=reason)
