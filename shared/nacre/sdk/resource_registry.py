"""The resources of one server: registered, listed and read."""

import json
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from nacre.core.errors import UnknownResourceError
from nacre.core.lazy_dataclasses import dataclass
from nacre.protocol.context import Context
from nacre.protocol.principal import Principal
from nacre.sdk.lenient_loading import LeavesOut, check_json
from nacre.sdk.result import Annotations, ResourceContents, present
from nacre.sdk.schema.encode import encode
from nacre.sdk.schema.signature import locals_of
from nacre.sdk.text_functions import documentation, text_runner, text_signature
from nacre.sdk.uri_template import UriTemplate

Read = Callable[[Mapping[str, str], Context], Awaitable[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A resource with a fixed URI."""

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
        """The resource as `resources/list` describes it."""
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
        """The template as `resources/templates/list` describes it."""
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


Version = Callable[[str, Principal | None], object | None]
"""From a URI and a caller to a value that differs once the resource has changed."""
F = TypeVar("F", bound=Callable[..., Awaitable[Any]])


class ResourceShelf(LeavesOut):
    """Resources and templates, in the order of registration."""

    def __init__(self) -> None:
        super().__init__()
        self._resources: dict[str, Resource] = {}
        self._templates: dict[str, tuple[UriTemplate, ResourceTemplate]] = {}
        self._resource_definitions: tuple[dict[str, Any], ...] = ()
        self._template_definitions: tuple[dict[str, Any], ...] = ()
        self._versions: dict[str, int] = {}
        self._counting = threading.Lock()
        self._life = object()  # a server that is loaded again gets another one
        self._versioned: list[tuple[str, Version]] = []

    def register_resource(self, resource: Resource) -> None:
        """Add a resource; one with the same URI is replaced."""
        with self.leaving_out("resource", resource.uri):
            check_json(resource.definition)
            self._resources[resource.uri] = resource
            self._resource_definitions = tuple(item.definition for item in self._resources.values())

    def register_resource_template(self, template: ResourceTemplate) -> None:
        """Add a family of resources; the same template is replaced."""
        with self.leaving_out("resource template", template.uri_template):
            uri_template = UriTemplate(template.uri_template)
            check_json(template.definition)
            self._templates[uri_template.text] = (uri_template, template)
            self._template_definitions = tuple(
                item.definition for _, item in self._templates.values()
            )

    def resource(
        self,
        uri: str,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        size: int | None = None,
        annotations: Annotations | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Callable[[F], F]:
        """Make an async function the reader of a resource.

        It returns text, bytes, ResourceContents (or several), or a value with a JSON form.
        """

        def decorate(function: F) -> F:
            with self.leaving_out("resource", uri):
                signature = text_signature(function, locals_of(sys._getframe(1)))
                if signature.parameters:
                    raise TypeError(f"{function.__qualname__}: a resource takes only a Context")
                self.register_resource(
                    Resource(
                        uri=uri,
                        name=name or function.__name__,
                        read=text_runner(function, signature),
                        title=title,
                        description=description or documentation(function),
                        mime_type=mime_type,
                        size=size,
                        annotations=annotations,
                        meta=meta,
                    )
                )
            return function

        return decorate

    def resource_template(
        self,
        uri_template: str,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        annotations: Annotations | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Callable[[F], F]:
        """Make an async function the reader of all resources of a URI template.

        Its parameters are the template's variables; it returns the same types as a resource.
        A variable's value comes from the client: check it before it becomes a path.
        """

        def decorate(function: F) -> F:
            with self.leaving_out("resource template", uri_template):
                signature = text_signature(function, locals_of(sys._getframe(1)))
                variables = UriTemplate(uri_template).variables
                if {item.name for item in signature.parameters} != set(variables):
                    raise TypeError(
                        f"{function.__qualname__}: the parameters must be "
                        f"the template's variables: {', '.join(variables)}"
                    )
                self.register_resource_template(
                    ResourceTemplate(
                        uri_template=uri_template,
                        name=name or function.__name__,
                        read=text_runner(function, signature),
                        title=title,
                        description=description or documentation(function),
                        mime_type=mime_type,
                        annotations=annotations,
                        meta=meta,
                    )
                )
            return function

        return decorate

    def resources(self) -> Sequence[Mapping[str, Any]]:
        """Return the fixed resources; the same object while nothing changed."""
        return self._resource_definitions

    def resource_templates(self) -> Sequence[Mapping[str, Any]]:
        """Return the templates; the same object while nothing changed."""
        return self._template_definitions

    def has_resource(self, uri: str) -> bool:
        """Tell whether a resource or a template is registered under exactly this URI."""
        return uri in self._templates or uri in self._resources

    def resource_updated(self, uri: str) -> None:
        """Tell the clients that follow a resource that it has changed."""
        with self._counting:
            self._versions[uri] = self._versions.get(uri, 0) + 1

    def resource_version(self, uri: str, principal: Principal | None = None) -> object | None:
        """Return a value that differs once `resource_updated` was called; None if unknown."""
        for prefix, version in self._versioned:
            if uri.startswith(prefix):
                return version(uri, principal)
        fits = uri in self._resources or any(
            template.values(uri) is not None for template, _ in self._templates.values()
        )
        return (self._life, self._versions.get(uri, 0)) if fits else None

    def version_resources(self, prefix: str, version: Version) -> None:
        """Let a function tell the version of every resource whose URI begins so."""
        self._versioned.append((prefix, version))

    async def read_resource(self, uri: str, context: Context | None = None) -> dict[str, Any]:
        """Return `{"contents": [...]}`; a fixed resource comes before any template.

        An unknown URI raises NotFoundError.
        """
        context = context or Context.detached()
        fixed = self._resources.get(uri)
        if fixed is not None:
            return _contents(uri, fixed.mime_type, await fixed.read({}, context))
        for uri_template, template in self._templates.values():
            values = uri_template.values(uri)
            if values is not None:
                return _contents(uri, template.mime_type, await template.read(values, context))
        raise UnknownResourceError(uri)


def _contents(uri: str, mime_type: str | None, answer: Any) -> dict[str, Any]:
    parts = answer if isinstance(answer, list | tuple) else [answer]
    if not parts or not all(isinstance(part, ResourceContents) for part in parts):
        parts = [_one(uri, mime_type, answer)]
    return {"contents": [part.to_dict() for part in parts]}


def _one(uri: str, mime_type: str | None, answer: Any) -> ResourceContents:
    if isinstance(answer, bytes):
        return ResourceContents(uri, blob=answer, mime_type=mime_type or "application/octet-stream")
    if isinstance(answer, str):
        return ResourceContents(uri, answer, mime_type=mime_type or "text/plain")
    text = json.dumps(encode(answer), ensure_ascii=False)
    return ResourceContents(uri, text, mime_type=mime_type or "application/json")
