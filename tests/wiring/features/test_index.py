"""Which index a store gets, and what is said where it cannot be had."""

import sys
from collections.abc import Callable
from random import Random
from typing import Any

import boto3
import pytest

from nacre.adapters.aws.ssm_secrets import SsmSecrets
from nacre.adapters.qdrant.vectors import QdrantVectors
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.queue import SqliteQueue
from nacre.adapters.sqlite.table import SqliteTable
from nacre.adapters.sqlite.vectors import LocalVectors
from nacre.adapters.vectors.item_vectors import ItemVectors
from nacre.core.clock import system_clock
from nacre.core.errors import ConfigurationError
from nacre.ports.vectors import VectorIndex
from nacre.wiring.features.index import SearchIndex, laptop_index, stack_index, stack_secret
from nacre.wiring.settings import Secret, Settings
from tests.aws_stack import REGION
from tests.wiring.deployed import deployed

EMB_ID = "test:words:8:1"
QDRANT = Settings("/data", qdrant_url="https://127.0.0.1:9", qdrant_api_key=Secret("key"))


def opened(settings: Settings, *, on_stack: bool) -> VectorIndex:
    database = SqliteDatabase(":memory:")
    queue = SqliteQueue(database, "jobs")
    index: SearchIndex
    if on_stack:
        table = SqliteTable(database)
        index = stack_index(table, queue, None, settings, clock=system_clock, rng=Random(1))
    else:
        index = laptop_index(database, queue, None, settings, clock=system_clock, rng=Random(1))
    return index.indexing.index(EMB_ID)


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
    settings: Settings, *, on_stack: bool, expected: type[VectorIndex]
) -> None:
    assert isinstance(opened(settings, on_stack=on_stack), expected)


def test_the_servers_key_is_read_from_the_stacks_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    with deployed(monkeypatch):
        client: Callable[..., Any] = boto3.Session(region_name=REGION).client
        SsmSecrets(client("ssm"), prefix="/nacre/one", key_arn="alias/aws/ssm").set(
            "QDRANT_API_KEY", "k"
        )

        assert stack_secret(client, "/nacre/one/QDRANT_API_KEY") == "k"
        assert stack_secret(client, "") == ""
        with pytest.raises(ConfigurationError, match="nacre secret set OTHER --stack"):
            stack_secret(client, "/nacre/one/OTHER")


def test_a_client_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in sys.modules if each.startswith("nacre.adapters.qdrant")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "qdrant_client", None)

    with pytest.raises(ConfigurationError, match=r"pip install '\.\[qdrant\]'"):
        opened(QDRANT, on_stack=False)
