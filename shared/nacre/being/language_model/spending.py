"""What a Being may spend on language models in a day, and what it has spent."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, timedelta

from nacre.being.memory.model import keys
from nacre.core.clock import Clock
from nacre.core.errors import ConditionFailedError
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

_TOKENS, _COST = "tokens", "cost"  # both with what is set aside for questions that are open
_INPUT, _OUTPUT, _QUESTIONS = "input_tokens", "output_tokens", "questions"


@dataclass(frozen=True, slots=True)
class Budget:
    """How much a day may cost; a bound of 0 is none.

    Prices are in dollars for a million tokens, which is as many millionths of a dollar for
    one; money is counted in billionths, so that it stays whole.
    """

    tokens: int
    dollars: float = 0.0
    input_price: float = 0.0
    output_price: float = 0.0

    def cost(self, input_tokens: int, output_tokens: int) -> int:
        """Return what tokens cost, in billionths of a dollar."""
        dear = input_tokens * self.input_price + output_tokens * self.output_price
        return round(dear * 1000)

    @property
    def most(self) -> int:
        """Return the dollars of a day in billionths."""
        return round(self.dollars * 1_000_000_000)


@dataclass(frozen=True, slots=True)
class Spent:
    """What a Being has spent in a day."""

    day: str
    input_tokens: int
    output_tokens: int
    questions: int
    dollars: float


@dataclass(frozen=True, slots=True)
class Reservation:
    """What was set aside for one question, on which day."""

    being_id: str
    key: Key
    tokens: int
    cost: int


@dataclass(frozen=True, slots=True)
class Paid:
    """What one question cost; a question that there was no room for cost nothing."""

    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float = 0.0
    was_put: bool = True


def _silently(_paid: Paid) -> None:
    return


class Spending:
    """Keeps each Being within its budget, however many ask at one time.

    What a question may cost at most is set aside before it is put, and what it cost stays in
    its place afterwards. A process that dies in between leaves what it had set aside spent.
    `told` hears of each question.
    """

    def __init__(
        self,
        table: Table,
        budget: Budget,
        *,
        clock: Clock,
        told: Callable[[Paid], None] = _silently,
    ) -> None:
        self._table = table
        self._budget = budget
        self._clock = clock
        self._told = told

    def reserve(self, being_id: str, *, input_tokens: int, output_tokens: int) -> Reservation | str:
        """Set aside what a question may cost; else return why it must not be put."""
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
            # A Being that was erased gets no item again.
            self._table.transact(
                [
                    Update(key, change, when=self._room(tokens, cost)),
                    Check(keys.meta(being_id), Present()),
                ]
            )
        except ConditionFailedError as error:
            if error.place != 0:
                return "there is no such Being"
            self._told(Paid(was_put=False))
            return self._why_not()
        return Reservation(being_id, key, tokens, cost)

    def settle(self, held: Reservation, *, input_tokens: int, output_tokens: int) -> None:
        """Put what a question cost in the place of what was set aside for it."""
        cost = self._budget.cost(input_tokens, output_tokens)
        self._told(Paid(input_tokens, output_tokens, cost / 1_000_000_000))
        added = {
            _TOKENS: input_tokens + output_tokens - held.tokens,
            _COST: cost - held.cost,
            _INPUT: input_tokens,
            _OUTPUT: output_tokens,
            _QUESTIONS: 1,
        }
        try:
            self._table.update(held.key, Change(add={name: by for name, by in added.items() if by}))
        except ConditionFailedError:  # the Being was erased meanwhile
            return

    def of_today(self, being_id: str) -> Spent:
        """Return what the Being has spent since midnight (UTC)."""
        day = f"{self._clock().astimezone(UTC):%Y-%m-%d}"
        item = self._table.get(Key(keys.home(being_id), f"SPEND#{day}")) or {}

        def count(name: str) -> int:
            value = item.get(name, 0)
            return value if isinstance(value, int) else 0

        return Spent(
            day=day,
            input_tokens=count(_INPUT),
            output_tokens=count(_OUTPUT),
            questions=count(_QUESTIONS),
            dollars=count(_COST) / 1_000_000_000,
        )

    def _room(self, tokens: int, cost: int) -> Condition | None:
        bounds: list[Condition] = []
        for name, most, amount in (
            (_TOKENS, self._budget.tokens, tokens),
            (_COST, self._budget.most, cost),
        ):
            if most:
                left = most - amount
                # Where there is no item yet, only a question that is too dear by itself fails.
                fresh = (Absent(name),) if left >= 0 else ()
                bounds.append(Either((*fresh, Compare(name, "<=", left))))
        return Every(tuple(bounds)) if bounds else None

    def _why_not(self) -> str:
        bounds = []
        if self._budget.tokens:
            bounds.append(f"{self._budget.tokens:,} tokens")
        if self._budget.most:
            bounds.append(f"{self._budget.dollars:g} dollars")
        return (
            f"spend cap of the day reached ({' or '.join(bounds)});"
            " see NACRE_LLM_DAILY_TOKENS and NACRE_LLM_DAILY_DOLLARS"
        )
