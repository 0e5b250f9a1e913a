"""Raw messages that parsers read differently, and how each must be handled."""

# ruff: noqa: E501 (a table is read best with one case in a line)

import base64
import json
from typing import Any

# Under the policy "project" of the decisions.
READ = '{"name":"fs_read","arguments":{"path":"/home/user/site/a"}}'
SHELL = '{"name":"run_shell","arguments":{"command":"id"}}'
REJECT = "reject -32600, not forwarded"
PARSE = "reject -32700, not forwarded"
ALLOW = "allow; forwarded byte-identical"


def _call(params: str, *, number: str = "1", method: str = "tools/call") -> str:
    return f'{{"jsonrpc":"2.0","id":{number},"method":"{method}","params":{params}}}'


_FROM_CLIENT: tuple[tuple[str, bytes | str, str], ...] = (
    ("an ordinary call", _call(READ), ALLOW),
    ("spaces between members", _call(READ).replace(",", " , "), ALLOW),
    ("a big integer", _call(READ.replace("}}", ',"n":98765432109876543210}}')), ALLOW),
    ("a float in another spelling", _call(READ.replace("}}", ',"n":2.50E1}}')), ALLOW),
    ("an escaped letter", _call(READ.replace("fs_read", "fs_rea\\u0064")), ALLOW),
    ("a text as the id", _call(READ, number='"one"'), ALLOW),
    ("a denied call", _call(SHELL), "deny"),
    ("a member twice in the message", _call(SHELL)[:-1] + f',"params":{READ}}}', REJECT),
    ("a member twice in the params", _call('{"name":"run_shell",' + READ[1:]), REJECT),
    ("a member twice in the arguments", _call(READ.replace('{"path"', '{"path":"/etc/x","path"')), REJECT),
    ("a member twice, once escaped", _call('{"n\\u0061me":"run_shell",' + READ[1:]), REJECT),
    ("the method in capitals beside itself", _call(SHELL)[:-1] + ',"Method":"ping"}', REJECT),
    ("not a number", _call(READ.replace("}}", ',"n":NaN}}')), PARSE),
    ("infinity", _call(READ.replace("}}", ',"n":-Infinity}}')), PARSE),
    ("a comma too many", _call(READ.replace("}}", ",}}")), PARSE),
    ("a comment", "/* x */" + _call(READ), PARSE),
    ("single quotes", _call(READ).replace('"', "'"), PARSE),
    ("bytes that are no UTF-8", _call(READ).encode().replace(b"site", b"si\xffte"), PARSE),
    ("text after the message", _call(READ) + " " + _call(SHELL), PARSE),
    ("an unpaired surrogate", _call(READ.replace("/a", "/\\udfff")), "reject -32600 or deny"),
    ("a batch", f"[{_call(READ)},{_call(SHELL)}]", REJECT),
    ("a float as the id", _call(READ, number="2.5"), "reject -32600 or deny"),
    ("an object as the id", _call(READ, number="{}"), REJECT),
    ("null as the id", _call(READ, number="null"), REJECT),
    ("another version", _call(READ).replace('"2.0"', '"1.0"'), REJECT),
    ("a method with a space", _call(SHELL, method="tools/call "), "reject -32601"),
    ("a method in capitals", _call(SHELL, method="Tools/Call"), "reject -32601"),
    ("a method with two slashes", _call(SHELL, method="tools//call"), "reject -32601"),
    ("a call that expects no answer", _call(READ).replace('"id":1,', ""), "drop"),
    ("deeper than a parser may go", _call('{"name":"fs_read","arguments":' + "[" * 200 + "]" * 200 + "}"), REJECT),
)  # fmt: skip
_ASKS = '"resultType":"input_required","inputRequests":{"a":{"method":"sampling/createMessage","params":{"messages":[]}}}'
_FROM_SERVER: tuple[tuple[str, str, str], ...] = (
    ("an answer that nobody waits for", '{"jsonrpc":"2.0","id":555,"result":{}}', "drop"),
    ("a result that asks for what the policy denies", f'{{"jsonrpc":"2.0","id":1,"result":{{{_ASKS}}}}}', "deny"),
)  # fmt: skip


def rows() -> list[dict[str, Any]]:
    """Return the messages, in base64 because some are no text."""
    from_client = [("client_to_server", *case) for case in _FROM_CLIENT]
    from_server = [("server_to_client", *case) for case in _FROM_SERVER]
    headers = {"Mcp-Method": "tools/list", "MCP-Protocol-Version": "2026-07-28"}
    held = json.dumps({"headers": headers, "body": json.loads(_call(READ))})
    mirrored = [("client_to_server", "a header that names another method", held, "deny")]
    return [
        {
            "id": f"wire-{number}",
            "name": name,
            "direction": direction,
            "policy": "project",
            "raw_b64": base64.b64encode(raw if isinstance(raw, bytes) else raw.encode()).decode(),
            "expected": expected,
            "call": json.loads(READ),
        }
        for number, (direction, name, raw, expected) in enumerate(
            [*from_client, *from_server, *mirrored], start=1
        )
    ]
