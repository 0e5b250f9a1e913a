"""Every attack runs against both fronts: the laptop server and the functions on AWS."""

from collections.abc import Iterator

import pytest

from tests.scaffolding.web_site import Site, site


# The portal is one application behind both; what differs is tested on both every time, in
# test_resource_server.
@pytest.fixture(params=["laptop", pytest.param("gateway", marks=pytest.mark.slow)])
def place(request: pytest.FixtureRequest) -> Iterator[Site]:
    with site(request.param) as made:
        yield made
