"""The sealed keys of language model providers: those of Beings and those of queued runs."""

import re
from collections.abc import Callable
from datetime import UTC
from random import Random

from nacre.being.memory.model import keys
from nacre.being.memory.model.types import moment
from nacre.core.clock import Clock
from nacre.core.errors import (
    ConditionFailedError,
    InvalidInputError,
    NotFoundError,
)
from nacre.core.ids import ulids
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import RUN_KEY_SECONDS
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import EXPIRES_AT, Check, Item, Key, Present, Put, Table
from nacre.ports.vault import Vault

LLM_KEY = ItemSchema("model key", 1)

_FORMAT = re.compile(r"[\x21-\x7e]{1,1024}")  # safe in an HTTP header
_STORED = "SECRET#LLM"
_RUN = "SECRET#RUN#"


def checked_llm_key(text: str) -> str:
    """Return a key without surrounding blanks; raises InvalidInputError if it is not a key."""
    key = text.strip()
    if _FORMAT.fullmatch(key) is None:
        raise InvalidInputError(
            "this is not the key of a language model provider: it is empty, too long, or has"
            " blanks or letters that no key has; copy it again"
        )
    return key


@dataclass(frozen=True, slots=True)
class KeyStatus:
    """The facts about a stored key that may be shown."""

    set_at: str


class LlmKeys:
    """The keys in the items of Beings, each sealed for its own item.

    `vault` is called only when a key is sealed or opened.
    """

    def __init__(
        self, table: Table, vault: Callable[[], Vault], *, clock: Clock, rng: Random
    ) -> None:
        self._table = table
        self._vault = vault
        self._clock = clock
        self._rng = rng

    def set(self, being_id: str, key: str) -> None:
        """Store a key for the Being, in place of an earlier one."""
        self._put(being_id, _STORED, checked_llm_key(key), {})

    def clear(self, being_id: str) -> bool:
        """Delete the Being's key; return False if it had none."""
        return self._table.delete(_place(being_id, _STORED)) is not None

    def status(self, being_id: str) -> KeyStatus | None:
        """Return when the Being's key was set; None if it has none."""
        item = self._table.get(_place(being_id, _STORED))
        return None if item is None else KeyStatus(str(LLM_KEY.read(item)["set_at"]))

    def stored(self, being_id: str) -> str | None:
        """Return the Being's key, or None; raises BrokenSealError if it cannot be opened."""
        return self._open(being_id, _STORED)

    def keep_for_run(self, being_id: str, key: str) -> str:
        """Store a key until a queued run has ended; return the reference for the run's job.

        A key that is never erased expires after a day.
        """
        [reference] = ulids(self._clock(), self._rng, 1)
        end = int(self._clock().astimezone(UTC).timestamp()) + RUN_KEY_SECONDS
        self._put(being_id, _RUN + reference, checked_llm_key(key), {EXPIRES_AT: end})
        return reference

    def of_run(self, being_id: str, reference: str) -> str | None:
        """Return the key of a queued run; None if it was erased or has expired."""
        return self._open(being_id, _RUN + reference)

    def erase_run(self, being_id: str, reference: str) -> None:
        """Erase the key of a run that has ended; a second call does nothing."""
        self._table.delete(_place(being_id, _RUN + reference))

    def _put(self, being_id: str, name: str, key: str, more: Item) -> None:
        sealed = self._vault().seal(key.encode(), context=_context(being_id, name))
        item: Item = {
            **_place(being_id, name).attributes(),
            "sealed": sealed,
            "set_at": moment(self._clock()),
            **more,
        }
        try:
            self._table.transact([Put(LLM_KEY.stamp(item)), Check(keys.meta(being_id), Present())])
        except ConditionFailedError:
            raise NotFoundError("there is no such Being") from None

    def _open(self, being_id: str, name: str) -> str | None:
        item = self._table.get(_place(being_id, name))
        if item is None:
            return None
        sealed = LLM_KEY.read(item).get("sealed")
        assert isinstance(sealed, bytes)
        return self._vault().open(sealed, context=_context(being_id, name)).decode()


def _place(being_id: str, name: str) -> Key:
    return Key(keys.home(being_id), name)


def _context(being_id: str, name: str) -> dict[str, str]:
    """Return the context that a key is sealed with, so that it opens in no other item."""
    run = name.removeprefix(_RUN)
    context = {"purpose": "llm-key", "being": being_id}
    return context if name == _STORED else {**context, "run": run}
