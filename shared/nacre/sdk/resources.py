"""Resources that a client may read: fixed ones by URI, families of them by template."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nacre.protocol.context import Context
from nacre.sdk.content import Annotations, present

Read = Callable[[Mapping[str, str], Context], Awaitable[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A resource with a URI of its own."""

    uri: str
    name: str
    read: Read
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    annotations: Annotations | None = None
    icons: Sequence[Mapping[str, Any]] | None = None
    meta: Mapping[str, Any] | None = None

    @property
    def definition(self) -> dict[str, Any]:
        """What `resources/list` says about it."""
        return {"uri": self.uri, **_described(self), **present(size=self.size)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceTemplate:
    """Resources whose URIs differ in `{variables}`; each stands for one path segment."""

    uri_template: str
    name: str
    read: Read
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    annotations: Annotations | None = None
    icons: Sequence[Mapping[str, Any]] | None = None
    meta: Mapping[str, Any] | None = None

    @property
    def definition(self) -> dict[str, Any]:
        """What `resources/templates/list` says about it."""
        return {"uriTemplate": self.uri_template, **_described(self)}


def _described(item: Resource | ResourceTemplate) -> dict[str, Any]:
    return present(
        name=item.name,
        title=item.title,
        description=item.description,
        mimeType=item.mime_type,
        annotations=None if item.annotations is None else item.annotations.to_dict(),
        icons=None if item.icons is None else list(item.icons),
        _meta=item.meta,
    )
