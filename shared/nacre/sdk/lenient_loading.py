"""Loading a file of tools: a wrong definition is left out, and the others work.

Everywhere else a wrong definition raises at once, where its author's editor and tests see it.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_IS_LOADING = ContextVar("is_loading", default=False)


@contextmanager
def loading() -> Iterator[None]:
    """Leave wrong definitions out while the block runs."""
    token = _IS_LOADING.set(True)
    try:
        yield
    finally:
        _IS_LOADING.reset(token)


def is_loading() -> bool:
    """Tell whether a wrong definition is left out and not raised."""
    return _IS_LOADING.get()


class LeavesOut:
    """Keeps the errors of definitions that were left out while a file was loaded."""

    def __init__(self) -> None:
        self.left_out: dict[str, Exception] = {}

    @contextmanager
    def leaving_out(self, kind: str, name: object) -> Iterator[None]:
        """Add one definition; its error is kept while a file is loaded, and raised otherwise."""
        try:
            yield
        except Exception as error:
            if not is_loading():
                raise
            self.left_out[f"{kind} '{str(name)[:100]}'"] = error


def check_json(definition: Mapping[str, Any]) -> None:
    """Raise TypeError or ValueError for a definition that no list could carry."""
    json.dumps(definition, ensure_ascii=False, allow_nan=False).encode()
