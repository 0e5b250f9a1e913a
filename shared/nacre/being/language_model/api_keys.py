"""Keys of language model providers, sealed: one that a Being keeps, and those of queued runs."""

import re
from collections.abc import Callable
from dataclasses import dataclass
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
from nacre.core.limits import RUN_KEY_SECONDS
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import EXPIRES_AT, Check, Item, Key, Present, Put, Table
from nacre.ports.vault import Vault

LLM_KEY = ItemSchema("model key", 1)

_FORM = re.compile(r"[\x21-\x7e]{1,1024}")  # what an HTTP header carries as it is
_STORED = "SECRET#LLM"
_RUN = "SECRET#RUN#"


def checked_llm_key(text: str) -> str:
    """Return a key without blanks around it; one that no header could carry is refused."""
    key = text.strip()
    if _FORM.fullmatch(key) is None:
        raise InvalidInputError(
            "this is not the key of a language model provider: it is empty, too long, or has"
            " blanks or letters that no key has; copy it again"
        )
    return key


@dataclass(frozen=True, slots=True)
class StoredKey:
    """What may be told of a key that a Being keeps."""

    set_at: str


class LlmKeys:
    """The keys that stand in a Being's items, each sealed for the place where it stands.

    `vault` is asked for when a key is sealed or opened, and not before.
    """

    def __init__(
        self, table: Table, vault: Callable[[], Vault], *, clock: Clock, rng: Random
    ) -> None:
        self._table = table
        self._vault = vault
        self._clock = clock
        self._rng = rng

    def set(self, being_id: str, key: str) -> None:
        """Keep a key for the Being, in the place of one that it has."""
        self._put(being_id, _STORED, checked_llm_key(key), {})

    def clear(self, being_id: str) -> bool:
        """Forget the Being's key; False when it had none."""
        return self._table.delete(_place(being_id, _STORED)) is not None

    def status(self, being_id: str) -> StoredKey | None:
        """Return when the Being's key was set; None when it has none."""
        item = self._table.get(_place(being_id, _STORED))
        return None if item is None else StoredKey(str(LLM_KEY.read(item)["set_at"]))

    def stored(self, being_id: str) -> str | None:
        """Return the Being's key, or None; raises BrokenSealError when it does not open."""
        return self._open(being_id, _STORED)

    def keep_for_run(self, being_id: str, key: str) -> str:
        """Keep a key until a queued run has ended; return the reference for the run's job.

        What is never fetched dies after a day.
        """
        [reference] = ulids(self._clock(), self._rng, 1)
        end = int(self._clock().astimezone(UTC).timestamp()) + RUN_KEY_SECONDS
        self._put(being_id, _RUN + reference, checked_llm_key(key), {EXPIRES_AT: end})
        return reference

    def of_run(self, being_id: str, reference: str) -> str | None:
        """Return the key of a queued run; None when it was erased or has died."""
        return self._open(being_id, _RUN + reference)

    def erase_run(self, being_id: str, reference: str) -> None:
        """Erase the key of a run that has ended, well or badly; again does nothing."""
        self._table.delete(_place(being_id, _RUN + reference))

    def _put(self, being_id: str, name: str, key: str, more: Item) -> None:
        place = _place(being_id, name)
        sealed = self._vault().seal(key.encode(), context=_context(being_id, name))
        item: Item = {
            "pk": place.pk,
            "sk": place.sk,
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
    """Return what a key is sealed for, so that none opens in another's place."""
    run = name.removeprefix(_RUN)
    context = {"purpose": "llm-key", "being": being_id}
    return context if name == _STORED else {**context, "run": run}
