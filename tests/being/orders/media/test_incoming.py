"""Media that come with an order: what is taken, what is refused, and how that is said."""

import base64
import hashlib
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.being.orders.media.incoming import Attachment, read_attachments
from nacre.being.orders.media.media_limits import MediaLimits
from nacre.being.orders.media.media_types import FILES, IMAGES
from nacre.core.errors import InvalidArgumentError
from nacre.core.limits import LAMBDA_MEDIA_BYTES, LAPTOP_MEDIA_BYTES, MAX_FILE_NAME, MAX_MEDIA_BYTES
from tests.being.orders.documents import SAMPLES, pdf, png, riff, sent
from tests.scaffolding.laws import examples

LAPTOP = MediaLimits.laptop()


def read(images: Any = None, files: Any = None, limits: MediaLimits = LAPTOP) -> Any:
    return read_attachments(images, files, limits)


def refusal(images: Any = None, files: Any = None, limits: MediaLimits = LAPTOP) -> str:
    with pytest.raises(InvalidArgumentError) as caught:
        read_attachments(images, files, limits)
    return str(caught.value)


def text_file(data: bytes | str, name: str | None = None) -> dict[str, str]:
    return sent(data, "text/plain", name)


def test_a_call_without_media_has_no_attachments() -> None:
    assert read() == read([], []) == ()


@pytest.mark.requirement("001.media.images")
@pytest.mark.parametrize("mime_type", sorted(IMAGES))
def test_an_image_of_each_type_is_taken(mime_type: str) -> None:
    data = SAMPLES[mime_type]

    (attachment,) = read([sent(data, mime_type, "a picture")])

    assert attachment == Attachment(
        kind="image",
        mime_type=mime_type,
        name="a picture",
        size=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        base64=base64.b64encode(data).decode(),
    )
    assert attachment.data == data
    assert attachment.head(3) == data[:3]


@pytest.mark.requirement("001.media.files")
@pytest.mark.parametrize("mime_type", sorted(FILES))
def test_a_file_of_each_type_is_taken(mime_type: str) -> None:
    (attachment,) = read(files=[sent(SAMPLES[mime_type], mime_type)])

    assert (attachment.kind, attachment.mime_type, attachment.data) == (
        "file",
        mime_type,
        SAMPLES[mime_type],
    )


def test_the_types_are_those_of_the_seed() -> None:
    assert sorted(IMAGES) == ["image/gif", "image/jpeg", "image/png", "image/webp"]
    assert set(SAMPLES) == {*IMAGES, *FILES}
    assert len(FILES) == 21


def test_images_come_first_and_each_keeps_its_place() -> None:
    attachments = read(
        [sent(png(), "image/png"), sent(png(), "image/png", "b.png")],
        [text_file(b"c"), text_file(b"d")],
    )

    assert [attachment.name for attachment in attachments] == [
        "image-1.png",
        "b.png",
        "file-1.txt",
        "file-2.txt",
    ]


def test_a_type_is_known_in_capitals_and_with_parameters() -> None:
    (attachment,) = read(files=[sent(b"hi", " Text/Plain; charset=utf-8 ")])

    assert attachment.mime_type == "text/plain"


@pytest.mark.requirement("001.media.images")
@pytest.mark.parametrize("count", [10, 11])
def test_ten_images_are_taken_and_not_eleven(count: int) -> None:
    images = [sent(png(), "image/png")] * count

    if count == 10:
        assert len(read(images)) == 10
    else:
        assert refusal(images).startswith("there are 11 images; one call takes at most 10.")


@pytest.mark.requirement("001.media.files")
@pytest.mark.parametrize("count", [5, 6])
def test_five_files_are_taken_and_not_six(count: int) -> None:
    files = [text_file(b"x")] * count

    if count == 5:
        assert len(read(files=files)) == 5
    else:
        assert refusal(files=files).startswith("there are 6 files; one call takes at most 5.")


@pytest.mark.requirement("001.media.images")
def test_an_image_may_have_15_mb_and_not_a_byte_more() -> None:
    assert read([sent(png(MAX_MEDIA_BYTES), "image/png")])[0].size == MAX_MEDIA_BYTES
    assert refusal([sent(png(MAX_MEDIA_BYTES + 1), "image/png", "big.png")]) == (
        "images[0] (big.png): it is 15.73 MB; one image may have 15 MiB (15.7 MB)"
    )


@pytest.mark.requirement("001.media.files")
def test_a_file_may_have_15_mb_and_not_a_byte_more() -> None:
    assert read(files=[text_file(b"a" * MAX_MEDIA_BYTES)])[0].size == MAX_MEDIA_BYTES
    assert "one file may have 15 MiB" in refusal(files=[text_file(b"a" * (MAX_MEDIA_BYTES + 1))])


@pytest.mark.parametrize(
    ("limits", "most", "error"),
    [
        (
            MediaLimits.aws(),
            LAMBDA_MEDIA_BYTES,
            "attachments are 4.500001 MB; this deployment accepts 4.5 MB per call (AWS Lambda)."
            " Use the local server or fewer files.",
        ),
        (
            LAPTOP,
            LAPTOP_MEDIA_BYTES,
            "attachments are 75.000001 MB; this server accepts 75.0 MB per call. Use fewer files.",
        ),
    ],
)
def test_a_call_has_a_limit_of_its_deployment(limits: MediaLimits, most: int, error: str) -> None:
    pieces, remainder = divmod(most, MAX_MEDIA_BYTES)
    # The size is known without decoding, so that content need not even be right.
    images = [sent(zeros(MAX_MEDIA_BYTES), "image/png")] * pieces

    assert refusal([*images, sent(zeros(remainder + 1), "image/png")], None, limits) == error
    assert "does not begin" in refusal([*images, sent(zeros(remainder), "image/png")], None, limits)


def test_what_is_far_too_large_is_said_in_round_numbers() -> None:
    files = [text_file(zeros(4_600_000))] * 2

    assert refusal(files=files, limits=MediaLimits.aws()) == (
        "attachments are 9.2 MB; this deployment accepts 4.5 MB per call (AWS Lambda)."
        " Use the local server or fewer files."
    )


def test_sizes_are_checked_before_anything_is_decoded() -> None:
    undecodable = sent("!" * 8, "image/png")

    assert "one image may have" in refusal(
        [undecodable, sent(zeros(MAX_MEDIA_BYTES + 1), "image/png")]
    )


@pytest.mark.requirement("001.media.base64")
@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "it is empty"),
        ("aGVs bG8=aaa", "white space at character 5"),
        ("aGVsbG8=\n\n\n\n", "white space at character 9"),
        ("\naGVsbG8gYW", "white space at character 1"),
        ("aGVs\r\nbG8=AA", "white space at character 5"),
        ("aGVsbG8", "not a multiple of four: it is cut short or not padded"),
        ("aGVsbG8==", "not a multiple of four"),
        ("aGVs-G8_", "'-' at character 5: that is base64url"),
        ("aGVs_G8-", "'_' at character 5: that is base64url"),
        ("aGVsbG8=aGVsbG8=", "'=' at character 8, before its end"),
        ("====", "'=' at character 1, before its end"),
        ("a===", "'=' at character 2, before its end"),
        ("aGVsbG9=", "its last characters are not base64 of whole bytes"),
        ("aGVsbB==", "its last characters are not base64 of whole bytes"),
        ("aGVs\u0431G8=", "character 5 is not base64"),
        ("\uff21\uff27\uff36\uff33", "character 1 is not base64"),
        ("aGVs\0G8=", "character 5 is not base64"),
        ("\ud800Vsb", "character 1 is not base64"),
        ("data:text/plain;base64,aGVsbG8=", "it is a data: URI; send the base64 text alone"),
        (
            "https://example.com/a.png",
            "it is a URL; media are sent as base64, and nothing is fetched",
        ),
        ("file:///etc/passwd==", "it is a URL; media are sent as base64, and nothing is fetched"),
    ],
)
def test_only_strict_base64_is_taken(text: str, error: str) -> None:
    assert error in refusal(files=[text_file(text)])


def test_a_fault_far_into_the_text_is_found() -> None:
    good = base64.b64encode(b"a" * 300_000).decode()
    for place in (65_535, 65_536, 65_537, 399_999):
        text = good[:place] + "\n" + good[place + 1 :]
        assert f"white space at character {place + 1}" in refusal(files=[text_file(text)])
    # Padding where two pieces of the decoder meet is padding in the middle.
    padded = good[: 65_536 - 4] + "YQ==" + good[65_536:]
    assert "'=' at character 65535" in refusal(files=[text_file(padded)])


HOSTILE = [
    (sent(SAMPLES["application/zip"], "image/png"), "looks like application/zip"),
    (sent(b"PK\3\4" + bytes(30), "image/jpeg"), "looks like application/zip"),
    (sent(b"<svg onload='alert(1)'/>", "image/png"), "but is text"),
    (
        sent(b"<svg/>", "image/svg+xml"),
        "the type 'image/svg+xml' is not accepted; images may be image",
    ),
    (sent(SAMPLES["application/pdf"], "image/png"), "looks like application/pdf"),
    (sent(SAMPLES["image/png"], "image/jpeg"), "looks like image/png"),
    (sent(SAMPLES["image/png"][:-1], "image/png"), "the image/png is cut short"),
    (sent(SAMPLES["image/png"][:30], "image/png"), "the image/png is cut short"),
    (sent(SAMPLES["image/jpeg"][:-2], "image/jpeg"), "the image/jpeg is cut short"),
    (sent(SAMPLES["image/webp"][:-1], "image/webp"), "the image/webp is cut short"),
    (sent(b"\x89PNG", "image/png"), "does not begin like one"),
    (sent(b"GIF90a...", "image/gif"), "but is text"),
    (sent(riff(b"WAVE"), "image/webp"), "looks like audio/wav"),
    (sent(b"MZ\x90\0", "image/png"), "does not begin like one"),
    (sent(SAMPLES["text/plain"], "text/plain"), "text/plain goes into 'files', not into 'images'"),
    (sent(png(), "image"), "the type 'image' is not accepted"),
    (sent(png(), ""), "the type '' is not accepted"),
    (sent(png(), "image/png\r\nx: y"), "the type 'image/png x: y' is not accepted"),
    (sent(png(), "image/" + "x" * 1000), "x' is not accepted"),
]


@pytest.mark.parametrize(("image", "error"), HOSTILE)
def test_an_image_is_what_it_says_or_refused(image: dict[str, str], error: str) -> None:
    complaint = refusal([image])

    assert complaint.startswith("images[0]: ")
    assert error in complaint
    assert len(complaint) < 300


@pytest.mark.parametrize(
    ("file", "error"),
    [
        (sent(png(), "image/png"), "image/png goes into 'images', not into 'files'"),
        (sent(png(), "application/pdf"), "looks like image/png"),
        (sent(b"junk %PDF-1.4", "application/pdf"), "but is text"),
        (sent(b"\xff\xfe\xfd", "text/plain"), "but is not text in UTF-8"),
        (sent(b"caf\xe9", "text/csv"), "but is not text in UTF-8"),
        (sent(b"a\0b", "text/markdown"), "but is not text in UTF-8"),
        (sent(b"cut \xe4\xb8", "text/plain"), "but is not text in UTF-8"),
        (sent(SAMPLES["application/pdf"] + b"\xff", "text/plain"), "looks like application/pdf"),
        (sent(SAMPLES["application/gzip"], "application/zip"), "looks like application/gzip"),
        (sent(bytes(512), "application/x-tar"), "does not begin like one"),
        (sent(b"x" * 512, "application/x-tar"), "but is text"),
        (sent(b"\xff\xf1\x50\x80", "audio/mpeg"), "does not begin like one"),
        (sent(b"OggS" + bytes(50), "audio/opus"), "looks like audio/ogg"),
        (sent(SAMPLES["video/mp4"], "audio/wav"), "looks like audio/mp4"),
        (sent(b"x", "application/octet-stream"), "'application/octet-stream' is not accepted"),
        (sent(b"#!/bin/sh", "application/x-sh"), "'application/x-sh' is not accepted"),
    ],
)
def test_a_file_is_what_it_says_or_refused(file: dict[str, str], error: str) -> None:
    assert error in refusal(files=[file])


@pytest.mark.requirement("001.media.archives")
def test_what_is_two_things_is_only_what_it_says() -> None:
    zipped = b"PK\3\4" + zlib.compress(b"x" * 1_000_000) + SAMPLES["application/zip"]
    picture, document, text = png() + zipped, pdf("hi") + zipped, b"GIF89a=1;alert(1)"
    attachments = read([sent(picture, "image/png")], [sent(document, "application/pdf")])

    assert [(attachment.mime_type, attachment.data) for attachment in attachments] == [
        ("image/png", picture),
        ("application/pdf", document),
    ]
    assert "looks like image/gif" in refusal(files=[sent(text + b"\xff", "text/html")])


@pytest.mark.parametrize(
    ("images", "files", "error"),
    [
        ("x", None, "'images' must be a list"),
        ({}, None, "'images' must be a list"),
        (7, None, "'images' must be a list"),
        (None, b"x", "'files' must be a list"),
        ([None], None, "images[0]: expected an object with data and mimeType"),
        (["aGVsbG8="], None, "images[0]: expected an object with data and mimeType"),
        ([{}], None, "images[0]: 'data' must be base64 text"),
        ([{"data": 1, "mimeType": "image/png"}], None, "images[0]: 'data' must be base64 text"),
        ([{"data": "AAAA"}], None, "images[0]: 'mimeType' must be text, such as image/png"),
        (None, [{"data": "AAAA"}], "files[0]: 'mimeType' must be text, such as application/pdf"),
        (
            None,
            [text_file(b"a"), {**text_file(b"a"), "filename": 1}],
            "files[1]: 'filename' must be",
        ),
    ],
)
def test_what_is_no_list_of_media_is_refused(images: Any, files: Any, error: str) -> None:
    assert refusal(images, files).startswith(error)


@pytest.mark.requirement("001.media.filename")
@pytest.mark.parametrize(
    ("file_name", "name"),
    [
        (None, "file-1.txt"),
        ("", "file-1.txt"),
        ("notes.txt", "notes.txt"),
        ("../../etc/passwd", "passwd"),
        ("..\\..\\windows\\win.ini", "win.ini"),
        ("/etc/", "file-1.txt"),
        ("..", "file-1.txt"),
        ("...", "file-1.txt"),
        (" . ", "file-1.txt"),
        ("C:\\a.txt", "a.txt"),
        ("a\nb\0c.txt", "a bc.txt"),
        ("exe\u202etxt.a", "exetxt.a"),
        ("`rm`.txt", "'rm'.txt"),
        ("日本語 🐚.txt", "日本語 🐚.txt"),
        ("\ud800.txt", ".txt"),
        ("x" * 300 + ".txt", "x" * (MAX_FILE_NAME - 4) + ".txt"),
        ("x" * 300, "x" * MAX_FILE_NAME),
    ],
)
def test_a_file_name_is_a_plain_name(file_name: str | None, name: str) -> None:
    assert read(files=[text_file(b"x", file_name)])[0].name == name


@given(st.text(max_size=400))
def test_any_file_name_becomes_one_short_line(file_name: str) -> None:
    (attachment,) = read(files=[text_file(b"x", file_name)])

    assert 1 <= len(attachment.name) <= MAX_FILE_NAME
    assert attachment.name.isprintable()
    assert not set(attachment.name) & set("/\\`\r\n")
    assert attachment.name not in (".", "..")
    attachment.name.encode()


@given(st.binary(min_size=1, max_size=300))
def test_every_archive_comes_out_as_it_went_in(data: bytes) -> None:
    archive = b"PK\3\4" + data

    (attachment,) = read(files=[sent(archive, "application/zip")])

    assert (attachment.data, attachment.size) == (archive, len(archive))
    assert attachment.sha256 == hashlib.sha256(archive).hexdigest()
    assert [attachment.head(size) for size in range(9)] == [archive[:size] for size in range(9)]


@settings(max_examples=examples(150))
@given(st.text(st.sampled_from("AQgw=+/-_ \n!é"), max_size=12))
def test_what_is_taken_is_the_one_spelling_of_its_content(text: str) -> None:
    item = {"data": text, "mimeType": "application/zip"}
    zipped = {"data": "UEsDBFBL" + text, "mimeType": "application/zip"}
    for file in (item, zipped):
        try:
            (attachment,) = read(files=[file])
        except InvalidArgumentError:
            continue
        assert base64.b64encode(attachment.data).decode() == file["data"]


@given(st.text(max_size=200))
def test_every_text_is_text_however_its_pieces_fall(text: str) -> None:
    clean = text.replace("\0", "")
    for encoded in (
        clean.encode("utf-8", "ignore"),
        b"\xff\xfe" + clean.encode("utf-16-le", "ignore"),
    ):
        if encoded:
            assert read(files=[text_file(encoded)])[0].data == encoded


def test_the_content_stays_out_of_what_is_shown() -> None:
    (attachment,) = read([sent(png(), "image/png")])

    assert base64.b64encode(png()).decode()[:20] not in repr(attachment)


def zeros(size: int) -> str:
    return "A" * (size // 3 * 4) + ("", "AA==", "AAA=")[size % 3]
