"""Conditions and changes in DynamoDB's expression language."""

from typing import Any, assert_never

from nacre.adapters.aws.dynamodb.attribute_values import Attribute, encode
from nacre.adapters.items.writes import holds, kind_of
from nacre.core.limits import MAX_WHOLE_NUMBER
from nacre.ports.items.table import (
    EXPIRES_AT,
    Absent,
    Change,
    Compare,
    Condition,
    Either,
    Every,
    Present,
    Value,
)


class Expression:
    """Expressions of one request, which share their placeholders.

    Names are always placeholders, because an attribute may have the name of a reserved word.
    An item whose `expires_at` has passed counts as absent.
    """

    def __init__(self, now: int) -> None:
        self._now = now
        self._names: dict[str, str] = {}
        self._values: dict[str, Attribute] = {}

    @property
    def placeholders(self) -> dict[str, Any]:
        """The request parameters with the names and values of the placeholders."""
        parameters: dict[str, Any] = {}
        if self._names:
            parameters["ExpressionAttributeNames"] = {
                placeholder: name for name, placeholder in self._names.items()
            }
        if self._values:
            parameters["ExpressionAttributeValues"] = self._values
        return parameters

    def name(self, attribute: str) -> str:
        """Return the placeholder of an attribute."""
        return self._names.setdefault(attribute, f"#n{len(self._names)}")

    def value(self, value: Value) -> str:
        """Return the placeholder of a value."""
        placeholder = f":v{len(self._values)}"
        self._values[placeholder] = encode(value)
        return placeholder

    def live(self) -> str:
        """Return the condition that the item, if it exists, has not expired."""
        expires_at = self.name(EXPIRES_AT)
        return f"(attribute_not_exists({expires_at}) OR {expires_at} > {self.value(self._now)})"

    def dead(self) -> str:
        """Return the condition that there is no item, or only an expired one."""
        absent = f"attribute_not_exists({self.name('pk')})"
        return f"({absent} OR {self.name(EXPIRES_AT)} <= {self.value(self._now)})"

    def condition(self, when: Condition | None) -> dict[str, str]:
        """Return the parameter with the condition of a put, a delete or a check."""
        if when is None:
            return {}
        if holds(when, None):
            return {"ConditionExpression": f"({self.dead()} OR {self._clause(when)})"}
        exists = f"attribute_exists({self.name('pk')})"
        return {"ConditionExpression": f"({exists} AND {self.live()} AND {self._clause(when)})"}

    def update(self, change: Change, when: Condition | None) -> dict[str, str]:
        """Return the parameters for a change in place of an item that has not expired.

        The condition fails if a sum would be too large to store.
        """
        parts = [self.live()]
        if when is not None:
            clause = self._clause(when)
            if holds(when, None):
                parts.append(f"(attribute_not_exists({self.name('pk')}) OR {clause})")
            else:
                parts.append(f"(attribute_exists({self.name('pk')}) AND {clause})")
        parts += [self._countable(name, amount) for name, amount in change.add.items()]
        return {
            "UpdateExpression": self._assignments(change),
            "ConditionExpression": " AND ".join(parts),
        }

    def _assignments(self, change: Change) -> str:
        sets = [f"{self.name(name)} = {self.value(value)}" for name, value in change.set.items()]
        adds = [f"{self.name(name)} {self.value(amount)}" for name, amount in change.add.items()]
        removes = [self.name(name) for name in sorted(change.remove)]
        actions = (("SET", sets), ("ADD", adds), ("REMOVE", removes))
        return " ".join(f"{keyword} {', '.join(parts)}" for keyword, parts in actions if parts)

    def _countable(self, attribute: str, amount: int) -> str:
        name = self.name(attribute)
        number = f"attribute_type({name}, {self.value('N')})"
        low, high = self.value(-MAX_WHOLE_NUMBER - amount), self.value(MAX_WHOLE_NUMBER - amount)
        return f"(attribute_not_exists({name}) OR ({number} AND {name} BETWEEN {low} AND {high}))"

    def _clause(self, condition: Condition) -> str:
        """Return the expression of a condition, for an item that exists."""
        match condition:
            case Absent(attribute):
                return f"attribute_not_exists({self.name(attribute or 'pk')})"
            case Present(attribute):
                return f"attribute_exists({self.name(attribute or 'pk')})"
            case Compare():
                return self._comparison(condition)
            case Every(conditions):
                return self._joined(" AND ", conditions, empty=Present())
            case Either(conditions):
                return self._joined(" OR ", conditions, empty=Absent())
            case _:
                assert_never(condition)

    def _joined(self, operator: str, conditions: tuple[Condition, ...], *, empty: Condition) -> str:
        parts = [self._clause(condition) for condition in conditions or (empty,)]
        return f"({operator.join(parts)})" if len(parts) > 1 else parts[0]

    def _comparison(self, compare: Compare) -> str:
        name = self.name(compare.attribute)
        comparison = f"{name} {compare.relation} {self.value(compare.value)}"
        same_kind = f"attribute_type({name}, {self.value(kind_of(compare.value))})"
        if compare.relation == "<>":
            # Without this, an absent attribute differs from everything.
            return f"(attribute_exists({name}) AND (NOT {same_kind} OR {comparison}))"
        return f"({same_kind} AND {comparison})"
