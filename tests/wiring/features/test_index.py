"""The search index of each deployment, and the error where its client is missing."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest

from nacre.adapters.aws.ssm_secrets import SsmSecrets
from nacre.adapters.qdrant.vectors import QdrantVectors
from nacre.adapters.sqlite.vectors import LocalVectors
from nacre.adapters.vectors.item_vectors import ItemVectors
from nacre.core.errors import ConfigurationError
from nacre.ports.vectors.vector_index import VectorIndex
from nacre.wiring.aws import StackPorts
from nacre.wiring.features.index import search_index
from nacre.wiring.laptop import LaptopPorts
from nacre.wiring.ports import Ports
from nacre.wiring.settings import Secret, Settings
from tests.scaffolding.aws_stack import REGION
from tests.wiring.deployed import deployed

EMB_ID = "test:words:8:1"
QDRANT = Settings("/data", qdrant_url="https://127.0.0.1:9", qdrant_api_key=Secret("key"))


@contextmanager
def opened(settings: Settings, folder: Path, *, on_stack: bool) -> Iterator[VectorIndex]:
    laptop = LaptopPorts(folder)
    ports: Ports = laptop
    if on_stack:
        ports = StackPorts(settings, clients=lambda _service: None)
        vars(ports).update(data=laptop.data, queue=laptop.queue)
    yield search_index(ports, settings, None).indexing.index(EMB_ID)
    laptop.close()


@pytest.mark.parametrize(
    ("settings", "on_stack", "expected"),
    [
        (Settings("/data"), False, LocalVectors),
        (Settings("/data"), True, ItemVectors),
        (QDRANT, False, QdrantVectors),
        (QDRANT, True, QdrantVectors),
    ],
)
def test_the_url_of_qdrant_decides(
    settings: Settings, *, on_stack: bool, expected: type[VectorIndex], tmp_path: Path
) -> None:
    with opened(settings, tmp_path, on_stack=on_stack) as index:
        assert isinstance(index, expected)


def test_the_servers_key_is_read_from_the_stacks_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    with deployed(monkeypatch):
        client: Callable[..., Any] = boto3.Session(region_name=REGION).client
        SsmSecrets(client("ssm"), prefix="/nacre/one", key_arn="alias/aws/ssm").set(
            "QDRANT_API_KEY", "k"
        )

        ports = StackPorts(Settings(""), clients=client)
        assert ports.secret_at("/nacre/one/QDRANT_API_KEY") == "k"
        assert ports.secret_at("") == ""
        with pytest.raises(ConfigurationError, match="nacre secret set OTHER --stack"):
            ports.secret_at("/nacre/one/OTHER")


def test_a_client_that_is_not_installed_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in [module for module in sys.modules if module.startswith("nacre.adapters.qdrant")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "qdrant_client", None)

    with (
        pytest.raises(ConfigurationError, match=r"pip install '\.\[qdrant\]'"),
        opened(QDRANT, tmp_path, on_stack=False),
    ):
        pass
