"""The language model that a key belongs to, and the budget of each Being.

The package openai is loaded with the first question.
"""

from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Any

from nacre.being.language_model.api_keys import LlmKeys
from nacre.being.language_model.daily_budget import Budget, QuestionCost, Spending
from nacre.being.patrol.planning.model_choice import ModelAccess
from nacre.core.clock import Clock
from nacre.core.errors import ModelError
from nacre.core.limits import SOUND_TOKENS_A_SECOND
from nacre.ports.items.table import Table
from nacre.ports.model import Model, ModelAnswer
from nacre.wiring.settings import Settings

OPENAI_URL = "https://api.openai.com/v1"
OPENAI_MODEL = "gpt-4.1-mini"
ANTHROPIC_URL = "https://api.anthropic.com/v1/"
ANTHROPIC_MODEL = "claude-sonnet-4-6"
_ANTHROPIC_KEY = "sk-ant-"
MISSING_OPENAI = (
    "the openai package is not installed; "
    "in your clone run 'make setup', or pip install '.[openai]'"
)


def provider(key: str, settings: Settings) -> tuple[str, str]:
    """Return the address and the model for a key: by its prefix, else as the settings say."""
    model = settings.llm_model
    if key.startswith(_ANTHROPIC_KEY):
        return ANTHROPIC_URL, model if model.startswith("claude") else ANTHROPIC_MODEL
    return settings.llm_base_url or OPENAI_URL, model or OPENAI_MODEL


def spending_for(
    settings: Settings, table: Table, clock: Clock, prices: tuple[float, float]
) -> Spending:
    """Return the limit of each Being's day, at these prices of a million tokens."""
    budget = Budget(
        settings.llm_daily_tokens,
        dollars=settings.llm_daily_dollars,
        input_price=prices[0],
        output_price=prices[1],
    )
    return Spending(table, budget, clock=clock, on_question=partial(_count, settings.stack))


def transcription_spending(settings: Settings, table: Table, clock: Clock) -> Spending:
    """Return the same limit for audio, which has another price within the same day."""
    price = settings.transcribe_price * 1_000_000 / (60 * SOUND_TOKENS_A_SECOND)
    return spending_for(settings, table, clock, (price, 0.0))


def model_access_over(
    settings: Settings,
    table: Table,
    llm_keys: LlmKeys,
    *,
    clock: Clock,
    secret: Callable[[], str] = str,
) -> ModelAccess:
    """Return the language models of a deployment.

    `secret` returns the deployment's key if no setting has it.
    """

    def model(key: str) -> Model:
        base_url, name = provider(key, settings)
        return _LazyModel(name, key, base_url, settings)

    return ModelAccess(
        llm_keys,
        spending_for(settings, table, clock, settings.llm_prices),
        model,
        deployment_key=lambda: settings.llm_api_key.reveal() or secret(),
    )


def _count(stack: str, cost: QuestionCost) -> None:
    """Count a question in the stack's metrics; a laptop has none."""
    from nacre.core.metrics import LLM_DOLLARS, LLM_TOKENS, SPEND_CAPS, count

    if not cost.was_put:
        count(stack, "spend", {SPEND_CAPS: 1})
        return
    values: dict[str, float] = {LLM_TOKENS: cost.input_tokens + cost.output_tokens}
    if cost.dollars:
        values[LLM_DOLLARS] = cost.dollars
    count(stack, "spend", values)


class _LazyModel:
    """A Model that is loaded when its first question arrives; its name is known at once."""

    def __init__(self, name: str, key: str, base_url: str, settings: Settings) -> None:
        self.name = name
        self._key = key
        self._base_url = base_url
        self._settings = settings
        self._loaded: Model | None = None

    def ask(
        self, *, system: str, user: str, schema: Mapping[str, Any], max_tokens: int
    ) -> ModelAnswer:
        return self._model().ask(system=system, user=user, schema=schema, max_tokens=max_tokens)

    def _model(self) -> Model:
        if self._loaded is None:
            if find_spec("openai") is None:
                raise ModelError("unavailable", MISSING_OPENAI)
            from nacre.adapters.openai.model import OpenAIModel
            from nacre.wiring.outgoing import outgoing_of

            self._loaded = OpenAIModel(
                self.name,
                key=self._key,
                base_url=self._base_url,
                outgoing=outgoing_of(self._settings),
            )
        return self._loaded
