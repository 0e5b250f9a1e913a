"""Who may come in: owners, sessions and clients over the tables of a place."""

from collections.abc import Callable
from functools import cache
from random import Random
from typing import TYPE_CHECKING

from nacre.core.clock import Clock
from nacre.ports.items.table import Table

if TYPE_CHECKING:
    from nacre.access.authority import Authority


def cached_authority(
    tokens: Table, data: Table, *, fetches: bool = False, clock: Clock, rng: Random
) -> "Callable[[], Authority]":
    """Return the authority over two tables; few commands need it, so it loads on first use.

    `fetches` lets clients be known by documents on the internet: to be said only where the
    internet can be reached, because such a client tries nothing else.
    """

    @cache
    def opened() -> "Authority":
        from nacre.access.authority import authority

        documents = None
        if fetches:
            from nacre.adapters.http.client_documents import HttpsClientDocuments

            documents = HttpsClientDocuments()
        return authority(tokens, data, documents=documents, clock=clock, rng=rng)

    return opened
