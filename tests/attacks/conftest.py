"""Every attack runs against both fronts: the laptop server and the functions on AWS."""

from collections.abc import Iterator

import pytest

from tests.web import Site, site


@pytest.fixture(params=["laptop", "gateway"])
def place(request: pytest.FixtureRequest) -> Iterator[Site]:
    with site(request.param) as made:
        yield made
