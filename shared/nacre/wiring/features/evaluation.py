"""A private copy of a Being's memory, which answers kept questions with any settings.

The copy is in the memory of this process and ends with it. Asking and indexing it changes nothing
of the Being, and what others write meanwhile changes nothing of the copy.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from random import SystemRandom
from typing import TYPE_CHECKING

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.queue import SqliteQueue
from nacre.adapters.sqlite.table import SqliteTable
from nacre.adapters.sqlite.vectors import LocalVectors
from nacre.being.memory.evaluation.answers import Answer, QuestionClock, ask_all
from nacre.being.memory.evaluation.memory_changes import PresentMemories
from nacre.being.memory.index.index_state import LEXICAL
from nacre.being.memory.index.maintenance import IndexMaintenance
from nacre.being.memory.index.sync import IndexSync
from nacre.being.memory.model import keys
from nacre.being.memory.search.candidates import MemoryReader
from nacre.being.memory.services import open_services
from nacre.being.memory.store.kept_questions import KeptQuestion
from nacre.being.memory.store.partitions import items_in
from nacre.core.errors import ConfigurationError, InvalidInputError
from nacre.ports.items.table import Item, Put, Table
from nacre.ports.vectors.vector_index import Kind
from nacre.wiring.features.embeddings import builtin_embedder, embedders
from nacre.wiring.features.memory import calm_numpy
from nacre.wiring.settings import VARIABLES, Settings, with_variables

if TYPE_CHECKING:
    from nacre.wiring.compose import Home

EVALUATED = ("embeddings", "embedding_model", "embedding_base_url", "embedding_dimensions")
"""The settings that change what is found in a memory as it is."""

_AT_ONCE = 8  # items of up to 400 kB in one transaction
_SECRETS = ("embedding_api_key", "embedding_secret")
Progress = Callable[[int, int], None]


def changed_settings(assignments: Iterable[str]) -> Settings:
    """Return the settings of the environment with those of `NAME=VALUE`.

    Raises InvalidInputError for a setting that changes no answer, and for a secret.
    """
    names = [VARIABLES[field].name for field in EVALUATED]
    changes = {}
    for assignment in assignments:
        name, separator, value = assignment.partition("=")
        if not separator:
            raise InvalidInputError(f"{assignment[:80]!r} is not of the form NAME=VALUE")
        if name in (VARIABLES[field].name for field in _SECRETS):
            raise InvalidInputError(
                f"{name} is a secret, and others can read a command line; set it in the environment"
            )
        if name not in names:
            raise InvalidInputError(
                f"{name[:80]!r} does not change what is found; give one of {', '.join(names)}"
            )
        changes[name] = value
    return with_variables(changes)


class MemoryCopy:
    """A copy of the memory of a Being, searched with the index that the Being has now."""

    def __init__(self, home: "Home", being_id: str, settings: Settings) -> None:
        calm_numpy()
        self._home = home
        self._being_id = being_id
        self._clock = QuestionClock()
        self._database = SqliteDatabase(":memory:")
        self._table = SqliteTable(self._database)
        self._open(settings)
        _copy(home.data, self._table, being_id)

    def fill(self, progress: Progress) -> None:
        """Index the copy. On a stack, raise ConfigurationError if its model is not known here."""
        self._maintenance.check_and_repair(self._being_id, progress)
        active = self._indexing.active_index(self._being_id)
        self.embedding, self.remark = active.index.emb_id, active.remark
        if self._home.ports.is_stack and active.embedder is None and self.embedding != LEXICAL:
            raise ConfigurationError(
                f"the stack searches with {self.embedding}, which the settings of this machine do"
                f" not name; set {VARIABLES['embeddings'].name} as on the stack"
            )

    def rebuild(self, settings: Settings, progress: Progress) -> None:
        """Index the copy again, as `nacre reindex` would with these settings."""
        self._open(settings)
        self._maintenance.reindex(self._being_id, progress)
        active = self._indexing.active_index(self._being_id)
        self.embedding, self.remark = active.index.emb_id, active.remark

    def answers(self, questions: list[KeptQuestion], progress: Progress) -> dict[str, Answer]:
        """Return the answers to the questions.

        Raises UnavailableError if the embedding model does not answer: a search would go on
        without it, and the comparison would say nothing about the model.
        """
        embedder = self._indexing.active_index(self._being_id).embedder
        if embedder is not None and questions:
            embedder.query(questions[0].text)
        return ask_all(self._services.queries, self._clock, self._being_id, questions, progress)

    def memories(self, kinds: Mapping[str, Kind]) -> PresentMemories:
        """Return the present state of these memories."""
        return PresentMemories(MemoryReader(self._table), self._being_id, kinds)

    def close(self) -> None:
        """Remove the copy."""
        self._database.close()

    def _open(self, settings: Settings) -> None:
        home, rng = self._home, SystemRandom()
        chosen = embedders(settings, key=lambda: home.ports.secret_at(settings.embedding_secret))
        self._indexing = IndexSync(
            self._table,
            lambda emb_id: LocalVectors(self._database, emb_id),
            chosen.primary,
            clock=home.ports.clock,
            rng=rng,
            load_embedder=builtin_embedder,
        )
        self._maintenance = IndexMaintenance(self._indexing)
        self._services = open_services(
            self._table,
            SqliteQueue(self._database, "jobs", now=home.ports.clock),
            self._indexing,
            chosen.tokens,
            clock=self._clock,
            rng=rng,
        )


def _copy(source: Table, target: Table, being_id: str) -> None:
    """Copy what a search reads."""
    single = source.get_many([keys.meta(being_id), keys.index_state(being_id)])
    partitions = (keys.scenes(being_id), keys.nodes(being_id), keys.vectors(being_id))
    items: Iterator[Item] = chain(
        single.values(), *(items_in(source, partition) for partition in partitions)
    )
    while part := list(islice(items, _AT_ONCE)):
        target.transact([Put(item) for item in part])
