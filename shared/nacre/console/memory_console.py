"""The owner's pages, and the parts that they work on."""

from collections.abc import Callable

from fastapi import FastAPI

from nacre.console.memory_parts import Console


def console(parts: Console) -> Callable[[FastAPI], None]:
    """Return what adds the owner's pages to the portal, loading them only then."""

    def add(app: FastAPI) -> None:
        # Half of what the portal function would start with is what the pages show.
        from nacre.console.memory_pages import ROUTES  # noqa: PLC0415

        app.state.console = parts
        for routes in ROUTES:
            app.include_router(routes)

    return add
