"""Media of an answer: blocks, limits, and a line for what is left out."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.being.orders.media.media_limits import MediaLimits
from nacre.being.orders.media.outgoing import FittedMedia, OutMedia, fit, media_of
from nacre.core.limits import LAMBDA_MEDIA_BYTES, MAX_ANSWER_ITEM_BYTES, MAX_ANSWER_MEDIA_BYTES

LAPTOP = MediaLimits.laptop()
AWS = MediaLimits.aws()


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def zeros(size: int) -> str:
    return "A" * (size // 3 * 4) + ("", "AA==", "AAA=")[size % 3]


@pytest.mark.requirement("001.media.answer.image")
@pytest.mark.parametrize("mime_type", ["image/png", "image/jpeg", "image/gif", "image/webp"])
def test_an_image_is_an_image_block(mime_type: str) -> None:
    block = {"type": "image", "data": "aGk=", "mimeType": mime_type}

    assert fit([OutMedia(mime_type, b"hi", "a.png")], LAPTOP) == FittedMedia([block], [])
    assert fit([OutMedia(mime_type.upper(), "aGk=")], AWS) == FittedMedia([block], [])


@pytest.mark.requirement("001.media.answer.audio")
@pytest.mark.parametrize("mime_type", ["audio/mpeg", "audio/wav", "audio/x-anything"])
def test_a_sound_is_an_audio_block(mime_type: str) -> None:
    block = {"type": "audio", "data": "aGk=", "mimeType": mime_type}

    assert fit([OutMedia(mime_type, b"hi")], LAPTOP) == FittedMedia([block], [])


@pytest.mark.requirement("001.media.answer.resource")
@pytest.mark.parametrize(
    ("name", "mime_type", "uri"),
    [
        ("filename.pdf", "application/pdf", "attachment://filename.pdf"),
        ("", "application/pdf", "attachment://attachment-1.pdf"),
        ("", "application/x-own", "attachment://attachment-1.bin"),
        ("", "image/svg+xml", "attachment://attachment-1.bin"),
        ("a b?#%.txt", "text/plain", "attachment://a%20b%3F%23%25.txt"),
        ("貝.txt", "text/plain", "attachment://%E8%B2%9D.txt"),
        ("../../etc/passwd", "text/plain", "attachment://passwd"),
        ("file:///tmp/x/report.pdf", "application/pdf", "attachment://report.pdf"),
    ],
)
def test_another_file_is_an_embedded_resource(name: str, mime_type: str, uri: str) -> None:
    resource = {"uri": uri, "mimeType": mime_type, "blob": "aGk="}

    fitted = fit([OutMedia(mime_type, b"hi", name)], LAPTOP)

    assert fitted == FittedMedia([{"type": "resource", "resource": resource}], [])


def test_files_of_one_name_get_names_of_their_own() -> None:
    media = [OutMedia("text/plain", data, "a.tar.gz") for data in (b"1", b"2", b"3")]

    assert [block["resource"]["uri"] for block in fit(media, LAPTOP).blocks] == [
        "attachment://a.tar.gz",
        "attachment://a-2.tar.gz",
        "attachment://a-3.tar.gz",
    ]


def test_what_comes_twice_goes_out_once() -> None:
    media = [
        OutMedia("image/png", b"hi"),
        OutMedia("image/png", "aGk="),
        OutMedia("audio/wav", b"hi"),
    ]

    assert [block["type"] for block in fit(media, LAPTOP).blocks] == ["image", "audio"]


@pytest.mark.requirement("001.media.answer.limits")
def test_an_item_may_have_20_mb_and_not_a_byte_more() -> None:
    fits, too_large = (
        OutMedia("video/mp4", zeros(MAX_ANSWER_ITEM_BYTES + extra), "a.mp4") for extra in (0, 1)
    )

    assert len(fit([fits], LAPTOP).blocks) == 1
    assert fit([too_large], LAPTOP) == FittedMedia(
        [], ["a.mp4 (21.0 MB) was left out: one item of an answer may have 20 MiB (21.0 MB)."]
    )


@pytest.mark.requirement("001.media.answer.limits")
@pytest.mark.parametrize("extra", [0, 1])
def test_an_answer_may_have_50_mb_and_not_a_byte_more(extra: int) -> None:
    third = MAX_ANSWER_MEDIA_BYTES - 2 * MAX_ANSWER_ITEM_BYTES + extra
    media = [
        OutMedia("video/mp4", zeros(MAX_ANSWER_ITEM_BYTES), "1.mp4"),
        OutMedia("video/webm", zeros(MAX_ANSWER_ITEM_BYTES), "2.webm"),
        OutMedia("audio/wav", zeros(third), "3.wav"),
        OutMedia("text/plain", b"", "empty.txt"),
    ]

    fitted = fit(media, LAPTOP)

    assert len(fitted.blocks) == 4 - extra
    assert fitted.left_out == extra * [
        "3.wav (10.5 MB) was left out: this server sends at most 50 MiB (52.4 MB) in one answer."
    ]


@pytest.mark.parametrize("extra", [0, 1])
def test_on_aws_an_answer_carries_what_lambda_does(extra: int) -> None:
    fitted = fit([OutMedia("audio/wav", zeros(LAMBDA_MEDIA_BYTES + extra), "a.wav")], AWS)

    assert len(fitted.blocks) == 1 - extra
    assert fitted.left_out == extra * [
        "a.wav (4.5 MB) was left out: this deployment sends at most 4.5 MB in one answer"
        " (AWS Lambda)."
    ]


def test_words_take_room_from_media() -> None:
    item = OutMedia("audio/wav", zeros(LAMBDA_MEDIA_BYTES - 100), "a.wav")

    assert len(fit([item], AWS, text_bytes=100).blocks) == 1
    assert len(fit([item], AWS, text_bytes=101).blocks) == 0


def test_a_smaller_item_fits_after_one_that_does_not() -> None:
    large = OutMedia("audio/wav", zeros(LAMBDA_MEDIA_BYTES + 1), "large.wav")
    fitted = fit([large, OutMedia("image/png", b"hi")], AWS)

    assert [block["type"] for block in fitted.blocks] == ["image"]
    assert len(fitted.left_out) == 1


def test_what_is_not_base64_is_left_out() -> None:
    fitted = fit([OutMedia("image/png", "aGk"), OutMedia("image/png", "a Gk=", "x.png")], LAPTOP)

    assert fitted == FittedMedia(
        [],
        [
            "attachment-1.png was left out: its content is not base64.",
            "x.png was left out: its content is not base64.",
        ],
    )


@given(
    st.lists(st.tuples(st.sampled_from(["image/png", "audio/wav", "a/b"]), st.binary(max_size=9)))
)
def test_everything_is_sent_once_or_named(items: list[tuple[str, bytes]]) -> None:
    limits = MediaLimits(
        call_bytes=1, answer_item_bytes=6, answer_bytes=20, deployment="server", instead=""
    )

    fitted = fit([OutMedia(mime_type, data) for mime_type, data in items], limits)
    sent = [base64.b64decode(text_of(block)) for block in fitted.blocks]

    expected: list[tuple[str, bytes]] = []
    left_out = 0
    for item in items:
        room = 20 - sum(len(data) for _, data in expected)
        if item not in expected:
            if len(item[1]) <= min(6, room):
                expected.append(item)
            else:
                left_out += 1
    assert sent == [data for _, data in expected]
    assert len(fitted.left_out) == left_out


@pytest.mark.parametrize(
    ("block", "media"),
    [
        ({"type": "text", "text": "x"}, None),
        ({"type": "image", "data": 1, "mimeType": "image/png"}, None),
        ({"type": "resource", "resource": {"uri": "a:b", "text": "x"}}, None),
        ({"type": "resource_link", "uri": "a:b", "name": "b"}, None),
        (
            {"type": "image", "data": "aGk=", "mimeType": "image/png", "annotations": {}},
            OutMedia("image/png", "aGk="),
        ),
        ({"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}, OutMedia("audio/wav", "aGk=")),
        (
            {"type": "resource", "resource": {"uri": "file:///r.pdf", "blob": "aGk="}},
            OutMedia("application/octet-stream", "aGk=", "file:///r.pdf"),
        ),
    ],
)
def test_the_medium_of_a_content_block(block: dict[str, Any], media: OutMedia | None) -> None:
    assert media_of(block) == media


def text_of(block: dict[str, Any]) -> str:
    return str(block["data"] if "data" in block else block["resource"]["blob"])
