"""The promises of the five seed documents, each with an id that its test carries.

Ids read `<document>.<part>.<promise>`. Where a later document repeats an earlier one (001 is
the newer edition of 000), the promise has one id, under the first. `PENDING` holds what has no
feature yet; an id leaves it in the commit that brings its test. `python tests/requirements.py`
prints who carries what.
"""

import json
import sys
from pathlib import Path

REQUIREMENTS: dict[str, str] = {
    # 000, 001: the order server over stdio
    "000.cli.mcp-server": "`nacre mcp-server` serves MCP over stdin and stdout",
    "000.cli.mcp-server.verbose": "-v and --verbose log requests and answers to stderr",
    "000.cli.mcp-server.version": "--version prints the server's version and ends",
    "000.cli.mcp-server.help": "-h and --help show the options",
    "000.cli.version": "`nacre --version` says whether and which Nacre is installed",
    "000.cli.doctor": "`nacre doctor` finds what is wrong in the configuration",
    "000.cli.status": "`nacre status` says which credentials are configured",
    "000.cli.sessions": "`nacre sessions` lists the stored sessions",
    "000.client.stdio-config": 'a client starts the server from {"command", "args"} in its mcpServers',
    "000.stdio.only": "the stdio server opens no network port",
    "000.stdio.per-client": "each client has a server process of its own",
    "000.stdio.ends-with-client": "the server ends when its client disconnects",
    "000.stdio.local-trust": "calls over stdio are authorised like the local command line",
    "000.order.definition": "the order tool's name, description and input schema",
    "000.order.single-tool": "the order server shows the order tool and none of the agent's own tools",
    "000.order.message": "the message reaches the agent unmodified",
    "000.order.result": "an answer is one text block with isError false",
    "000.order.error": "a failure is the text `Error: <message>` with isError true",
    "000.order.waits": "the call returns when the agent is done, in one block, without streaming",
    "000.order.aggregation": "intermediate and final parts are deduplicated and combined into one answer",
    "000.session.isolated": "a call without a session key gets one of its own, mcp-{timestamp}-{random}",
    "000.session.continuity": "calls with the same session key share one conversation",
    "000.session.secret": "session keys are treated as sensitive",
    "001.order.definition": "the order tool also takes images and files, with the schema of the document",
    "001.media.images": "images: jpeg, png, gif, webp; at most 10, 15 MB each",
    "001.media.files": "files: the documents, text, data, audio, video and archives listed; at most 5, 15 MB",
    "001.media.filename": "a file name is optional",
    "001.media.archives": "archives are opaque and never unpacked",
    "001.media.audio": "audio without a transcription provider is accepted and not transcribed",
    "001.media.base64": "media travel as base64 only; no URL is fetched",
    "001.media.answer.image": "an image in the answer is an image block",
    "001.media.answer.audio": "audio in the answer is an audio block",
    "001.media.answer.resource": "another file in the answer is an embedded resource, attachment://<filename>",
    "001.media.answer.limits": "an answer carries at most 20 MB per item and 50 MB in all",
    # 002: tools in process
    "002.external.config": "upstream servers are configured as stdio, sse or http, with env and headers optional",
    "002.external.stdio": "tools of an upstream stdio server are reachable",
    "002.external.sse": "tools of an upstream SSE server are reachable",
    "002.external.http": "tools of an upstream HTTP server are reachable",
    "002.external.login": "each owner logs in to an upstream server by OAuth, and calls use that owner's login alone",
    "002.external.hanging": "a list waits once for a server that hangs, and others do not wait for it",
    "002.external.profiles": "a caller in a profile reaches and learns of nothing outside of it",
    "002.external.failing-calls": "a server whose calls fail is left alone, though its lists succeed",
    "002.external.login-renewal": "one thread of one process renews a login at a time",
    "002.names.qualified": "clients see mcp__{server}__{tool}; inside, a tool has its short name",
    "002.allowed-tools": "allowed_tools lets the named mcp__ tools through",
    "002.disallowed-tools": "disallowed_tools blocks the named mcp__ tools",
    "002.server.new": "a server has a name and a version",
    "002.server.register-tool": "register_tool adds a tool; a duplicate name overwrites",
    "002.server.get-tool": "get_tool finds a tool by name, or nothing",
    "002.server.list-tools": "list_tools gives the definitions of tools/list",
    "002.server.handle-jsonrpc": "handle_jsonrpc routes a request by its method",
    "002.registry.handle": "a registry routes a request to the server of that name",
    "002.tool.name": "a tool is named as given, else as its function with _ replaced by -",
    "002.tool.description": "a tool is described as given, else by its doc comment, else `Tool: {name}`",
    "002.tool.schema": "the input schema follows from the signature: string, number, boolean, array",
    "002.tool.schema.optional": "an optional parameter is not in required",
    "002.tool.schema.fallback": "a custom type falls back to object",
    "002.tool.async": "a tool's function is async",
    "002.tool.no-self": "a tool's function has no self",
    "002.tool.returns": "a tool returns a ToolResult or fails with an error",
    "002.tool.handler": "a handler class with state makes a tool from a name, a description and a schema",
    "002.result.text": "ToolResult.text is a success with one text block",
    "002.result.error": "ToolResult.error is a result with isError true",
    "002.result.content": "a result carries several blocks; text and image are shaped as documented",
    "002.jsonrpc.initialize": "initialize answers as in the document's example",
    "002.jsonrpc.tools-list": "tools/list answers as in the document's example",
    "002.jsonrpc.tools-call": "tools/call answers as in the document's example",
    "002.jsonrpc.method-not-found": "another method is error -32601",
    "002.jsonrpc.tool-not-found": "an unknown tool is error -32602",
    "002.jsonrpc.tool-failed": "a handler that fails is error -32603",
    "002.jsonrpc.missing-parameter": "a missing or invalid required parameter is error -32603",
    "002.jsonrpc.logical-error": "a logical error is a successful response with isError",
    "002.example.end-to-end": "the end-to-end example: a tool, a server, a registry, a call",
    "002.example.two-tools": "a working example with two tools",
    # 003: the Being
    "003.transport.post": "POST /mcp and /mcp/{beingId} take MCP requests over Streamable HTTP",
    "003.transport.get": "GET is answered at once: 405, there is no stream to open",
    "003.transport.delete": "DELETE is answered at once: 405, there is no session to close",
    "003.transport.stateless": "no session id is ever issued; requests stand alone",
    "003.auth.bearer": "the token is in `Authorization: Bearer`",
    "003.auth.bto": "a bto_ token carries its Being; none is needed in the URL",
    "003.auth.brt": "a brt_ token needs its Being in the path or as ?being_id=",
    "003.auth.hashed": "tokens are looked up by their SHA-256 and are not stored",
    "003.auth.expiry": "an expired token is refused",
    "003.auth.revocation": "a revoked token is refused",
    "003.scope.read-only": "a read-only token gets 403 on a write tool and may call every read tool",
    "003.scope.write-tools": "the five write tools of the Being need full scope; its read tools do not",
    "003.llm-key.header": "X-LLM-API-Key enables what needs a model",
    "003.llm-key.stored": "without the header the stored key of the Being is used",
    "003.llm-key.none": "without any key, the steps that need a model are skipped",
    "003.recall.answer": "recall gives the top 3 similar nodes as shuffled fragments, or an empty message",
    "003.recall.counts": "recall increments the reactivation count of what it returned",
    "003.get_context.shape": "get_context gives the system prompt, the snapshot, metadata and recent nodes",
    "003.get_context.capability-tools": "get_context lists the act-type capabilities that are connected",
    "003.recall_memory.clusters": "recall_memory without ids lists the clusters",
    "003.recall_memory.cluster": "with cluster_id it gives the digest and the top nodes; limit, query, no_nodes",
    "003.recall_memory.node": "with node_id it gives one node's details",
    "003.recall_memory.revival": "reading a dead node adds 2 to its reactivation count",
    "003.search_memory.vector": "search_memory searches nodes by vector; default 10, at most 30",
    "003.search_memory.keyword": "without an embedder it searches by keyword, mode or / and",
    "003.search_memory.header": "the result header says which search was used",
    "003.merge_nodes.merge": "merge_nodes makes one node of several and confirms with its id",
    "003.merge_nodes.embedding": "merging recomputes the cluster's vector",
    "003.update_memory.targets": "update_memory knows the ten targets",
    "003.update_memory.actions": "update_memory gets, appends, updates and deletes, narrowed by key",
    "003.update_memory.partner-map": "location belongs to partner_map",
    "003.update_memory.party-message": "a party_message goes to the partner named in `to`",
    "003.update_notes.scenes": "update_notes records scenes of the documented shape",
    "003.update_notes.notes": "notes stay as they are; patrol does not consume them",
    "003.update_notes.one-of": "at least one of scenes or notes is required",
    "003.update_notes.update": "action update deletes scene_ids first, then inserts",
    "003.update_notes.patrol": "at 10 accumulated scenes patrol is fired in the background",
    "003.search_history.filter": "search_history filters by keyword and by dates, both inclusive in UTC",
    "003.search_history.limit": "search_history gives 10 by default and at most 50, with timestamps",
    "003.update_relation.upsert": "update_relation creates or overwrites a relation; content is required",
    "003.update_relation.delete": "update_relation removes a relation",
    "003.trigger_patrol.answer": "trigger_patrol gives status, scenes_created, nodes_created and marker_id",
    "003.trigger_patrol.empty": "with no messages it processes the existing scenes only",
    "003.trigger_patrol.no-key": "without a key, consolidation and split are skipped",
    "003.get_current_time.shape": "get_current_time gives datetime with a Japanese weekday, iso and timezone",
    "003.get_current_time.default": "the time zone is UTC unless given",
    "003.client.brt-config": "the documented client configuration with a brt_ token and the Being in the URL works",
    "003.client.bto-config": "the documented client configuration with a bto_ token and /mcp works",
    "003.client.sdk": "an official SDK client connects by URL and header, and calls tools",
    # 004: the policy gate
    "004.wrap.config": "wrap rewrites a client's configuration so that it launches the proxy",
    "004.proxy.stdio": "the proxy launches the real server and sits between both ends",
    "004.proxy.remote": "in front of an HTTP or SSE server the proxy forwards after evaluation",
    "004.method.tools-call": "tools/call is evaluated by tool name and arguments",
    "004.method.tools-list": "tools/list is recorded, and the declared tools are kept for correlation",
    "004.method.resources-read": "resources/read is evaluated by URI",
    "004.method.resources-list": "resources/list is recorded",
    "004.method.sampling": "sampling/createMessage is evaluated and can be blocked or modified",
    "004.method.prompts-get": "prompts/get is evaluated",
    "004.method.initialize": "initialize is recorded",
    "004.method.notifications": "notifications pass through, in both directions, and are recorded",
    "004.method.others": "other methods pass through unmodified and are recorded",
    "004.rule.file": "policies are TOML in the user's configuration folder",
    "004.rule.fields": "a rule has action and tool, and may have args.<name>, server and description",
    "004.rule.actions": "an action is allow, deny or prompt",
    "004.rule.order": "rules are read from top to bottom and the first match decides",
    "004.rule.default-deny": "without a match the call is denied",
    "004.glob": "* stays within /, ** crosses it, ? is one character; in tool and in args",
    "004.test.fixture": "policy test decides one fixture file",
    "004.test.directory": "policy test decides every fixture of a directory",
    "004.test.expect": "--expect compares the decision",
    "004.test.exit": "a decision that differs from `expected` gives a non-zero exit status",
    "004.test.format": "a fixture is a tools/call request with an optional expected field",
}

PENDING: frozenset[str] = frozenset(
    {
        # policy
    }
)


def carriers() -> dict[str, list[str]]:
    """Collect every test, slow ones too; return each marked id with the tests that carry it."""
    import pytest

    found: dict[str, list[str]] = {}

    class Collector:
        def pytest_collection_finish(self, session: pytest.Session) -> None:
            for item in session.items:
                for mark in item.iter_markers("requirement"):
                    found.setdefault(mark.args[0], []).append(item.nodeid)

    status = pytest.main(
        ["--collect-only", "-q", "--no-header", "--no-summary", "-m", "", "-p", "no:cacheprovider"],
        plugins=[Collector()],
    )
    if status != pytest.ExitCode.OK:
        raise SystemExit(f"the tests could not be collected (pytest ended with {status})")
    return found


if __name__ == "__main__":
    from contextlib import redirect_stdout

    # pytest lists every test on stdout; the answer alone belongs there.
    with redirect_stdout(sys.stderr):
        carried = carriers()
    if "--json" in sys.argv:
        print(json.dumps(carried))
    else:
        for requirement, promise in REQUIREMENTS.items():
            state = "pending" if requirement in PENDING else "not carried"
            print(f"{requirement}: {promise}")
            for test in carried.get(requirement, [f"({state})"]):
                print(f"    {Path(test)}")
