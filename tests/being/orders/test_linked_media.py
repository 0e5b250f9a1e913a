"""Media that pass by links to the stack's bucket, and what hostile callers try with them."""

import hashlib
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from random import SystemRandom
from typing import Any
from urllib.parse import parse_qs, urlsplit

import boto3
import pytest
import requests
from botocore.config import Config

from nacre.adapters.aws.s3_media_links import S3MediaLinks
from nacre.being.orders.media.linked_media import LinkedMedia
from nacre.being.orders.media.media_limits import MediaLimits
from nacre.being.orders.media.outgoing import OutMedia, fit
from nacre.core.errors import InvalidArgumentError
from nacre.core.limits import MAX_MEDIA_BYTES, MAX_OPEN_UPLOADS, UPLOAD_SECONDS
from tests.adapters.conftest import StillClock
from tests.being.orders.conftest import World, _a_world, world_over
from tests.scaffolding.aws_stack import REGION, Stack
from tests.scaffolding.model_server import ModelServer

OTHER = "11111111-1111-4111-8111-111111111111"
TEXT = b"The tide turns at noon. " * 220_000  # 5.3 MB: more than a call to Lambda holds


@pytest.fixture
def links(stack: Stack) -> S3MediaLinks:
    session = boto3.Session("test", "test", region_name=REGION)
    client = session.client("s3", config=Config(signature_version="s3v4"))
    return S3MediaLinks(client, stack.ids["BlobsBucket"], kms_key_id=stack.ids["NacreKey"])


@pytest.fixture
def world(
    request: pytest.FixtureRequest, clock: StillClock, model: ModelServer, links: S3MediaLinks
) -> Iterator[World]:
    """A Being on DynamoDB whose orders may name uploads."""
    for plain in _a_world(request, clock, model, "lambda"):
        yield world_over(plain.mind, model, clock, is_remote=True, media_links=links)


def announced(content: bytes, mime_type: str = "text/plain", **more: Any) -> dict[str, Any]:
    return {"mimeType": mime_type, "filename": "tides.txt", "size": len(content), **more}


def offered(world: World, **entry: Any) -> dict[str, Any]:
    """Ask for a link, and return its block."""
    result = world.give("Read this", files=[entry])
    assert result["isError"] is False, result
    text, block = result["content"]
    assert "not carried out yet" in text["text"]
    return dict(block)


def sent(block: dict[str, Any], content: bytes) -> int:
    """Send a content to its link, as a client does; return the status."""
    headers = block["_meta"]["nacre/upload"]["headers"]
    return requests.put(block["uri"], data=content, headers=headers, timeout=10).status_code


def named(block: dict[str, Any], **more: Any) -> dict[str, Any]:
    upload = block["_meta"]["nacre/upload"]["id"]
    return {"mimeType": "text/plain", "filename": "tides.txt", "upload": upload, **more}


def objects(stack: Stack) -> list[str]:
    found = stack.s3.list_objects_v2(Bucket=stack.ids["BlobsBucket"], Prefix="media/")
    return [each["Key"] for each in found.get("Contents", [])]


def test_a_file_that_no_call_holds_is_uploaded_and_read(world: World, stack: Stack) -> None:
    block = offered(world, **announced(TEXT))
    status = sent(block, TEXT)
    there = objects(stack)
    answer = world.text("When does the tide turn?", files=[named(block)])

    assert (block["type"], block["mimeType"], block["size"]) == (
        "resource_link", "text/plain", len(TEXT),
    )  # fmt: skip
    assert status == 200
    upload = block["_meta"]["nacre/upload"]["id"]
    assert there == [f"media/{world.being_id}/in/{upload}"]
    assert answer == "Very well."
    assert "The tide turns at noon." in str(world.model.questions[-1])
    assert objects(stack) == []


def test_a_link_is_bound_to_length_type_hash_and_the_first_use(world: World) -> None:
    digest = hashlib.sha256(TEXT).hexdigest()
    block = offered(world, **announced(TEXT, sha256=digest))
    query = parse_qs(urlsplit(block["uri"]).query)

    assert set(query["X-Amz-SignedHeaders"][0].split(";")) == {
        "content-length", "content-type", "host", "if-none-match", "x-amz-checksum-sha256",
    }  # fmt: skip
    assert query["X-Amz-Expires"] == ["900"]
    assert block["_meta"]["nacre/upload"]["headers"] == {
        "Content-Type": "text/plain",
        "If-None-Match": "*",
        "x-amz-checksum-sha256": b64encode(bytes.fromhex(digest)).decode(),
    }


def test_a_content_cannot_be_swapped_through_its_link(world: World) -> None:
    block = offered(world, **announced(b"first"))

    assert (sent(block, b"first"), sent(block, b"other")) == (200, 412)


@pytest.mark.parametrize(
    ("announcement", "content", "told"),
    [
        (announced(b"12345"), b"123", "3 bytes were uploaded, and 5 were announced"),
        (announced(b"12345"), b"\xff\xfe\xff\xfe\x00"[:5], "is not text"),
        (announced(b"%PDF-", "application/pdf"), b"PK\3\4x", "looks like application/zip"),
        (
            announced(b"12345", sha256=hashlib.sha256(b"12345").hexdigest()),
            b"54321",
            "not the one that was announced",
        ),
    ],
    ids=["length", "no text", "type", "hash"],
)
def test_what_is_not_as_announced_is_refused(
    world: World, announcement: dict[str, Any], content: bytes, told: str, stack: Stack
) -> None:
    block = offered(world, **announcement)
    upload = block["_meta"]["nacre/upload"]["id"]
    # Past the link, whose signature a fake S3 does not check.
    stack.s3.put_object(
        Bucket=stack.ids["BlobsBucket"], Key=f"media/{world.being_id}/in/{upload}", Body=content
    )

    assert told in world.error("Read", files=[named(block, mimeType=announcement["mimeType"])])
    assert world.model.questions == []


def test_an_upload_is_used_by_one_order(world: World) -> None:
    block = offered(world, **announced(b"tides"))
    early = world.error("Read", files=[named(block)])
    sent(block, b"tides")
    twice = world.error("Read", files=[named(block), named(block)])
    world.text("Read", files=[named(block)])

    assert "nothing was uploaded yet" in early
    assert "named twice" in twice
    assert "upload" in world.error("Read", files=[named(block)])


def test_a_task_that_runs_again_gets_its_upload_and_nobody_else_does(
    world: World, links: S3MediaLinks, clock: StillClock
) -> None:
    block = offered(world, **announced(b"tides"))
    sent(block, b"tides")
    media = LinkedMedia(world.mind.table, lambda: links, clock, SystemRandom())
    call = media.named(world.being_id, None, [named(block)], MediaLimits.aws())
    first = media.fetched(world.being_id, call, turn="task-1")

    assert media.fetched(world.being_id, call, turn="task-1") == first
    with pytest.raises(InvalidArgumentError, match="used by another order"):
        media.fetched(world.being_id, call, turn="task-2")


def test_an_upload_is_its_beings_alone_and_ends(world: World, clock: StillClock) -> None:
    block = offered(world, **announced(b"tides"))
    sent(block, b"tides")
    media = LinkedMedia(world.mind.table, lambda: pytest.fail("no link"), clock, SystemRandom())

    with pytest.raises(InvalidArgumentError, match="no such upload"):
        media.named(OTHER, None, [named(block)], MediaLimits.aws())
    clock.move(UPLOAD_SECONDS + 1)
    assert "no such upload" in world.error("Read", files=[named(block)])


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"size": MAX_MEDIA_BYTES + 1}, "one file may have 15 MiB"),
        ({"size": 0}, "'size' must be a number of bytes"),
        ({"size": True}, "expected an integer"),
        ({"size": 5, "sha256": "../etc"}, "'sha256' must be 64 hexadecimal digits"),
        ({"size": 5, "sha256": 5}, "expected a string"),
        ({"size": 5, "mimeType": "text/x-sh"}, "is not accepted"),
        ({"upload": "../../other/in/x"}, "must be the id of an upload"),
        ({"upload": 5}, "expected a string"),
        ({"upload": "0" * 32, "data": "aGk="}, "either 'data' or 'upload'"),
        ({"upload": "0" * 32}, "no such upload"),
    ],
    ids=str,
)
def test_a_wrong_announcement_is_refused_by_name(
    world: World, entry: dict[str, Any], told: str
) -> None:
    error = world.error("Read", files=[{"mimeType": "text/plain", **entry}])

    assert error.startswith("Error: ")
    assert told in error


def test_a_being_has_a_bounded_number_of_waiting_uploads(world: World) -> None:
    entry = announced(b"tides")
    for _ in range(MAX_OPEN_UPLOADS // 5):
        assert world.give("Read", files=[entry] * 5)["isError"] is False

    assert f"at most {MAX_OPEN_UPLOADS}" in world.error("Read", files=[entry])


@pytest.mark.slow
def test_an_upload_that_was_used_no_longer_waits(world: World) -> None:
    entry = announced(b"tides")
    for _ in range(MAX_OPEN_UPLOADS // 5 - 1):
        world.give("Read", files=[entry] * 5)
    for _ in range(6):
        block = offered(world, **entry)
        sent(block, b"tides")
        world.text("Read", files=[named(block)])


def test_what_an_answer_cannot_hold_becomes_a_link(
    world: World, links: S3MediaLinks, clock: StillClock
) -> None:
    media = LinkedMedia(world.mind.table, lambda: links, clock, SystemRandom())
    limits = MediaLimits.aws().with_links()
    big, small = OutMedia("audio/wav", TEXT, "tide.wav"), OutMedia("image/png", b"x", "a.png")
    found = fit([big, small], limits, link=media.download(world.being_id))
    link, image = found.blocks

    assert found.left_out == []
    assert {**link, "uri": ""} == {
        "type": "resource_link",
        "uri": "",
        "name": "tide.wav",
        "description": "Download it within 15 minutes",
        "mimeType": "audio/wav",
        "size": len(TEXT),
    }
    assert requests.get(link["uri"], timeout=10).content == TEXT
    assert image["type"] == "image"


def test_an_answer_with_links_has_limits_too() -> None:
    limits = replace(MediaLimits.aws().with_links(), linked_bytes=6_000_000)
    film = OutMedia("video/mp4", TEXT, "one.mp4")
    other = OutMedia("video/mp4", TEXT + b"x", "two.mp4")
    found = fit([film, other], limits, link=lambda _data, _type, _name: "https://link")

    assert [block["name"] for block in found.blocks] == ["one.mp4"]
    assert found.left_out == [
        "two.mp4 (5.3 MB) was left out: this deployment sends at most 6.0 MB in one answer."
    ]
