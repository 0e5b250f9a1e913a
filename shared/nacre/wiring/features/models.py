"""Which language model answers a key, and what each wiring keeps keys and budgets in.

Building loads nothing of openai; it comes with the first question.
"""

from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, Any

from nacre.being.language_model.api_keys import LlmKeys
from nacre.being.language_model.spending import Budget, Paid, Spending
from nacre.being.patrol.planning.model_choice import Thinkers
from nacre.core.clock import Clock
from nacre.core.errors import ModelError
from nacre.core.limits import SOUND_TOKENS_A_SECOND
from nacre.ports.items.table import Table
from nacre.ports.model import Model, ModelAnswer
from nacre.ports.vault import Vault
from nacre.wiring.settings import Settings

if TYPE_CHECKING:
    from nacre.adapters.sqlite.database import SqliteDatabase

OPENAI_URL = "https://api.openai.com/v1"
OPENAI_MODEL = "gpt-4.1-mini"
ANTHROPIC_URL = "https://api.anthropic.com/v1/"
ANTHROPIC_MODEL = "claude-sonnet-4-6"
_ANTHROPIC_KEY = "sk-ant-"


def provider(key: str, settings: Settings) -> tuple[str, str]:
    """Return the address and the model for a key: by its prefix, else as the settings say."""
    model = settings.llm_model
    if key.startswith(_ANTHROPIC_KEY):
        return ANTHROPIC_URL, model if model.startswith("claude") else ANTHROPIC_MODEL
    return settings.llm_base_url or OPENAI_URL, model or OPENAI_MODEL


def spending_for(
    settings: Settings, table: Table, clock: Clock, prices: tuple[float, float]
) -> Spending:
    """Return what keeps each Being within its day, at these prices of a million tokens."""
    budget = Budget(
        settings.llm_daily_tokens,
        dollars=settings.llm_daily_dollars,
        input_price=prices[0],
        output_price=prices[1],
    )
    return Spending(table, budget, clock=clock, told=partial(_count, settings.stack))


def transcription_spending(settings: Settings, table: Table, clock: Clock) -> Spending:
    """Return the same for sounds, which have a price of their own within the same day."""
    price = settings.transcribe_price * 1_000_000 / (60 * SOUND_TOKENS_A_SECOND)
    return spending_for(settings, table, clock, (price, 0.0))


def thinking_for(
    settings: Settings,
    table: Table,
    vault: Callable[[], Vault],
    *,
    clock: Clock,
    secret: Callable[[], str] = str,
) -> Thinkers:
    """Return what gives patrols their thinking.

    `vault` and `secret` are asked for when a key is needed; `secret` gives the deployment's
    key where no setting does.
    """

    def model(key: str) -> Model:
        base_url, name = provider(key, settings)
        return _OnFirstUse(name, key, base_url)

    return Thinkers(
        LlmKeys(table, vault, clock=clock, rng=SystemRandom()),
        spending_for(settings, table, clock, settings.llm_prices),
        model,
        deployment_key=lambda: settings.llm_api_key.reveal() or secret(),
    )


def _count(stack: str, paid: Paid) -> None:
    """Count a question in the stack's metrics; a laptop has none."""
    from nacre.core.metrics import LLM_DOLLARS, LLM_TOKENS, SPEND_CAPS, count

    if not paid.was_put:
        count(stack, "spend", {SPEND_CAPS: 1})
        return
    values: dict[str, float] = {LLM_TOKENS: paid.input_tokens + paid.output_tokens}
    if paid.dollars:
        values[LLM_DOLLARS] = paid.dollars
    count(stack, "spend", values)


def laptop_thinkers(
    database: "SqliteDatabase", key_file: Path, settings: Settings, clock: Clock
) -> Thinkers:
    """Return the same over a database on this machine."""
    from nacre.adapters.sqlite.table import SqliteTable

    table = SqliteTable(database, "data", now=clock)
    return thinking_for(settings, table, file_vault(key_file), clock=clock)


def stack_thinkers(
    clients: Callable[[], Callable[[str], Any]], settings: Settings, clock: Clock
) -> Thinkers:
    """Return the same over a stack; `clients` gives what opens an AWS service."""
    from nacre.adapters.aws.dynamodb.table import DynamoTable
    from nacre.wiring.features.index import stack_secret

    client = clients()
    table = DynamoTable(client("dynamodb"), settings.data_table, now=clock)
    return thinking_for(
        settings,
        table,
        kms_vault(client, settings.key_arn),
        clock=clock,
        secret=cache(lambda: stack_secret(client, settings.llm_secret)),
    )


def file_vault(key_file: Path) -> Callable[[], Vault]:
    """Return the laptop's vault, loaded when it is asked for."""

    @cache
    def vault() -> Vault:
        from nacre.adapters.files.vault import FileVault

        return FileVault(key_file)

    return vault


def kms_vault(client: Callable[[str], Any], key_arn: str) -> Callable[[], Vault]:
    """Return a stack's vault, loaded when it is asked for."""

    @cache
    def vault() -> Vault:
        from nacre.adapters.aws.kms_vault import KmsVault

        return KmsVault(client("kms"), key_arn)

    return vault


class _OnFirstUse:
    """A Model that is made with its first question; its name is known before."""

    def __init__(self, name: str, key: str, base_url: str) -> None:
        self.name = name
        self._key = key
        self._base_url = base_url
        self._made: Model | None = None

    def ask(
        self, *, system: str, user: str, schema: Mapping[str, Any], max_tokens: int
    ) -> ModelAnswer:
        return self._model().ask(system=system, user=user, schema=schema, max_tokens=max_tokens)

    def _model(self) -> Model:
        if self._made is None:
            if find_spec("openai") is None:
                missing = (
                    "the openai package is not installed; "
                    "in the clone: make setup, or pip install '.[openai]'"
                )
                raise ModelError("unavailable", missing)
            from nacre.adapters.openai.model import OpenAIModel

            self._made = OpenAIModel(self.name, key=self._key, base_url=self._base_url)
        return self._made
