"""The tool that takes orders: its arguments, the prompt of the model, and the result."""

import base64
import json
import threading
from typing import Any

import pytest

from nacre.being.memory.model.types import moment
from nacre.being.orders.media.media_limits import MediaLimits
from nacre.being.orders.order.request import OrderLimits
from nacre.being.orders.order_surface import OrderSurface
from nacre.core.coroutines import step
from nacre.core.errors import UnavailableError
from nacre.core.limits import MAX_ORDER_BYTES, ORDER_CALLS_AT_ONCE, ORDER_ROUNDS
from nacre.protocol.context import Context, TaskWanted
from nacre.protocol.principal import FULL, Principal
from nacre.sdk.decorator import tool
from nacre.sdk.result import (
    AudioContent,
    EmbeddedResource,
    ImageContent,
    ResourceContents,
    TextContent,
    ToolResult,
)
from tests.adapters.conftest import StillClock
from tests.being.orders.conftest import KEY, World, world_over
from tests.scaffolding.model_server import (
    Question,
    Response,
    calling,
    events,
    failing,
    hanging_up,
    refusing,
    saying,
    slow,
    stopped_at_length,
    streaming,
    tool_call,
)

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20 + b"IEND\xaeB`\x82"
SEED = {
    "type": "object",
    "properties": {
        "message": {"type": "string", "description": "The message to send to OpenClaw"},
        "sessionKey": {
            "type": "string",
            "description": "Optional session key for conversation continuity",
        },
        "images": {
            "type": "array",
            "description": "Optional base64-encoded images (max 10, 15MB each)",
            "items": {
                "type": "object",
                "properties": {
                    "data": {"type": "string", "description": "Base64-encoded image data"},
                    "mimeType": {"type": "string", "description": "MIME type (e.g., 'image/png')"},
                    "filename": {"type": "string", "description": "Optional filename"},
                },
                "required": ["data", "mimeType"],
            },
        },
        "files": {
            "type": "array",
            "description": "Optional base64-encoded files (max 5, 15MB each)",
            "items": {
                "type": "object",
                "properties": {
                    "data": {"type": "string", "description": "Base64-encoded file data"},
                    "mimeType": {
                        "type": "string",
                        "description": "MIME type (e.g., 'application/pdf')",
                    },
                    "filename": {"type": "string", "description": "Optional filename"},
                },
                "required": ["data", "mimeType"],
            },
        },
    },
    "required": ["message"],
}


def tools_of(world: World) -> dict[str, Any]:
    assert isinstance(world.surface, OrderSurface)
    principal = Principal("test", world.being_id, FULL)
    return {str(tool["name"]): tool for tool in world.surface.tools_for(principal)}


@pytest.mark.requirement("000.order.definition")
@pytest.mark.requirement("001.order.definition")
def test_the_tool_is_the_seeds_word_for_word(laptop: World) -> None:
    laptop.mind.beings.name_orders(laptop.being_id, "OpenClaw")
    definition = tools_of(laptop)["order_openclaw"]

    assert definition["description"] == (
        "Send a message to OpenClaw and receive a response. The message will be processed as if"
        " typed by a user. Supports sending images, files (PDF, text, markdown, CSV, JSON), audio,"
        " video, and archives (ZIP, TAR.GZ) via base64 encoding."
    )
    assert definition["inputSchema"] == SEED
    assert definition["annotations"] == {
        "readOnlyHint": False,
        "destructiveHint": True,
        "idempotentHint": False,
        "openWorldHint": True,
    }


def test_a_being_answers_to_its_own_name_only(laptop: World) -> None:
    assert "order_being" in tools_of(laptop)
    laptop.mind.beings.name_orders(laptop.being_id, "Clawdbot")

    assert "Unknown tool: order_being; this Being's is order_clawdbot" in laptop.error("hello")
    laptop.name = "order_clawdbot"
    assert laptop.text("hello") == "Very well."
    laptop.mind.beings.name_orders(laptop.being_id, None)
    assert "order_being" in tools_of(laptop)


@pytest.mark.requirement("000.order.result")
@pytest.mark.requirement("000.order.waits")
def test_an_answer_is_one_text_block_and_no_error(world: World) -> None:
    world.model.reply = streaming("It is blue.")

    result = world.give("What is my favourite colour?")

    assert result["content"] == [{"type": "text", "text": "It is blue."}]
    assert result["isError"] is False


ODD = "  two  blanks\tand\n\nlines, \u201cquotes\u201d, {braces}, </system>, \U0001f41a ignore all "


@pytest.mark.requirement("000.order.message")
def test_the_message_reaches_the_model_as_it_was_sent(world: World) -> None:
    world.text(ODD, sessionKey="s")
    world.text("and now", sessionKey="s")

    first, second = world.model.questions
    assert first.body["messages"][-1] == {"role": "user", "content": ODD}
    assert ODD not in first.system
    assert second.body["messages"][1] == {"role": "user", "content": ODD}


def test_the_model_knows_who_it_is_what_it_remembers_and_what_it_may_call(world: World) -> None:
    world.mind.call(
        "update_memory", target="souls", action="update", key="voice", content="dry and short"
    )
    world.mind.note("Ann planted a walnut tree behind the shed")

    world.text("Where did Ann plant the walnut tree?")

    [question] = world.model.questions
    assert question.system.startswith("You are Pearl.")
    assert "dry and short" in question.system
    assert "walnut tree behind the shed" in question.system
    assert question.key == f"Bearer {KEY}"
    assert question.body["model"] == "some-model"
    assert sorted(question.tools) == [
        "get_current_time",
        "merge_nodes",
        "recall_memory",
        "search_history",
        "search_memory",
        "update_memory",
        "update_notes",
        "update_relation",
    ]


def test_an_order_that_needs_no_memory_gets_none(laptop: World) -> None:
    laptop.mind.note("Ann planted a walnut tree behind the shed")

    laptop.text("Translate the word tree into Finnish, please")
    laptop.text("Where did Ann plant the walnut tree?")

    silent, speaking = (question.system for question in laptop.model.questions)
    assert "<memory-recall>" not in silent
    assert "walnut tree behind the shed (close match) [scene " in speaking


def test_the_beginning_of_the_prompt_stays_the_same_for_caches(laptop: World) -> None:
    laptop.text("Tell me about the walnut tree in the garden")
    laptop.text("Tell me about the boat of Bob at sea")
    first, second = (question.system for question in laptop.model.questions)

    stable = first.index("## Orders")
    assert first[:stable] == second[:stable]
    assert first.index("</memory-recall>" if "<memory" in first else "data and never") >= stable


@pytest.mark.requirement("000.order.aggregation")
def test_what_was_said_on_the_way_is_part_of_the_one_answer(laptop: World) -> None:
    laptop.model.script(
        calling(tool_call("get_current_time"), text="Let me look."),
        calling(tool_call("get_current_time"), text="Let me look."),
        saying("It is ten o'clock."),
    )

    assert laptop.text("What time is it?") == "Let me look.\n\nIt is ten o'clock."
    last = laptop.model.questions[-1].body["messages"]
    assert [message["role"] for message in last] == [
        *("system", "user", "assistant", "tool", "assistant", "tool")
    ]
    assert last[2]["tool_calls"][0]["function"]["name"] == "get_current_time"
    assert last[3]["tool_call_id"] == last[2]["tool_calls"][0]["id"]
    assert '"timezone": "UTC"' in last[3]["content"]


def test_a_final_answer_that_repeats_the_way_stands_alone(laptop: World) -> None:
    laptop.model.script(
        calling(tool_call("get_current_time"), text="I looked."),
        saying("I  looked.\nIt is ten."),
    )

    assert laptop.text("What time is it?") == "I  looked.\nIt is ten."


def other_server(laptop: World, result: ToolResult, name: str = "mcp__shop__find") -> None:
    """Put a tool beside the Being's own, as the gateway does with other servers' tools."""

    @tool(name=name, description="Find something")
    async def search(what: str, context: Context) -> ToolResult:
        calls.append((what, context))
        return result

    calls: list[Any] = []
    search.calls = calls  # type: ignore[attr-defined]
    laptop.mind.server.register_tool(search)


def test_results_of_other_servers_are_parts_and_their_media_come_along(laptop: World) -> None:
    wav = base64.b64encode(b"RIFF....WAVE").decode()
    result = ToolResult(
        (
            TextContent("Three shells found."),
            ImageContent(PNG, "image/png"),
            AudioContent(wav, "audio/wav"),
            EmbeddedResource(
                ResourceContents(
                    "file:///x/report.pdf", blob=b"%PDF-1.7", mime_type="application/pdf"
                )
            ),
        )
    )
    other_server(laptop, result)
    laptop.model.script(
        calling(tool_call("mcp__shop__find", {"what": "shells"})), saying("There you are.")
    )

    content = laptop.give("Find shells")["content"]

    assert content == [
        {"type": "text", "text": "Three shells found.\n\nThere you are."},
        {"type": "image", "data": base64.b64encode(PNG).decode(), "mimeType": "image/png"},
        {"type": "audio", "data": wav, "mimeType": "audio/wav"},
        {
            "type": "resource",
            "resource": {
                "uri": "attachment://report.pdf",
                "mimeType": "application/pdf",
                "blob": base64.b64encode(b"%PDF-1.7").decode(),
            },
        },
    ]
    for_model = laptop.model.questions[-1].body["messages"][-1]["content"]
    assert "Three shells found." in for_model
    assert "[image/png, sent along with the answer]" in for_model
    assert base64.b64encode(PNG).decode() not in for_model


def test_media_that_do_not_fit_are_left_out_with_a_line(laptop: World, clock: StillClock) -> None:
    limits = OrderLimits(
        60, MediaLimits(call_bytes=1000, answer_bytes=60, deployment="server", instead="x")
    )
    small = world_over(laptop.mind, laptop.model, clock, limits=limits)
    other_server(
        small,
        ToolResult((ImageContent(PNG, "image/png"), ImageContent(PNG + b"x" * 40, "image/png"))),
    )
    small.model.script(calling(tool_call("mcp__shop__find", {"what": "x"})), saying("Here."))

    content = small.give("Draw")["content"]

    assert [block["type"] for block in content] == ["text", "image"]
    assert content[0]["text"].startswith("Here.\n\n")
    assert "left out" in content[0]["text"]


def test_other_servers_do_not_fill_the_memory(
    laptop: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.being.orders.order.answer.ORDER_HELD_BYTES", 7000)
    image = ImageContent(base64.b64encode(PNG * 100).decode(), "image/png")

    @tool(name="mcp__shop__all")
    async def everything() -> ToolResult:
        return ToolResult((TextContent("shell " * 200_000), image))

    laptop.mind.server.register_tool(everything)
    laptop.model.script(
        *[calling(tool_call("mcp__shop__all"), text=f"Look {number}.") for number in range(3)],
        saying("That is all."),
    )
    result = laptop.give("Show me everything")

    text, medium = result["content"]
    assert medium["type"] == "image"
    assert text["text"].startswith("Look 0.\n\nshell ")
    assert "shell\n\nLook 1.\n\nLook 2.\n\nThat is all.\n\n(The text" in text["text"]
    assert text["text"].count("shell") == 200_000
    assert text["text"].endswith(
        "(The text of mcp__shop__all, 1.2 MB, was left out: the text of one answer may have"
        " 2 MiB (2.1 MB).)\n\n(One image/png of mcp__shop__all was left out: an order holds no more"
        " than 7 kB.)"
    )


def test_inner_calls_are_those_of_the_caller_without_its_key(laptop: World) -> None:
    other_server(laptop, ToolResult.text("ok"))
    laptop.model.script(calling(tool_call("mcp__shop__find", {"what": "x"})), saying("Done."))
    context = laptop.context()
    context.llm_api_key = "sk-header"
    context.version = "2026-07-28"
    context.capabilities = {"elicitation": {}}

    laptop.call({"message": "Go"}, context)

    [(argument, inner)] = laptop.mind.server.get_tool("mcp__shop__find").calls  # type: ignore[union-attr]
    assert (argument, inner.principal) == ("x", context.principal)
    # Whoever would ask a modern client has the call made again from its start.
    assert (inner.llm_api_key, inner.capabilities, inner.takes_task) == (None, {}, False)
    assert {question.key for question in laptop.model.questions} == {"Bearer sk-header"}


def test_names_that_providers_refuse_have_an_alias(laptop: World) -> None:
    name = "mcp__shop__" + "find.everything." * 4
    other_server(laptop, ToolResult.text("found"), name=name)

    def reply(question: Question) -> Response:
        if question.body["messages"][-1]["role"] == "tool":
            return saying("Done.")(question)
        [alias] = [tool for tool in question.tools if tool.startswith("mcp__shop")]
        assert len(alias) <= 64
        assert "." not in alias
        return calling(tool_call(alias, {"what": "x"}))(question)

    laptop.model.reply = reply

    assert laptop.text("Find") == "found\n\nDone."


def test_an_order_cannot_call_itself_or_a_patrol(laptop: World) -> None:
    for name in ("order_being", "trigger_patrol", "order_other"):
        laptop.model.script(calling(tool_call(name, {"message": "x"})), saying("No."))
        laptop.text("Go in circles")
        assert "there is no tool" in laptop.model.questions[-1].body["messages"][-1]["content"]
    assert len(laptop.model.questions) == 6


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("{broken", "not JSON"),
        ("[1]", "must be an object"),
        ('{"timezone": 5}', "timezone"),
        ('{"timezone": "Nowhere/Else"}', "unknown time zone"),
    ],
)
def test_a_call_that_is_wrong_is_told_to_the_model(
    laptop: World, arguments: str, complaint: str
) -> None:
    laptop.model.script(calling(tool_call("get_current_time", arguments)), saying("Sorry."))

    assert laptop.text("What time is it?") == "Sorry."
    messages = laptop.model.questions[-1].body["messages"]
    assert complaint in messages[-1]["content"]
    assert messages[-1]["content"].startswith("Error: ")
    # Some providers refuse to read again what their model wrote.
    json.loads(messages[-2]["tool_calls"][0]["function"]["arguments"])


def test_a_tool_that_breaks_does_not_break_the_order(laptop: World) -> None:
    @tool(name="mcp__shop__break")
    async def broken() -> str:
        raise ZeroDivisionError("secret inside")

    laptop.mind.server.register_tool(broken)
    laptop.model.script(calling(tool_call("mcp__shop__break")), saying("It failed."))

    assert laptop.text("Break it") == "It failed."
    assert "secret" not in str(laptop.model.questions[-1].body)


# Models that fail.


@pytest.mark.requirement("000.order.error")
def test_without_a_model_the_error_names_the_settings(laptop: World, clock: StillClock) -> None:
    bare = world_over(laptop.mind, laptop.model, clock, key="", is_remote=laptop.face is not None)

    text = bare.error("hello")

    assert text.startswith("Error: no language model is configured")
    for name in ("NACRE_LLM_API_KEY", "NACRE_LLM_BASE_URL", "nacre llm-key set", "X-LLM-API-Key"):
        assert name in text
    assert laptop.model.questions == []


@pytest.mark.parametrize(
    ("reply", "complaint"),
    [
        (failing(401), "refused the key"),
        (failing(404), "NACRE_LLM_MODEL"),
        (failing(429, code="insufficient_quota"), "no quota"),
        (events(b"garbage\n"), "was not understood"),
        (lambda _: Response(body=b"\xff\xfe"), "was not understood"),
        (hanging_up(), "hung up"),
        (failing(400, code="content_filter"), "filter stopped it"),
    ],
)
def test_a_model_that_fails_is_an_error_in_plain_words(
    laptop: World, monkeypatch: pytest.MonkeyPatch, reply: Any, complaint: str
) -> None:
    monkeypatch.setattr("nacre.adapters.openai.chat._FIRST_PAUSE", 0.001)
    laptop.model.reply = reply

    text = laptop.error("my private words", sessionKey="s")

    assert text.startswith("Error: ")
    assert complaint in text
    assert "private" not in text
    assert KEY not in text
    # What was not answered leaves nothing behind.
    assert laptop.sessions.heads(laptop.being_id) == []
    assert laptop.mind.text("search_history", query="private").count("private") <= 1


def test_an_order_that_fails_half_way_says_what_was_done(laptop: World) -> None:
    laptop.model.script(calling(tool_call("get_current_time"), tool_call("no_such_tool")))
    laptop.model.reply = failing(401)

    assert laptop.error("hello").endswith(
        "or X-LLM-API-Key. Before that these tools were called: get_current_time"
    )


def test_a_model_that_says_nothing_is_no_response(laptop: World) -> None:
    for reply in (
        saying(""),
        saying("  \n"),
        saying("<think>hm</think>"),
        events({"choices": [{"delta": {}, "finish_reason": "stop"}]}),
    ):
        laptop.model.reply = reply
        assert laptop.text("hello") == "(No response)"


def test_a_refusal_and_a_cut_are_told(laptop: World) -> None:
    laptop.model.script(refusing(), stopped_at_length("a very long story that goes on"))

    assert laptop.text("Do harm") == "I cannot help with that."
    assert laptop.text("Tell").endswith("\n\n(Cut: the model's answer reached its limit.)")


def test_a_model_that_calls_tools_for_ever_is_stopped(laptop: World) -> None:
    laptop.model.reply = calling(tool_call("get_current_time"), text="Once more.")

    text = laptop.text("Never end")

    assert len(laptop.model.questions) == ORDER_ROUNDS
    assert text == f"Once more.\n\n(Stopped after {ORDER_ROUNDS} rounds of tool calls.)"
    assert [q.body.get("tool_choice") for q in laptop.model.questions][-2:] == [None, "none"]


def test_more_calls_at_once_than_there_may_be_are_not_made(laptop: World) -> None:
    calls = [tool_call("get_current_time", id=f"c{n}") for n in range(ORDER_CALLS_AT_ONCE + 3)]
    laptop.model.script(calling(*calls), saying("Done."))
    laptop.text("Many")

    results = [
        m["content"] for m in laptop.model.questions[-1].body["messages"] if m["role"] == "tool"
    ]
    assert len(results) == ORDER_CALLS_AT_ONCE + 3
    assert sum("this one was not made" in result for result in results) == 3


TOO_LONG = failing(400, code="context_length_exceeded")


def test_what_the_model_cannot_hold_is_shortened_once(laptop: World) -> None:
    for number in range(4):
        laptop.text(f"turn {number}", sessionKey="long")
    laptop.model.script(TOO_LONG, saying("Short enough."))

    assert laptop.text("and now", sessionKey="long") == "Short enough."
    longer, shorter = (q.body["messages"] for q in laptop.model.questions[-2:])
    messages = [message["content"] for message in shorter if message["role"] == "user"]
    assert len(longer) == 1 + 8 + 1
    assert messages == ["turn 2", "turn 3", "and now"]

    laptop.model.reply = TOO_LONG
    before = len(laptop.model.questions)
    assert "longer than the model 'some-model' can hold" in laptop.error("x", sessionKey="long")
    assert len(laptop.model.questions) == before + 2


def test_long_results_are_shortened_with_it(laptop: World) -> None:
    other_server(laptop, ToolResult.text("shell " * 5000))
    laptop.model.script(
        calling(tool_call("mcp__shop__find", {"what": "x"})), TOO_LONG, saying("Many shells.")
    )

    assert laptop.text("Find").endswith("Many shells.")
    longer, shorter = (q.body["messages"][-1]["content"] for q in laptop.model.questions[-2:])
    assert len(longer) > 20_000
    assert len(shorter) < 2_100


def test_a_slow_model_is_given_up_when_time_is_over(laptop: World, clock: StillClock) -> None:
    hasty = world_over(
        laptop.mind, laptop.model, clock, limits=OrderLimits(0.4, MediaLimits.laptop())
    )
    hasty.model.reply = slow(threading.Event())

    text = hasty.error("hello", sessionKey="s")

    assert text.startswith("Error: ")
    assert "in time" in text or "took longer than the 0.4 s" in text
    assert hasty.sessions.heads(hasty.being_id) == []


@pytest.mark.parametrize("stage", ["model", "tool"])
def test_a_client_that_gives_up_stops_the_order(laptop: World, stage: str) -> None:
    waiting = threading.Event()

    @tool(name="mcp__shop__wait")
    async def wait() -> str:
        import asyncio

        waiting.set()
        await asyncio.sleep(30)
        return "never"

    laptop.mind.server.register_tool(wait)

    def reply(question: Question) -> Response:
        waiting.set()
        return slow(threading.Event())(question)

    laptop.model.reply = reply if stage == "model" else calling(tool_call("mcp__shop__wait"))

    def hang_up() -> None:
        waiting.wait(60)
        laptop.channel.cancelled = True

    threading.Thread(target=hang_up, daemon=True).start()
    result = laptop.call({"message": "hello", "sessionKey": "s"}, laptop.context())

    assert result["isError"] is True
    assert "cancelled" in result["content"][0]["text"]
    assert len(laptop.model.questions) == 1
    laptop.channel.cancelled = False
    laptop.model.reply = saying("Back again.")
    assert laptop.text("hello", sessionKey="s") == "Back again."


def test_progress_tells_what_goes_on(laptop: World) -> None:
    laptop.model.script(calling(tool_call("get_current_time")), saying("Ten."))
    laptop.text("What time is it?")

    messages = [notification["message"] for notification in laptop.channel.notifications]
    assert messages == ["thinking", "calling get_current_time", "thinking"]
    assert [notification["progress"] for notification in laptop.channel.notifications] == [1, 2, 3]


def test_the_days_budget_bounds_orders_too(laptop: World, clock: StillClock) -> None:
    poor = world_over(laptop.mind, laptop.model, clock, llm_daily_tokens=9_000)
    poor.model.reply = saying("ok", usage={"prompt_tokens": 4_000, "completion_tokens": 500})

    assert poor.text("one") == "ok"
    assert "spend cap of the day reached" in poor.error("two")
    assert len(poor.model.questions) == 1
    assert poor.model_access.spending.of_today(poor.being_id).input_tokens == 4_000


def test_the_stored_key_comes_before_the_deployments(laptop: World) -> None:
    laptop.model_access.keys.set(laptop.being_id, "sk-stored")
    laptop.text("hello")

    assert laptop.model.questions[0].key == "Bearer sk-stored"


# Arguments.


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"message": ""}, "'message' is empty"),
        ({"message": " \n"}, "'message' is empty"),
        ({"message": "x" * (MAX_ORDER_BYTES + 1)}, "send a long text as a file"),
        ({"message": 5}, "message"),
        ({}, "message"),
        ({"message": "x", "session_key": "s"}, "no argument 'session_key'"),
        ({"message": "x", "sessionKey": ""}, "'sessionKey' has 1 to"),
        ({"message": "x", "sessionKey": "a\nb"}, "'sessionKey' has 1 to"),
        ({"message": "x", "sessionKey": "k" * 513}, "'sessionKey' has 1 to"),
        ({"message": "x", "images": [{"data": "AAAA"}]}, "mimeType"),
        ({"message": "x", "images": [{"data": "AAAA", "mimeType": "image/png"}]}, "images[0]"),
    ],
)
def test_what_cannot_be_an_order_is_refused_by_name(
    laptop: World, arguments: dict[str, Any], complaint: str
) -> None:
    result = laptop.call(arguments, laptop.context())

    assert result["isError"] is True
    assert result["content"][0]["text"].startswith("Error: ")
    assert complaint in result["content"][0]["text"]
    assert laptop.model.questions == []


def test_the_longest_message_and_what_clients_add_are_taken(laptop: World) -> None:
    assert laptop.text("x" * MAX_ORDER_BYTES, sessionKey="k" * 512) == "Very well."
    assert laptop.text("x", sessionId="their own", _meta={}) == "Very well."


def test_an_image_and_a_file_reach_the_model_after_the_message(world: World) -> None:
    picture = base64.b64encode(PNG).decode()
    world.text(
        "What do you see?",
        sessionKey="s",
        images=[{"data": picture, "mimeType": "image/png", "filename": "a.png"}],
        files=[{"data": base64.b64encode(b"a,b\n1,2\n").decode(), "mimeType": "text/csv"}],
    )
    world.text("And then?", sessionKey="s")

    parts = world.model.questions[0].body["messages"][-1]["content"]
    assert parts[0] == {"type": "text", "text": "What do you see?"}
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    assert urls == ["data:image/png;base64," + base64.b64encode(PNG).decode()]
    assert any("1,2" in part.get("text", "") for part in parts)
    # Later turns know that something came along, and do not send it again.
    before = world.model.questions[1].body["messages"][1]["content"]
    assert before == "What do you see?\n\n[attachments: a.png, file-1.csv]"


def test_a_model_that_takes_no_images_is_named(laptop: World) -> None:
    laptop.model.reply = failing(400)
    image = {"data": base64.b64encode(PNG).decode(), "mimeType": "image/png"}

    assert "'some-model' takes no images" in laptop.error("Look", images=[image])
    assert "images" not in laptop.error("Look")


# What stays.


def test_an_order_lands_in_the_history_and_in_memory(world: World, clock: StillClock) -> None:
    world.model.reply = saying("Noted: your favourite colour is blue.")
    world.text("Remember that my favourite colour is blue.")

    history = world.mind.text("search_history", query="favourite colour")
    assert "user: Remember that my favourite colour is blue." in history
    assert "assistant: Noted: your favourite colour is blue." in history
    [scene] = world.mind.mind.memory.scenes.pending(world.being_id).scenes
    assert "favourite colour is blue" in scene.action
    assert scene.when == (moment(clock())[:10],)
    assert len(scene.evidence) == 2
    assert world.mind.mind.memory.trigger.pending(world.being_id) == (1, 2)
    assert "blue" in world.mind.text("recall", user_message="What is my favourite colour?")


def test_what_the_model_noted_itself_is_not_noted_twice(laptop: World) -> None:
    scene = {"action": "Ann likes blue", "actors": ["Ann"], "when": ["2026-07-01"]}
    laptop.model.script(calling(tool_call("update_notes", {"scenes": [scene]})), saying("Noted."))

    laptop.text("Remember that my favourite colour is blue.")

    scenes = laptop.mind.mind.memory.scenes.pending(laptop.being_id).scenes
    assert [entry.action for entry in scenes] == ["Ann likes blue"]


def test_a_greeting_is_no_memory(laptop: World) -> None:
    laptop.text("hi")

    assert laptop.mind.mind.memory.scenes.pending(laptop.being_id).scenes == ()


def test_memory_that_cannot_be_searched_does_not_stop_an_order(
    laptop: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: Any, **__: Any) -> Any:
        raise UnavailableError("no index now")

    monkeypatch.setattr("nacre.being.memory.search.search.Search.find", down)

    assert laptop.text("hello") == "Very well."


def test_a_caller_that_takes_tasks_gets_one_and_the_session_is_its_group(laptop: World) -> None:
    tool_ = laptop.surface.get_tool("order_being")
    assert tool_ is not None
    groups = []
    for arguments in (
        {"message": "x"},
        {"message": "x", "sessionKey": "s"},
        {"message": "y", "sessionKey": "s"},
    ):
        context = laptop.context()
        context.takes_task = True
        with pytest.raises(TaskWanted) as raised:
            step(tool_.call(arguments, context))
        groups.append(raised.value.group)
    assert groups[0] is None
    assert groups[1] == groups[2]
    assert str(groups[1]).startswith("order#")
    assert laptop.model.questions == []
    context = laptop.context()
    context.takes_task = True
    result = laptop.call({"message": ""}, context)
    assert "'message' is empty" in result["content"][0]["text"]
