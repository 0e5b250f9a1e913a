"""Content blocks in wire form."""

import pytest

from nacre import (
    Annotations,
    AudioContent,
    EmbeddedResource,
    ImageContent,
    ResourceContents,
    ResourceLink,
    TextContent,
    ToolContent,
)


@pytest.mark.requirement("002.result.content")
@pytest.mark.parametrize(
    ("block", "wire"),
    [
        (TextContent("Hi"), {"type": "text", "text": "Hi"}),
        (TextContent(""), {"type": "text", "text": ""}),
        (
            ImageContent("base64data...", "image/png"),
            {"type": "image", "data": "base64data...", "mimeType": "image/png"},
        ),
        (
            ImageContent(b"\x89PNG", "image/png"),
            {"type": "image", "data": "iVBORw==", "mimeType": "image/png"},
        ),
        (
            AudioContent(b"RIFF", "audio/wav"),
            {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
        ),
        (
            ResourceLink("file:///m.rs", "m.rs", mime_type="text/x-rust", size=0),
            {
                "type": "resource_link",
                "uri": "file:///m.rs",
                "name": "m.rs",
                "mimeType": "text/x-rust",
                "size": 0,
            },
        ),
        (
            EmbeddedResource(ResourceContents("test://a", "text", mime_type="text/plain")),
            {
                "type": "resource",
                "resource": {"uri": "test://a", "mimeType": "text/plain", "text": "text"},
            },
        ),
        (
            EmbeddedResource(ResourceContents("test://b", blob=b"\x00")),
            {"type": "resource", "resource": {"uri": "test://b", "blob": "AA=="}},
        ),
    ],
)
def test_a_block_has_the_form_of_the_specification(
    block: ToolContent, wire: dict[str, object]
) -> None:
    assert block.to_dict() == wire


@pytest.mark.parametrize(
    "block",
    [
        TextContent("x", Annotations(priority=0.0), {"k": 1}),
        ImageContent("x", "image/png", Annotations(priority=0.0), {"k": 1}),
        AudioContent("x", "audio/wav", Annotations(priority=0.0), {"k": 1}),
        ResourceLink("u:x", "x", annotations=Annotations(priority=0.0), meta={"k": 1}),
        EmbeddedResource(ResourceContents("u:x", "x"), Annotations(priority=0.0), {"k": 1}),
        ResourceContents("u:x", "x", annotations=Annotations(priority=0.0), meta={"k": 1}),
    ],
)
def test_every_block_carries_annotations_and_meta(block: ToolContent | ResourceContents) -> None:
    wire = block.to_dict()

    assert (wire["annotations"], wire["_meta"]) == ({"priority": 0.0}, {"k": 1})


def test_annotations_hold_what_is_set() -> None:
    everything = Annotations(
        audience=("user", "assistant"), priority=0.7, last_modified="2025-05-03T14:30:00Z"
    )

    assert Annotations().to_dict() == {}
    assert everything.to_dict() == {
        "audience": ["user", "assistant"],
        "priority": 0.7,
        "lastModified": "2025-05-03T14:30:00Z",
    }


def test_resource_contents_are_text_or_bytes() -> None:
    with pytest.raises(TypeError, match="either text or blob"):
        ResourceContents("u:x")
    with pytest.raises(TypeError, match="either text or blob"):
        ResourceContents("u:x", "text", b"bytes")
