"""The server that the official conformance suite expects, built on the SDK.

It exists in tests only. The names, texts and schemas are those of the suite's scenarios.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from nacre import (
    Completion,
    Context,
    EmbeddedResource,
    ImageContent,
    PromptMessage,
    ResourceContents,
    ToolServer,
    tool,
)
from nacre.being.application import Application
from nacre.core.clock import system_clock
from nacre.protocol.dispatch.request_state import RequestStates, SigningKeys
from tests.end_to_end.conformance.fixture_content import PNG, register_content
from tests.end_to_end.conformance.fixture_questions import elicit, field, register_questions
from tests.end_to_end.conformance.fixture_tasks import register_tasks, tasks_of


def conformance_server(name: str = "nacre-conformance") -> ToolServer:
    """Return the server with every fixture."""
    server = ToolServer(name, "1.0.0")
    register_content(server)
    register_questions(server)
    register_tasks(server)
    register_resources(server)
    register_prompts(server)
    register_triggers(server)
    return server


def register_triggers(server: ToolServer) -> None:
    """Add the tools with which the suite changes the lists."""

    @server.register_tool
    @tool(name="test_trigger_tool_change")
    async def test_trigger_tool_change() -> str:
        """Adds a tool."""
        added = tool(name=f"test_added_{secrets.token_hex(4)}")(late)
        server.register_tool(added)
        return "added"

    @server.register_tool
    @tool(name="test_trigger_prompt_change")
    async def test_trigger_prompt_change() -> str:
        """Adds a prompt."""
        server.prompt(f"test_added_{secrets.token_hex(4)}")(late)
        return "added"


async def late() -> str:
    """Came later."""
    return "late"


def owners_server() -> ToolServer:
    """Return the same as an owner's server of tools; its short name leaves room for theirs."""
    return conformance_server("suite")


def conformance_application() -> Application:
    """Return the fixtures as an application of their own."""
    keys = SigningKeys(secrets.token_bytes(32))
    return Application(
        surface=conformance_server(),
        states=RequestStates(lambda: keys, system_clock),
    )


@contextmanager
def working_application() -> Iterator[Application]:
    """Give the same with a worker, so that long work goes on as tasks."""
    application = conformance_application()
    with tasks_of(application.surface) as tasks:
        yield replace(application, tasks=tasks)


def register_resources(server: ToolServer) -> None:
    """Add the resources and the template."""

    @server.resource("test://static-text", name="static-text", mime_type="text/plain")
    async def static_text() -> str:
        """A static text resource for testing."""
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", name="static-binary", mime_type="image/png")
    async def static_binary() -> ResourceContents:
        """A static binary resource for testing."""
        return ResourceContents("test://static-binary", blob=PNG, mime_type="image/png")

    @server.resource("test://watched-resource", name="watched", mime_type="text/plain")
    async def watched() -> str:
        """A resource that clients may subscribe to."""
        return "Watched resource content"

    @server.resource_template(
        "test://template/{id}/data", name="template", mime_type="application/json"
    )
    async def template(id: str) -> dict[str, Any]:
        """A resource template with parameter substitution."""
        return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


def register_prompts(server: ToolServer) -> None:
    """Add the prompts and a completion."""

    @server.prompt("test_simple_prompt")
    async def simple() -> str:
        """A simple prompt without arguments."""
        return "This is a simple prompt for testing."

    @server.prompt("test_prompt_with_arguments")
    async def with_arguments(arg1: str, arg2: str) -> str:
        """A prompt with required arguments."""
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @server.prompt("test_prompt_with_embedded_resource")
    async def with_resource(resourceUri: str) -> list[PromptMessage]:  # noqa: N803 - its name
        """A prompt that includes an embedded resource."""
        contents = ResourceContents(
            resourceUri, "Embedded resource content for testing.", mime_type="text/plain"
        )
        return [
            PromptMessage("user", EmbeddedResource(contents)),
            PromptMessage("user", "Please process the embedded resource above."),
        ]

    @server.prompt("test_prompt_with_image")
    async def with_image() -> list[PromptMessage]:
        """A prompt that includes image content."""
        return [
            PromptMessage("user", ImageContent(PNG, "image/png")),
            PromptMessage("user", "Please analyze the image above."),
        ]

    @server.prompt("test_input_required_result_prompt")
    async def needs_input(context: Context) -> str:
        """A prompt that asks for its context first."""
        question = elicit("What context should the prompt use?", {"context": {"type": "string"}})
        answers = await context.ask({"user_context": question})
        return f"Prompt with context: {field(answers['user_context'], 'context')}"

    @server.completion("arg1", prompt="test_prompt_with_arguments")
    async def complete(typed: str, known: Any) -> Completion:
        values = [value for value in ("test", "testing") if value.startswith(typed)]
        return Completion(values, total=len(values), has_more=False)
