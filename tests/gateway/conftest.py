"""Patience with servers behind the gateway."""

import pytest


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for a server that starts slowly because the machine is busy: it is not missing."""
    monkeypatch.setattr("nacre.gateway.catalogue.fetcher.GATHER_SECONDS", 60.0)
