"""The daily budget of a Being for language models, and its spending."""

from collections.abc import Callable
from datetime import UTC, timedelta

from nacre.being.memory.model import keys
from nacre.core.clock import Clock
from nacre.core.errors import ConditionFailedError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import SPENDING_DAYS
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import (
    EXPIRES_AT,
    SCHEMA,
    Absent,
    Change,
    Check,
    Compare,
    Condition,
    Either,
    Every,
    Key,
    Present,
    Table,
    Update,
)

SPENDING = ItemSchema("spending", 1)

_TOKENS, _COST = "tokens", "cost"  # both include the reservations of open questions
_INPUT, _OUTPUT, _QUESTIONS = "input_tokens", "output_tokens", "questions"


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of a day; a limit of 0 means none.

    Prices are in dollars per million tokens, which is millionths of a dollar per token. Costs are
    counted in billionths of a dollar, so that they are whole numbers.
    """

    tokens: int
    dollars: float = 0.0
    input_price: float = 0.0
    output_price: float = 0.0

    def cost(self, input_tokens: int, output_tokens: int) -> int:
        """Return the cost of tokens, in billionths of a dollar."""
        millionths = input_tokens * self.input_price + output_tokens * self.output_price
        return round(millionths * 1000)

    @property
    def cost_limit(self) -> int:
        """The dollars of a day, in billionths."""
        return round(self.dollars * 1_000_000_000)


@dataclass(frozen=True, slots=True)
class DayTotal:
    """The tokens and dollars that a Being has spent in a day."""

    day: str
    input_tokens: int
    output_tokens: int
    questions: int
    dollars: float


@dataclass(frozen=True, slots=True)
class Reservation:
    """The tokens and the cost that were reserved for one question."""

    being_id: str
    key: Key
    tokens: int
    cost: int


@dataclass(frozen=True, slots=True)
class QuestionCost:
    """The cost of one question; zero if the budget had no room for it."""

    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float = 0.0
    was_put: bool = True


class Spending:
    """Keeps each Being within its budget, however many processes ask questions.

    The highest possible cost of a question is reserved before it is asked, and replaced by the real
    cost afterwards. If a process dies in between, its reservation counts as spent. `on_question` is
    called for each question.
    """

    def __init__(
        self,
        table: Table,
        budget: Budget,
        *,
        clock: Clock,
        on_question: Callable[[QuestionCost], None] = lambda _: None,
    ) -> None:
        self._table = table
        self._budget = budget
        self._clock = clock
        self._on_question = on_question

    def reserve(self, being_id: str, *, input_tokens: int, output_tokens: int) -> Reservation | str:
        """Reserve the cost of a question; if it must not be asked, return the reason."""
        now = self._clock().astimezone(UTC)
        tokens = input_tokens + output_tokens
        cost = self._budget.cost(input_tokens, output_tokens)
        key = Key(keys.home(being_id), f"SPEND#{now:%Y-%m-%d}")
        change = Change(
            set={
                SCHEMA: SPENDING.version,
                EXPIRES_AT: int((now + timedelta(days=SPENDING_DAYS)).timestamp()),
            },
            add={_TOKENS: tokens, _COST: cost},
        )
        try:
            # An erased Being must not get an item again.
            self._table.transact(
                [
                    Update(key, change, when=self._within_budget(tokens, cost)),
                    Check(keys.meta(being_id), Present()),
                ]
            )
        except ConditionFailedError as error:
            if error.index != 0:
                return "there is no such Being"
            self._on_question(QuestionCost(was_put=False))
            return self._refusal()
        return Reservation(being_id, key, tokens, cost)

    def settle(self, reservation: Reservation, *, input_tokens: int, output_tokens: int) -> None:
        """Replace a reservation by the real cost of its question."""
        cost = self._budget.cost(input_tokens, output_tokens)
        self._on_question(QuestionCost(input_tokens, output_tokens, cost / 1_000_000_000))
        added = {
            _TOKENS: input_tokens + output_tokens - reservation.tokens,
            _COST: cost - reservation.cost,
            _INPUT: input_tokens,
            _OUTPUT: output_tokens,
            _QUESTIONS: 1,
        }
        try:
            self._table.update(
                reservation.key, Change(add={name: by for name, by in added.items() if by})
            )
        except ConditionFailedError:  # the Being has been erased
            return

    def of_today(self, being_id: str) -> DayTotal:
        """Return the Being's total since midnight (UTC)."""
        day = f"{self._clock().astimezone(UTC):%Y-%m-%d}"
        item = self._table.get(Key(keys.home(being_id), f"SPEND#{day}")) or {}

        def count(name: str) -> int:
            value = item.get(name, 0)
            return value if isinstance(value, int) else 0

        return DayTotal(
            day=day,
            input_tokens=count(_INPUT),
            output_tokens=count(_OUTPUT),
            questions=count(_QUESTIONS),
            dollars=count(_COST) / 1_000_000_000,
        )

    def _within_budget(self, tokens: int, cost: int) -> Condition | None:
        bounds: list[Condition] = []
        for name, limit, amount in (
            (_TOKENS, self._budget.tokens, tokens),
            (_COST, self._budget.cost_limit, cost),
        ):
            if limit:
                allowed = limit - amount  # the most that may be spent before
                # Without an item, nothing has been spent today.
                nothing_spent = (Absent(name),) if allowed >= 0 else ()
                bounds.append(Either((*nothing_spent, Compare(name, "<=", allowed))))
        return Every(tuple(bounds)) if bounds else None

    def _refusal(self) -> str:
        bounds = []
        if self._budget.tokens:
            bounds.append(f"{self._budget.tokens:,} tokens")
        if self._budget.cost_limit:
            bounds.append(f"{self._budget.dollars:g} dollars")
        return (
            f"spend cap of the day reached ({' or '.join(bounds)});"
            " see NACRE_LLM_DAILY_TOKENS and NACRE_LLM_DAILY_DOLLARS"
        )
