"""With the index in files a recall reads the same few items, however many memories there are."""

from datetime import datetime
from functools import partial
from typing import Any

import pytest

from nacre.adapters.aws.s3_blobs import S3Blobs
from nacre.being.memory.model import keys
from nacre.wiring import aws
from nacre.wiring.aws import StackPorts
from nacre.wiring.settings import Settings
from tests.end_to_end.load.counting import Functions, functions
from tests.end_to_end.load.metered import READS, Asked

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
]

READ_UNITS = 10  # the goal is 6 beside a file: what is shown, its people and the state of the index
WRITE_UNITS = 3
CALLS = 5


class CountedBlobs(S3Blobs):
    """Blobs of a stack that count how often they are asked."""

    asked = 0

    def put(self, name: str, data: bytes, *, until: datetime | None = None) -> None:
        self.asked += 1
        super().put(name, data, until=until)

    def get(self, name: str) -> bytes | None:
        self.asked += 1
        return super().get(name)


def units(all_: Functions, kind: str) -> tuple[float, float]:
    """Return the read and write units of a call, the mean of some."""
    reads = writes = 0.0
    for _ in range(CALLS):
        bill = all_.call(kind)
        reads += sum(bill.get(name, Asked()).units for name in READS) / CALLS
        writes += sum(of.units for name, of in bill.items() if name not in READS) / CALLS
    return reads, writes


def test_a_recall_reads_as_little_of_200_memories_as_of_20(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[StackPorts] = []

    def with_files(make: Any, settings: Settings) -> StackPorts:
        ports: StackPorts = make(settings._replace(search_files=True, bucket="of the stack"))
        opened.append(ports)
        return ports

    for name in ("mcp_ports", "worker_ports"):
        monkeypatch.setattr(aws, name, partial(with_files, getattr(aws, name)))
    with functions("nacre-load-files") as all_:
        stack = all_.stack
        blobs = CountedBlobs(stack.s3, stack.ids["BlobsBucket"], kms_key_id=stack.ids["NacreKey"])
        for ports in opened:
            vars(ports)["blobs"] = blobs
        all_.note(20)
        place = keys.index_file(all_.being_id)
        stack.dynamodb.update_item(  # as if it had been turned on long ago
            TableName=all_.settings.data_table,
            Key={"pk": {"S": place.pk}, "sk": {"S": place.sk}},
            UpdateExpression="SET #since = :long_ago",
            ExpressionAttributeNames={"#since": "since"},
            ExpressionAttributeValues={":long_ago": {"N": "1"}},
        )
        all_.call("recall")
        assert blobs.asked == 1
        few = units(all_, "recall")
        all_.note(180)
        all_.call("recall")
        before = blobs.asked
        many = units(all_, "recall")

    assert blobs.asked == before
    for reads, writes in (few, many):
        assert (reads <= READ_UNITS, writes <= WRITE_UNITS) == (True, True), (few, many)
