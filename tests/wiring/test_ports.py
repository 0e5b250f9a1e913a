"""Parts of a deployment that are opened at their first use."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nacre.wiring.compose import compose
from nacre.wiring.laptop import LaptopPorts
from nacre.wiring.ports import lazy
from nacre.wiring.settings import Settings


class Deployment:
    """Counts how often its part is opened."""

    def __init__(self, *, fails: bool = False) -> None:
        self.opened = 0
        self.fails = fails
        self.may_open = threading.Event()

    @lazy
    def part(self) -> object:
        """The part."""
        self.opened += 1
        assert self.may_open.wait(60)
        if self.fails:
            raise OSError("not now")
        return object()


def test_many_threads_open_a_part_once() -> None:
    deployment = Deployment()
    with ThreadPoolExecutor(8) as pool:
        parts = [pool.submit(lambda: deployment.part) for _ in range(8)]
        deployment.may_open.set()
        same = {id(part.result()) for part in parts}

    assert (len(same), deployment.opened) == (1, 1)


def test_a_part_that_could_not_be_opened_is_tried_again() -> None:
    deployment = Deployment(fails=True)
    deployment.may_open.set()
    with pytest.raises(OSError, match="not now"):
        _ = deployment.part
    deployment.fails = False

    assert deployment.part is deployment.part
    assert deployment.opened == 2


def test_two_deployments_have_parts_of_their_own() -> None:
    ones, others = Deployment(), Deployment()
    ones.may_open.set()
    others.may_open.set()

    assert ones.part is not others.part


def test_composing_opens_nothing_but_the_store(tmp_path: Path) -> None:
    ports = LaptopPorts(tmp_path)
    home = compose(ports, Settings(str(tmp_path)))
    assert home.application.surface.tools()
    opened = {"queue", "vault", "blobs", "trail", "screening"} & set(vars(ports))
    home.close()

    assert opened == set()
