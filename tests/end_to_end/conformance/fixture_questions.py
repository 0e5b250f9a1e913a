"""Fixtures that ask the client: for input, for a completion, for its roots."""

import json
from collections.abc import Mapping
from typing import Any

from nacre import Context, ToolResult, ToolServer, tool

Request = dict[str, Any]


def elicit(message: str, properties: Mapping[str, Any], *, required: bool = True) -> Request:
    """Return a request for a form with these fields."""
    schema = {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties) if required else [],
    }
    return {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": message, "requestedSchema": schema},
    }


def sample(text: str, tokens: int) -> Request:
    """Return a request for a completion."""
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return {
        "method": "sampling/createMessage",
        "params": {"messages": [message], "maxTokens": tokens},
    }


ROOTS: Request = {"method": "roots/list", "params": {}}
NAME = elicit("What is your name?", {"name": {"type": "string"}})
CONFIRM = elicit("Please confirm", {"ok": {"type": "boolean"}})


def field(answer: Mapping[str, Any], name: str) -> Any:
    """Return what was filled in."""
    return (answer.get("content") or {}).get(name)


@tool(name="test_sampling")
async def sampling(prompt: str, context: Context) -> ToolResult:
    """Tests server-initiated sampling."""
    answer = (await context.ask({"completion": sample(prompt, 100)}))["completion"]
    return ToolResult.text(f"LLM response: {answer['content']['text']}")


@tool(name="test_elicitation")
async def elicitation(message: str, context: Context) -> ToolResult:
    """Tests server-initiated elicitation."""
    about = {"username": {"type": "string"}, "email": {"type": "string"}}
    answer = (await context.ask({"response": elicit(message, about, required=False)}))["response"]
    return ToolResult.text(
        f"User response: action={answer['action']}, content={json.dumps(answer.get('content', {}))}"
    )


DEFAULTS = {
    "name": {"type": "string", "description": "User name", "default": "John Doe"},
    "age": {"type": "integer", "description": "User age", "default": 30},
    "score": {"type": "number", "description": "User score", "default": 95.5},
    "status": {
        "type": "string",
        "description": "User status",
        "enum": ["active", "inactive", "pending"],
        "default": "active",
    },
    "verified": {"type": "boolean", "description": "Verification status", "default": True},
}
ENUMS = {
    "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
    "titledSingle": {
        "type": "string",
        "oneOf": [
            {"const": "value1", "title": "First Option"},
            {"const": "value2", "title": "Second Option"},
            {"const": "value3", "title": "Third Option"},
        ],
    },
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {
        "type": "array",
        "minItems": 1,
        "maxItems": 3,
        "items": {"type": "string", "enum": ["option1", "option2", "option3"]},
    },
    "titledMulti": {
        "type": "array",
        "minItems": 1,
        "maxItems": 3,
        "items": {
            "anyOf": [
                {"const": "value1", "title": "First Choice"},
                {"const": "value2", "title": "Second Choice"},
                {"const": "value3", "title": "Third Choice"},
            ]
        },
    },
}


async def filled_in(context: Context, message: str, fields: Mapping[str, Any]) -> ToolResult:
    """Ask for the fields and say what came back."""
    form = elicit(message, fields, required=False)
    answer = (await context.ask({"form": form}))["form"]
    content = json.dumps(answer.get("content", {}))
    return ToolResult.text(f"Elicitation completed: action={answer['action']}, content={content}")


@tool(name="test_elicitation_sep1034_defaults")
async def elicitation_defaults(context: Context) -> ToolResult:
    """Tests elicitation with default values."""
    return await filled_in(
        context, "Please review and update the form fields with defaults", DEFAULTS
    )


@tool(name="test_elicitation_sep1330_enums")
async def elicitation_enums(context: Context) -> ToolResult:
    """Tests elicitation with the five kinds of choices."""
    return await filled_in(context, "Please select options from the enum fields", ENUMS)


@tool(name="test_missing_capability")
async def missing_capability(context: Context) -> ToolResult:
    """Needs a client that declared sampling."""
    context.require("sampling")
    return ToolResult.text("Success")


@tool(name="test_input_required_result_elicitation")
async def needs_elicitation(context: Context) -> ToolResult:
    """Asks for a name."""
    answers = await context.ask({"user_name": NAME})
    return ToolResult.text(f"Hello, {field(answers['user_name'], 'name')}!")


@tool(name="test_input_required_result_sampling")
async def needs_sampling(context: Context) -> ToolResult:
    """Asks a model."""
    request = sample("What is the capital of France?", 100)
    answer = (await context.ask({"capital_question": request}))["capital_question"]
    return ToolResult.text(f"Sampling result: {answer['content']['text']}")


@tool(name="test_input_required_result_list_roots")
async def needs_roots(context: Context) -> ToolResult:
    """Asks for the client's roots."""
    answer = (await context.ask({"client_roots": ROOTS}))["client_roots"]
    return ToolResult.text(f"Found {len(answer['roots'])} root(s)")


@tool(name="test_input_required_result_request_state")
async def needs_state(context: Context) -> ToolResult:
    """Asks for a confirmation and gets its state back."""
    await context.ask({"confirm": CONFIRM})
    return ToolResult.text("state-ok: requestState validated")


@tool(name="test_input_required_result_tampered_state")
async def refuses_tampering(context: Context) -> ToolResult:
    """Asks for a confirmation; a changed state never comes this far."""
    await context.ask({"confirm": CONFIRM})
    return ToolResult.text("integrity-ok: state verified")


@tool(name="test_input_required_result_multiple_inputs")
async def needs_several(context: Context) -> ToolResult:
    """Asks three questions at once."""
    answers = await context.ask(
        {"user_name": NAME, "greeting": sample("Generate a greeting", 50), "client_roots": ROOTS}
    )
    return ToolResult.text(
        f"Name: {field(answers['user_name'], 'name')}; "
        f"Greeting: {answers['greeting']['content']['text']}; "
        f"Roots: {len(answers['client_roots']['roots'])}"
    )


@tool(name="test_input_required_result_multi_round")
async def needs_rounds(context: Context) -> ToolResult:
    """Asks one question after the other."""
    name = elicit("Step 1: What is your name?", {"name": {"type": "string"}})
    color = elicit("Step 2: What is your favorite color?", {"color": {"type": "string"}})
    first = (await context.ask({"step1": name}))["step1"]
    second = (await context.ask({"step2": color}))["step2"]
    return ToolResult.text(
        f"Multi-round complete for {field(first, 'name')} who likes {field(second, 'color')}"
    )


@tool(name="test_input_required_result_capabilities")
async def asks_what_is_declared(context: Context) -> ToolResult:
    """Asks only what the client can answer."""
    possible = {
        "elicitation": (
            "elicit_input",
            elicit("Elicitation input", {"value": {"type": "string"}}),
        ),
        "sampling": ("sample_input", sample("Sample request", 50)),
    }
    requests = dict(possible[name] for name in possible if name in context.capabilities)
    if not requests:
        return ToolResult.text("No supported capabilities declared")
    answers = await context.ask(requests)
    return ToolResult.text(f"capabilities-ok: received {','.join(answers)}")


def register_questions(server: ToolServer) -> None:
    """Add the fixtures."""
    for fixture in (
        sampling,
        elicitation,
        elicitation_defaults,
        elicitation_enums,
        missing_capability,
        needs_elicitation,
        needs_sampling,
        needs_roots,
        needs_state,
        refuses_tampering,
        needs_several,
        needs_rounds,
        asks_what_is_declared,
    ):
        server.register_tool(fixture)
