"""Chromium for the tests that look at pages as people do."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from infra.browser import AXE, browsing, chromium_path


@pytest.fixture
def browser() -> Iterator[Browser]:
    """A browser of the test's own.

    It is asked for first and closed last: while it runs, the main thread has an event loop.
    """
    if chromium_path() is None:
        pytest.skip("Chromium is not installed; on Debian: apt-get install chromium")
    assert AXE.is_file(), "run it as `make browser`, which fetches axe"
    with browsing() as made:
        yield made
