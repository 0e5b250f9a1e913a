"""Resources: registered, listed, read."""

import asyncio
from typing import Any, Literal

import pytest

from nacre import Annotations, Context, ResourceContents, ToolServer
from nacre.core.errors import InvalidInputError, InvalidParamsError, NotFoundError
from nacre.sdk.resource_registry import Resource, ResourceTemplate


def read(server: ToolServer, uri: str, context: Context | None = None) -> dict[str, Any]:
    return asyncio.run(server.read_resource(uri, context))


def test_resources_are_listed_as_they_were_described() -> None:
    server = ToolServer("s", "1")

    @server.resource(
        "test://text",
        name="static-text",
        title="Text",
        mime_type="text/plain",
        size=5,
        annotations=Annotations(audience=["user"], priority=0.8),
        meta={"k": 1},
    )
    async def text() -> str:
        """Say hello."""
        return "hello"

    @server.resource("test://bare")
    async def bare() -> str:
        return ""

    assert list(server.resources()) == [
        {
            "uri": "test://text",
            "name": "static-text",
            "title": "Text",
            "description": "Say hello.",
            "mimeType": "text/plain",
            "annotations": {"audience": ["user"], "priority": 0.8},
            "_meta": {"k": 1},
            "size": 5,
        },
        {"uri": "test://bare", "name": "bare"},
    ]
    assert server.resources() is server.resources()
    assert asyncio.run(text()) == "hello"


@pytest.mark.parametrize(
    ("answer", "contents"),
    [
        ("hi", [{"uri": "test://x", "mimeType": "text/plain", "text": "hi"}]),
        (b"\x00", [{"uri": "test://x", "mimeType": "application/octet-stream", "blob": "AA=="}]),
        ({"a": 1}, [{"uri": "test://x", "mimeType": "application/json", "text": '{"a": 1}'}]),
        ([], [{"uri": "test://x", "mimeType": "application/json", "text": "[]"}]),
        (ResourceContents("test://y", "hi"), [{"uri": "test://y", "text": "hi"}]),
        (
            [ResourceContents("test://y", "a"), ResourceContents("test://z", "b")],
            [{"uri": "test://y", "text": "a"}, {"uri": "test://z", "text": "b"}],
        ),
    ],
)
def test_what_a_reader_returns_becomes_contents(answer: Any, contents: list[Any]) -> None:
    server = ToolServer("s", "1")

    @server.resource("test://x")
    async def x() -> Any:
        return answer

    assert read(server, "test://x") == {"contents": contents}


def test_the_given_mime_type_wins() -> None:
    server = ToolServer("s", "1")

    @server.resource("test://x", mime_type="image/png")
    async def x() -> bytes:
        return b"\x00"

    assert read(server, "test://x")["contents"][0]["mimeType"] == "image/png"


def test_a_template_s_variables_are_the_reader_s_parameters() -> None:
    server = ToolServer("s", "1")

    @server.resource_template("test://template/{id}/data/{kind}", mime_type="application/json")
    async def data(kind: Literal["a", "b"], id: str, context: Context) -> dict[str, Any]:
        """Return data."""
        return {"id": id, "kind": kind, "request": context.request_id}

    assert list(server.resource_templates()) == [
        {
            "uriTemplate": "test://template/{id}/data/{kind}",
            "name": "data",
            "description": "Return data.",
            "mimeType": "application/json",
        }
    ]
    assert read(server, "test://template/1%202/data/a", Context(request_id=4)) == {
        "contents": [
            {
                "uri": "test://template/1%202/data/a",
                "mimeType": "application/json",
                "text": '{"id": "1 2", "kind": "a", "request": 4}',
            }
        ]
    }
    with pytest.raises(InvalidParamsError, match="argument 'kind': expected one of 'a', 'b'"):
        read(server, "test://template/1/data/c")


def test_a_fixed_resource_comes_before_a_template() -> None:
    server = ToolServer("s", "1")

    @server.resource_template("test://{name}")
    async def by_name(name: str) -> str:
        return f"template {name}"

    @server.resource("test://fixed")
    async def fixed() -> str:
        return "fixed"

    assert read(server, "test://fixed")["contents"][0]["text"] == "fixed"
    assert read(server, "test://other")["contents"][0]["text"] == "template other"


@pytest.mark.parametrize("uri", ["test://none", "", "test://a/b/c", "test://a/%ff"])
def test_an_unknown_uri_is_not_found(uri: str) -> None:
    server = ToolServer("s", "1")

    @server.resource_template("test://a/{id}")
    async def a(id: str) -> str:
        return id

    with pytest.raises(NotFoundError, match="Resource not found"):
        read(server, uri)


def test_registering_again_replaces() -> None:
    async def old(_arguments: Any, _context: Context) -> str:
        return "old"

    async def new(_arguments: Any, _context: Context) -> str:
        return "new"

    server = ToolServer("s", "1")
    for reader in (old, new):
        server.register_resource(Resource(uri="test://a", name="a", read=reader))
        server.register_resource_template(
            ResourceTemplate(uri_template="test://t/{id}", name="t", read=reader)
        )

    assert (len(server.resources()), len(server.resource_templates())) == (1, 1)
    assert read(server, "test://a")["contents"][0]["text"] == "new"
    assert read(server, "test://t/1")["contents"][0]["text"] == "new"


def test_a_reader_with_other_parameters_is_refused() -> None:
    server = ToolServer("s", "1")

    async def wrong(other: str) -> str:
        return other

    async def number(id: int) -> str:
        return str(id)

    with pytest.raises(TypeError, match="wrong: a resource takes only a Context"):
        server.resource("test://a")(wrong)
    with pytest.raises(TypeError, match=r"wrong: the parameters must be the template's var.*: id"):
        server.resource_template("test://{id}")(wrong)
    with pytest.raises(TypeError, match="parameter 'id' must be str"):
        server.resource_template("test://{id}")(number)
    with pytest.raises(InvalidInputError, match=r"has no \{variable\}"):
        server.resource_template("test://a")(wrong)
    assert list(server.resources()) == list(server.resource_templates()) == []
