"""Any sequence of operations gives the same answers on SQLite, DynamoDB and a dict."""

import copy
import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.core.errors import ConditionFailedError, InvalidInputError
from nacre.ports.items.table import (
    Absent,
    Change,
    Check,
    Compare,
    Condition,
    Delete,
    Either,
    Every,
    Index,
    Item,
    Key,
    Present,
    Put,
    Range,
    Table,
    Update,
    Value,
    Write,
)
from tests.adapters.conftest import StillClock
from tests.scaffolding.aws_stack import Stack

_HOMES = itertools.count()

SORT_KEYS = ["A", "AB", "\uffff", "\U0001f41a"]  # few, so that operations meet
sort_key = st.sampled_from(SORT_KEYS)
attribute = st.sampled_from(["x", "y", "status", "#n0", ":v0"])
scalar: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.5, 2.5, -0.25, 1.0, 2**53 - 1, 1e60]),
    st.sampled_from(["", "a", "b", "\uffff", "\U0001f41a"]),
    st.sampled_from([b"", b"\x00", b"a"]),
)
value = st.recursive(
    scalar,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=4,
)
index_name = st.sampled_from(["gsi1", "gsi2", "gsi3"])
ordered = st.builds(
    Compare,
    attribute,
    st.sampled_from(["<", "<=", ">", ">="]),
    st.integers(-3, 3) | st.sampled_from([0.5, "a", "\uffff"]),
)
condition: st.SearchStrategy[Condition] = st.recursive(
    st.one_of(
        st.builds(Absent, st.none() | attribute),
        st.builds(Present, st.none() | attribute),
        st.builds(Compare, attribute, st.sampled_from(["=", "<>"]), scalar),
        ordered,
    ),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda parts: Every(tuple(parts)))
        | st.lists(inner, max_size=3).map(lambda parts: Either(tuple(parts)))
    ),
    max_leaves=4,
)
maybe = st.none() | condition
lifetime = st.none() | st.integers(-1, 3)


class Model:
    """The same contract on a dict, written without looking at the stores."""

    def __init__(self, clock: StillClock) -> None:
        self._items: dict[Key, Item] = {}
        self._clock = clock

    def get(self, key: Key) -> Item | None:
        item = self._items.get(key)
        if item is None or _end(item) <= self._clock.time.timestamp():
            return None
        return copy.deepcopy(item)

    def transact(self, writes: list[Write], token: str | None = None) -> list[Item | None]:
        if token is not None:
            mark = Key(f"I#{token}", "I")
            if self.get(mark) is not None:
                return []
        for place, write in enumerate(writes):
            before = self.get(_key(write))
            held = write.when is None or _true(write.when, before)
            creates = not isinstance(write, Update) or "schema" in write.change.set
            if not held or (before is None and not creates):
                raise ConditionFailedError(place)
        results = [self._result(write, self.get(_key(write))) for write in writes]
        answers: list[Item | None] = []
        for write, result in zip(writes, results, strict=True):
            before = self.get(_key(write))
            if isinstance(write, Put | Update):
                assert result is not None
                self._items[_key(write)] = result
            elif isinstance(write, Delete):
                self._items.pop(_key(write), None)
            answers.append(before if isinstance(write, Delete) else copy.deepcopy(result))
        if token is not None:
            self._items[mark] = {
                "pk": mark.pk, "sk": "I", "schema": 1, "expires_at": self._clock.at(600),
            }  # fmt: skip
        return answers

    def query(
        self, partition: str, index: Index | None, keys: Range, descending: bool
    ) -> list[Item]:
        by, order = f"{index or ''}pk", f"{index or ''}sk"
        live = [item for key in self._items if (item := self.get(key)) is not None]
        found = [
            item
            for item in live
            if item.get(by) == partition
            and order in item
            and str(item[order]).startswith(keys.prefix or "")
            and (keys.low or "").encode() <= str(item[order]).encode()
            and (keys.high is None or str(item[order]).encode() <= keys.high.encode())
        ]
        return sorted(found, key=_place(order), reverse=descending)

    def _result(self, write: Write, before: Item | None) -> Item | None:
        if isinstance(write, Put):
            item: Item = _plain(write.item)
            return item
        if not isinstance(write, Update):
            return None
        item = before or {**write.key.attributes()}
        item.update(_plain(dict(write.change.set)))
        for name, amount in write.change.add.items():
            held = item.setdefault(name, 0)
            if type(held) is not int or abs(held + amount) > 2**53 - 1:
                raise InvalidInputError("not a counter")
            item[name] = held + amount
        for name in write.change.remove:
            item.pop(name, None)
        return item


def _end(item: Item) -> float:
    end = item.get("expires_at", float("inf"))
    assert isinstance(end, int | float)
    return end


def _key(write: Write) -> Key:
    if isinstance(write, Put):
        return Key(str(write.item["pk"]), str(write.item["sk"]))
    return write.key


def _place(order: str) -> Callable[[Item], tuple[bytes, bytes]]:
    return lambda item: (str(item[order]).encode(), str(item["sk"]).encode())


def _plain(value: Any) -> Any:
    """Copy, with whole floats as ints."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


def _true(condition: Condition, item: Item | None) -> bool:
    match condition:
        case Absent(None):
            return item is None
        case Absent(attribute):
            return item is None or attribute not in item
        case Present(None):
            return item is not None
        case Present(attribute):
            return item is not None and attribute in item
        case Every(conditions):
            return all(_true(each, item) for each in conditions)
        case Either(conditions):
            return any(_true(each, item) for each in conditions)
        case Compare():
            return item is not None and condition.attribute in item and _stands(condition, item)


def _stands(compare: Compare, item: Item) -> bool:
    pair: tuple[Any, Any] = (item[compare.attribute], compare.value)
    numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in pair)
    alike = numbers or type(pair[0]) is type(pair[1])
    if isinstance(pair[0], str) and isinstance(pair[1], str):
        pair = (pair[0].encode(), pair[1].encode())
    equal = alike and bool(pair[0] == pair[1])
    if not alike or compare.relation in ("=", "<>"):
        return {"=": equal, "<>": not equal}.get(compare.relation, False)
    above = bool(pair[0] > pair[1])
    return {"<": not above and not equal, "<=": not above, ">": above, ">=": above or equal}[
        compare.relation
    ]


class Stores(RuleBasedStateMachine):
    """The same operations on all three."""

    stack: Stack

    @initialize()
    def open(self) -> None:
        self.home = f"M#{next(_HOMES)}"
        self.clock = StillClock()
        self.database = SqliteDatabase(":memory:")
        self.tables: list[Table] = [
            SqliteTable(self.database, now=self.clock),
            DynamoTable(self.stack.dynamodb, self.stack.ids["DataTable"], now=self.clock),
        ]
        self.model = Model(self.clock)

    def teardown(self) -> None:
        if hasattr(self, "database"):
            self.database.close()
            self.stack.clear("DataTable")

    @rule(seconds=st.integers(0, 3))
    def time_passes(self, seconds: int) -> None:
        self.clock.move(seconds)

    @rule(data=st.data(), when=maybe)
    def put(self, data: st.DataObject, when: Condition | None) -> None:
        item = self.draw_item(data)
        self.same(
            lambda: _none(self.model.transact([Put(item, when)])),
            lambda table: table.put(item, when=when),
        )

    @rule(data=st.data(), when=maybe)
    def update(self, data: st.DataObject, when: Condition | None) -> None:
        key, change = Key(self.home, data.draw(sort_key)), self.draw_change(data)
        self.same(
            lambda: self.model.transact([Update(key, change, when)])[0],
            lambda table: table.update(key, change, when=when),
        )

    @rule(sk=sort_key, when=maybe)
    def delete(self, sk: str, when: Condition | None) -> None:
        key = Key(self.home, sk)
        self.same(
            lambda: self.model.transact([Delete(key, when)])[0],
            lambda table: table.delete(key, when=when),
        )

    @rule(data=st.data(), token=st.none() | st.sampled_from("ab"))
    def transact(self, data: st.DataObject, token: str | None) -> None:
        names = data.draw(st.lists(sort_key, unique=True, min_size=1, max_size=4))
        writes = [self.draw_write(data, name) for name in names]
        mark = None if token is None else self.home + token
        self.same(
            lambda: _none(self.model.transact(writes, mark)),
            lambda table: table.transact(writes, token=mark),
        )

    @rule()
    def read(self) -> None:
        keys = [Key(self.home, name) for name in SORT_KEYS]
        expected = {key: self.model.get(key) for key in keys}
        for table in self.tables:
            assert {key: table.get(key) for key in keys} == expected
            assert table.get_many(keys) == {k: item for k, item in expected.items() if item}

    @rule(
        index=st.none() | index_name,
        keys=st.one_of(
            st.just(Range()),
            st.builds(Range, prefix=sort_key),
            st.builds(Range, low=st.none() | sort_key, high=st.none() | sort_key),
        ),
        descending=st.booleans(),
        limit=st.none() | st.integers(1, 3),
    )
    def query(self, index: Index | None, keys: Range, descending: bool, limit: int | None) -> None:
        expected = self.model.query(self.home, index, keys, descending)
        order = f"{index or ''}sk"
        for table in self.tables:
            found: list[Item] = []
            start = None
            while True:
                page = table.query(
                    self.home,
                    index=index,
                    keys=keys,
                    descending=descending,
                    limit=limit,
                    start=start,
                )
                found += page.items
                assert limit is None or len(page.items) == min(
                    limit, len(expected) - len(found) + len(page.items)
                )
                start = page.next
                if start is None:
                    break
            assert [item[order] for item in found] == [item[order] for item in expected]
            assert sorted(found, key=_place(order)) == sorted(expected, key=_place(order))

    def same(self, modelled: Callable[[], object], stored: Callable[[Table], object]) -> None:
        expected = _outcome(modelled)
        for table in self.tables:
            assert _outcome(lambda table=table: stored(table)) == expected, table  # type: ignore[misc]

    def draw_item(self, data: st.DataObject, sk: str | None = None) -> Item:
        item: dict[str, Value] = data.draw(st.dictionaries(attribute, value, max_size=3))
        end = data.draw(lifetime)
        if end is not None:
            item["expires_at"] = self.clock.at(end)
        name = data.draw(st.none() | index_name)
        if name is not None:
            item[f"{name}pk"] = self.home
        if name is not None and data.draw(st.booleans()):
            item[f"{name}sk"] = data.draw(sort_key)
        return {**item, "pk": self.home, "sk": sk or data.draw(sort_key), "schema": 1}

    def draw_change(self, data: st.DataObject) -> Change:
        settled = data.draw(st.dictionaries(attribute, value, max_size=2))
        added = data.draw(
            st.dictionaries(attribute, st.integers(-2, 2) | st.just(2**53 - 1), max_size=2)
        )
        removed = data.draw(st.frozensets(attribute | st.just("expires_at"), max_size=2))
        if data.draw(st.booleans()):
            settled["schema"] = 1
        end = data.draw(lifetime)
        if end is not None:
            settled["expires_at"] = self.clock.at(end)
        added = {name: amount for name, amount in added.items() if name not in settled}
        removed -= settled.keys() | added.keys()
        if not (settled or added or removed):
            settled["x"] = 0
        return Change(set=settled, add=added, remove=removed)

    def draw_write(self, data: st.DataObject, sk: str) -> Write:
        key, when = Key(self.home, sk), data.draw(maybe)
        match data.draw(st.sampled_from(["put", "update", "delete", "check"])):
            case "put":
                return Put(self.draw_item(data, sk), when)
            case "update":
                return Update(key, self.draw_change(data), when)
            case "delete":
                return Delete(key, when)
            case _:
                return Check(key, when or Present())


def _outcome(call: Callable[[], object]) -> object:
    try:
        return call()
    except ConditionFailedError as error:
        return ("condition", error.index)
    except InvalidInputError:
        return "invalid"


def _none(_: object) -> None:
    return None


def _run(stack: Stack, examples: int) -> None:
    Stores.stack = stack
    run_state_machine_as_test(
        Stores,
        settings=settings(
            max_examples=examples,
            stateful_step_count=20,
            deadline=None,
            derandomize=True,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
            phases=[Phase.generate],  # shrinking takes minutes; the steps are printed anyway
        ),
    )


def test_all_stores_give_the_same_answers(stack: Stack) -> None:
    _run(stack, examples=20)


@pytest.mark.slow
def test_all_stores_give_the_same_answers_at_length(stack: Stack) -> None:
    _run(stack, examples=500)
