"""The pages about control, and the parts that they work on."""

from collections.abc import Callable

from fastapi import FastAPI

from nacre.console.control_parts import Control


def controls(parts: Control) -> Callable[[FastAPI], None]:
    """Return what adds the pages about control to the portal, loading them only then."""

    def add(app: FastAPI) -> None:
        # As the console's: clients that look for the authorization server do not wait for them.
        from nacre.console.control_pages import ROUTES  # noqa: PLC0415

        app.state.control = parts
        for routes in ROUTES:
            app.include_router(routes)

    return add
