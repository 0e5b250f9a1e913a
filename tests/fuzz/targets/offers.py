"""What other servers offer: what goes on is theirs, unchanged, and no more than is allowed."""

import json
from typing import Any

from nacre.core.errors import HeaderMismatchError, InvalidSchemaError, NacreError
from nacre.core.limits import MAX_ARGUMENT_ERROR, MAX_TOOL_NAME
from nacre.firewall.enforce.mirrored_headers import checked_mirrors, encoded, mirror_headers
from nacre.firewall.enforce.verdicts import Answer, Forward
from nacre.firewall.pins import fingerprint
from nacre.gateway.calls.external_server import sanitize
from nacre.gateway.catalogue.merged_lists import ServerOffer, merge_lists, place_of
from nacre.ports.other_programs.upstream import Offered
from nacre.protocol.http.headers import annotated
from nacre.protocol.versions import META_VERSION, MODERN
from nacre.sdk.schema.validation import Validator
from tests.firewall.guarding import Scene, request
from tests.firewall.guarding import encoded as line

RULES = '[[rule]]\naction = "deny"\ntool = "rm*"\n[[rule]]\naction = "allow"\ntool = "**"\n'
SCENE = Scene(RULES)
SCHEMA = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "n": {"type": "integer", "minimum": 1, "x-mcp-header": "N"},
        "deep": {"type": "object", "properties": {"b": {"enum": ["x", 1, None]}}},
    },
    "required": ["region"],
    "additionalProperties": False,
}
LENGTH = 500
SEEDS = (
    b"",
    b'\0[{"name":"read","inputSchema":{"type":"object"}},{"name":"rm"} ,\t{"name":"a\\u0062"}]',
    b'\0[{"uri":"a:b","name":"x"},{"uriTemplate":"a:{b}/{c}.{d}"},{"uriTemplate":"a:{+p}"}]',
    b"\1" + json.dumps(SCHEMA).encode(),
    b'\1{"$ref":"#/$defs/a","$defs":{"a":{"pattern":"^(a+)+$","anyOf":[{"type":"string"}]}}}',
    b'\2{"region":"eu","n":1}',
    b'\2{"region":"\xc3\xa9 ","n":1e3,"deep":{"b":2}}',
    b'\2{"n":-0.0}',
)


def one(data: bytes) -> None:
    """Take the input for a list, a schema or arguments, as its first byte says."""
    kind, raw = (data[:1] or b"\0")[0] % 3, data[1:]
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        value = None
    match kind:
        case 0:
            _listed(raw)
            if isinstance(value, list):
                _offered(value)
        case 1 if isinstance(value, dict):
            _schema(value)
        case 2 if isinstance(value, dict):
            _mirrored(value)
        case _:
            pass


def _listed(raw: bytes) -> None:
    """Send the input as the list that a server answers with."""
    number = SCENE.last_id = SCENE.last_id + 1
    SCENE.audit.entries.clear()
    SCENE.guard.from_client(line(request(number, "tools/list")))
    answer = b'{"jsonrpc":"2.0","id":%d,"result":{"tools":%b}}' % (number, raw)
    verdict = SCENE.guard.from_server(answer)
    if isinstance(verdict, Forward) and b'"error"' not in verdict.raw[:40]:
        shown = json.loads(verdict.raw)
        assert shown["id"] == number
        if "result" not in shown:
            return
        before = json.loads(answer)["result"]["tools"]
        after = shown["result"]["tools"]
        left = iter(before)
        assert all(any(each == other for other in left) for each in after)
        names = [each["name"] for each in after]
        assert not any(name.startswith("rm") and "/" not in name for name in names)
        kept = [each for each in before if isinstance(each, dict)]
        assert len(after) <= len(kept)
    elif isinstance(verdict, Answer):
        json.loads(verdict.raw)


def _offered(values: list[Any]) -> None:
    every = tuple(values)
    offered = sanitize(Offered(every, every, every, every))
    lists = merge_lists([ServerOffer("a", offered), ServerOffer("b", offered)])
    for definition in lists.tools:
        assert len(definition["name"]) <= MAX_TOOL_NAME
        assert lists.tool_places[definition["name"]][0] in ("a", "b")
    assert len({each["name"] for each in lists.tools}) == len(lists.tools)
    for resource in lists.resources:
        assert place_of(resource["uri"], lists) is not None
    place_of("a:b/c.d", lists)
    for tool in offered.tools:
        assert fingerprint(tool) == fingerprint(dict(reversed([*tool.items()])))
        _schema(tool["inputSchema"])
    json.dumps([lists.tools, lists.resources, lists.templates, lists.prompts]).encode()


def _schema(schema: Any) -> None:
    for path, header in annotated(schema):
        assert path
        assert isinstance(header, str)
    try:
        validator = Validator(schema, tool="t")
    except InvalidSchemaError as error:
        str(error).encode("utf-8", "replace")
        return
    bad = {"region": "é", "n": 0, "deep": {"b": 2}}
    values: tuple[Any, ...] = ({}, bad, [], "a" * 30 + "!", 1)
    for value in values:
        problem = validator.problem(value)
        assert problem is None or len(problem) <= MAX_ARGUMENT_ERROR


def _mirrored(arguments: dict[str, Any]) -> None:
    """Check that the headers which we make say what the body says, and no others do."""
    message = request(1, "tools/call", {"name": "t", "arguments": arguments})
    message["params"]["_meta"] = {META_VERSION: MODERN}
    raw, schemas = line(message), {"t": SCHEMA}
    try:
        headers = mirror_headers(raw, schemas, MODERN)
    except NacreError:
        return
    for name, value in headers.items():
        assert value.isascii()
        assert value.isprintable()
        assert encoded(value) == value or value.startswith("=?")
        assert name.startswith("mcp-")
    values = [arguments.get(each) for each in ("region", "n")]
    if all(value is None or isinstance(value, (str, int, float, bool)) for value in values):
        assert checked_mirrors(raw, headers, schemas) == headers
    for name in headers:
        bent = {**headers, name: headers[name] + "x"}
        try:
            checked_mirrors(raw, bent, schemas)
        except HeaderMismatchError:
            continue
        raise AssertionError(name)
