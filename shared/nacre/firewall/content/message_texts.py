"""Every text that a server can send and that a model may see, message by message.

A guard checks each text of each message, known or not, except the `opaque` fields. The table says
how strictly each message is checked. A test compares it with the official types of all protocol
versions, so that a new field there is noticed here.

A path names a field: `[]` is any element, `.**` everything below.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

from nacre.core.lazy_dataclasses import dataclass, field
from nacre.firewall.rules.sections import Source
from nacre.protocol.versions import LEGACY_VERSIONS, MODERN

Kind = Literal["result", "request", "notification", "error"]

_SINCE_ELICITATION = LEGACY_VERSIONS[:2]
_SINCE_URL_FORMS = LEGACY_VERSIONS[:1]
_ALL = (MODERN, *LEGACY_VERSIONS)
_ONLY_MODERN = (MODERN,)


@dataclass(frozen=True, slots=True)
class MessageTexts:
    """The texts of one message.

    `source` is the name of such texts in the policy's `[injection]` section. `opaque` are the
    fields that pass without a check, each with the reason. `modern` are fields that only the
    newest version has.
    """

    versions: tuple[str, ...]
    source: Source
    texts: tuple[str, ...] = ()
    modern: tuple[str, ...] = ()
    opaque: Mapping[str, str] = field(default_factory=dict)

    def fields(self, version: str) -> frozenset[str]:
        """Return the fields that this version has, read or not."""
        opaque = set(self.opaque) - (set() if version == MODERN else _MODERN_OPAQUE)
        return frozenset({*self.texts, *opaque, *(self.modern if version == MODERN else ())})


def _under(place: str, fields: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{place}.{name}" for name in fields)


_META = "_meta.**"
_ICONS = _under("icons[]", ("src", "mimeType", "sizes[]"))
_NAMED = ("name", "title", "description", *_ICONS, _META)
_DATED = "annotations.lastModified"
_TOOL = (*_NAMED, "annotations.title", "inputSchema.**", "outputSchema.**")
_RESOURCE = (*_NAMED, "uri", "mimeType", _DATED)
_CONTENTS = ("uri", "mimeType", "text", "blob", _META)
_BLOCK = (
    *("text", "data", "mimeType", "uri", "name", "title", "description"),
    *(_DATED, *_ICONS, _META, *_under("resource", _CONTENTS)),
)
_SAMPLED = (
    *("text", "data", "mimeType", "id", "toolUseId", "name", "input.**", "structuredContent.**"),
    *(_DATED, _META, *_under("content[]", _BLOCK)),
)

_CURSOR = {"nextCursor": "only the server reads it, and must get it back unchanged"}
_KIND_OF_RESULT = {"resultType": "one of a few words, which decides how the result is read"}
_STATE = {"requestState": "only the server reads it, and must get it back unchanged"}
_QUESTIONS = {"inputRequests.**": "each is decided as its own request"}
_MODERN_OPAQUE = {*_KIND_OF_RESULT, *_STATE, *_QUESTIONS}
_REQUEST_ID = {"id": "names the request; its answer must carry it unchanged"}
_CALL = "names the call; the client chose it"

_LISTED = {**_CURSOR, **_KIND_OF_RESULT}
_ANSWERED = {**_KIND_OF_RESULT, **_STATE, **_QUESTIONS}
_SERVER = _under("serverInfo", ("name", "title", "version", "description", "websiteUrl", *_ICONS))
_CHANGED = MessageTexts(_ALL, "result", _under("params", (_META,)))

TABLE: Mapping[tuple[Kind, str], MessageTexts] = {
    # Introductions of a server.
    ("result", "initialize"): MessageTexts(
        LEGACY_VERSIONS,
        "definition",
        ("instructions", *_SERVER, "capabilities.**", "protocolVersion", _META),
    ),
    ("result", "server/discover"): MessageTexts(
        _ONLY_MODERN,
        "definition",
        ("instructions", "capabilities.**", _META),
        opaque={"supportedVersions[]": "known versions", **_KIND_OF_RESULT},
    ),
    # Lists.
    ("result", "tools/list"): MessageTexts(
        _ALL, "definition", (*_under("tools[]", _TOOL), _META), opaque=_LISTED
    ),
    ("result", "prompts/list"): MessageTexts(
        _ALL,
        "definition",
        (
            *_under("prompts[]", _NAMED),
            *_under("prompts[].arguments[]", ("name", "title", "description")),
            _META,
        ),
        opaque=_LISTED,
    ),
    ("result", "resources/list"): MessageTexts(
        _ALL, "definition", (*_under("resources[]", _RESOURCE), _META), opaque=_LISTED
    ),
    ("result", "resources/templates/list"): MessageTexts(
        _ALL,
        "definition",
        (
            *_under("resourceTemplates[]", (*_NAMED, "uriTemplate", "mimeType", _DATED)),
            _META,
        ),
        opaque=_LISTED,
    ),
    # Results.
    ("result", "tools/call"): MessageTexts(
        _ALL,
        "result",
        (*_under("content[]", _BLOCK), "structuredContent.**", _META),
        opaque=_ANSWERED,
    ),
    ("result", "prompts/get"): MessageTexts(
        _ALL,
        "result",
        ("description", *_under("messages[].content", _BLOCK), _META),
        opaque=_ANSWERED,
    ),
    ("result", "resources/read"): MessageTexts(
        _ALL, "result", (*_under("contents[]", _CONTENTS), _META), opaque=_ANSWERED
    ),
    ("result", "completion/complete"): MessageTexts(
        _ALL, "result", ("completion.values[]", _META), opaque=_KIND_OF_RESULT
    ),
    ("result", "subscriptions/listen"): MessageTexts(
        _ONLY_MODERN, "result", (_META,), opaque=_KIND_OF_RESULT
    ),
    ("result", "logging/setLevel"): MessageTexts(LEGACY_VERSIONS, "result", (_META,)),
    ("result", "resources/subscribe"): MessageTexts(LEGACY_VERSIONS, "result", (_META,)),
    ("result", "resources/unsubscribe"): MessageTexts(LEGACY_VERSIONS, "result", (_META,)),
    ("result", "ping"): MessageTexts(LEGACY_VERSIONS, "result", (_META,)),
    # Requests to the client.
    ("request", "sampling/createMessage"): MessageTexts(
        LEGACY_VERSIONS,
        "sampling",
        (
            *_under("params.messages[].content", _SAMPLED),
            *_under("params.messages[].content[]", _SAMPLED),
            *_under("params.tools[]", _TOOL),
            *_under("params.modelPreferences.hints[]", ("name",)),
            *_under("params", ("systemPrompt", "metadata.**", "stopSequences[]")),
            "params.messages[]._meta.**",
            "params._meta.**",
        ),
        opaque=_REQUEST_ID,
    ),
    ("request", "elicitation/create"): MessageTexts(
        _SINCE_ELICITATION,
        "elicitation",
        ("params.message", "params.url", "params.requestedSchema.**", "params._meta.**"),
        opaque={
            **_REQUEST_ID,
            "params.elicitationId": "names the question; a later message repeats it",
        },
    ),
    ("request", "roots/list"): MessageTexts(
        LEGACY_VERSIONS,
        "result",
        ("params._meta.**",),
        opaque=_REQUEST_ID,
    ),
    ("request", "ping"): MessageTexts(
        LEGACY_VERSIONS,
        "result",
        ("params._meta.**",),
        opaque=_REQUEST_ID,
    ),
    # Notifications.
    ("notification", "notifications/message"): MessageTexts(
        _ALL, "result", _under("params", ("data.**", "logger", _META))
    ),
    ("notification", "notifications/progress"): MessageTexts(
        _ALL,
        "result",
        _under("params", ("message", _META)),
        opaque={"params.progressToken": _CALL},
    ),
    ("notification", "notifications/cancelled"): MessageTexts(
        _ALL,
        "result",
        _under("params", ("reason", _META)),
        opaque={"params.requestId": "names the request that is given up"},
    ),
    ("notification", "notifications/elicitation/complete"): MessageTexts(
        _SINCE_URL_FORMS,
        "result",
        opaque={"params.elicitationId": "names the question that is settled"},
    ),
    ("notification", "notifications/resources/updated"): MessageTexts(
        _ALL, "result", _under("params", ("uri", _META))
    ),
    ("notification", "notifications/subscriptions/acknowledged"): MessageTexts(
        _ONLY_MODERN,
        "result",
        _under("params", ("notifications.resourceSubscriptions[]", _META)),
    ),
    ("notification", "notifications/tools/list_changed"): _CHANGED,
    ("notification", "notifications/prompts/list_changed"): _CHANGED,
    ("notification", "notifications/resources/list_changed"): _CHANGED,
    # Tasks, an extension whose types the official package does not hold.
    ("notification", "notifications/tasks"): MessageTexts(
        _ONLY_MODERN, "result", ("params.**",), opaque={"params.taskId": "names the task"}
    ),
    ("notification", "notifications/tasks/status"): MessageTexts(
        _SINCE_URL_FORMS, "result", ("params.**",), opaque={"params.taskId": "names the task"}
    ),
}
EXTENSIONS = frozenset({"notifications/tasks", "notifications/tasks/status"})

# A message that the table does not know is read like a result; its fields that are opaque
# wherever they occur are opaque there too.
_UNKNOWN: Mapping[Kind, MessageTexts] = {
    "result": MessageTexts(_ALL, "result", opaque={**_CURSOR, **_ANSWERED}),
    "request": MessageTexts(_ALL, "result", opaque=_REQUEST_ID),
    "notification": MessageTexts(_ALL, "result", opaque={"params.taskId": "names the task"}),
    "error": MessageTexts(_ALL, "result", ("message", "data.**")),
}


def texts_of(kind: Kind, method: str) -> MessageTexts:
    """Return the texts of a message that have to be checked."""
    return TABLE.get((kind, method)) or _UNKNOWN[kind]


def opaque_members(kind: Kind, method: str) -> frozenset[str]:
    """Return the members of a result or of parameters that pass without a check."""
    members = _OPAQUE.get((kind, method))
    return _UNKNOWN_OPAQUE[kind] if members is None else members


def _members(kind: Kind, texts: MessageTexts) -> frozenset[str]:
    names: set[str] = set()
    for path in texts.opaque:
        if kind == "result" or path.startswith("params."):
            plain = path.removeprefix("params.").removesuffix(".**").removesuffix("[]")
            names.update((plain,) if "." not in plain else ())
    return frozenset(names)


_OPAQUE = {key: _members(key[0], texts) for key, texts in TABLE.items()}
_UNKNOWN_OPAQUE = {kind: _members(kind, texts) for kind, texts in _UNKNOWN.items()}
