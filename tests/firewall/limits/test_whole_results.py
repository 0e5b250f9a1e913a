from pathlib import Path
from random import Random
from typing import Any

import pytest

from nacre.adapters.aws.s3_blobs import S3Blobs
from nacre.adapters.files.blobs import FileBlobs
from nacre.firewall.limits.whole_results import WholeResults
from nacre.ports.blobs import Blobs
from nacre.protocol import strict_json
from tests.adapters.conftest import StillClock
from tests.scaffolding.aws_stack import Stack


@pytest.fixture(params=["file", "s3"])
def blobs(request: pytest.FixtureRequest, clock: StillClock, tmp_path: Path) -> Blobs:
    if request.param == "file":
        return FileBlobs(tmp_path / "blobs", now=clock)
    stack: Stack = request.getfixturevalue("stack")
    return S3Blobs(stack.s3, stack.ids["BlobsBucket"], kms_key_id=stack.ids["NacreKey"], now=clock)


@pytest.fixture
def whole(blobs: Blobs, clock: StillClock) -> WholeResults:
    return WholeResults(lambda: blobs, clock, Random(1))


RESULT: dict[str, Any] = {
    "content": [
        {"type": "text", "text": "words"},
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "file:///a", "text": "of a file"}},
        {"type": "resource_link", "uri": "file:///b", "name": "b"},
    ],
    "structuredContent": {"rows": [1, 2]},
}


def keep(
    whole: WholeResults, result: Any = RESULT, caller: str = "tok_1", being: str = "b1"
) -> str:
    return whole.keep(strict_json.encode(result), being=being, caller=caller)


def test_its_caller_reads_every_part_of_a_result(whole: WholeResults) -> None:
    uri = keep(whole)

    read = whole.read(uri, being="b1", caller="tok_1")

    assert read == {
        "contents": [
            {"uri": uri, "mimeType": "text/plain", "text": "words"},
            {"uri": uri, "mimeType": "image/png", "blob": "AAAA"},
            {"uri": "file:///a", "text": "of a file"},
            {
                "uri": uri,
                "mimeType": "application/json",
                "text": '{"type":"resource_link","uri":"file:///b","name":"b"}',
            },
            {"uri": uri, "mimeType": "application/json", "text": '{"rows":[1,2]}'},
        ]
    }


def test_the_contents_of_a_resource_come_back_as_they_were(whole: WholeResults) -> None:
    contents = [{"uri": "file:///a", "mimeType": "text/plain", "text": "words"}]

    uri = keep(whole, {"contents": contents})

    assert whole.read(uri, being="b1", caller="tok_1") == {"contents": contents}


@pytest.mark.security
@pytest.mark.parametrize(("being", "caller"), [("b1", "tok_2"), ("b2", "tok_1"), ("", "local")])
def test_nobody_else_reads_it(whole: WholeResults, being: str, caller: str) -> None:
    assert whole.read(keep(whole), being=being, caller=caller) is None


def test_after_an_hour_it_is_gone(whole: WholeResults, clock: StillClock) -> None:
    uri = keep(whole)
    clock.move(3599)
    assert whole.read(uri, being="b1", caller="tok_1") is not None
    clock.move(1)
    assert whole.read(uri, being="b1", caller="tok_1") is None


@pytest.mark.parametrize("id_", ["", "a", "../../x", "A" * 32, "a" * 32, f"{'a' * 32}/x"])
def test_an_unknown_id_is_none(whole: WholeResults, id_: str) -> None:
    assert whole.read(f"nacre://results/{id_}", being="b1", caller="tok_1") is None


def test_erasing_a_being_erases_its_results(whole: WholeResults, blobs: Blobs) -> None:
    uri = keep(whole)

    blobs.delete_all("b1")

    assert whole.read(uri, being="b1", caller="tok_1") is None
