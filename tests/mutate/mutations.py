"""One way to break each promise: a text of one module, and what stands there instead."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutation:
    """A change of the package after which the promise does not hold."""

    requirement: str
    module: str  # below shared/nacre
    old: str  # occurs once in the module
    new: str

    def broken(self, source: str) -> str:
        """Return the module's source with the promise broken."""
        if source.count(self.old) != 1:
            raise ValueError(
                f"{self.requirement}: {self.module} has {source.count(self.old)} times: {self.old}"
            )
        return source.replace(self.old, self.new)


MUTATIONS: tuple[Mutation, ...] = (
    Mutation(
        "000.cli.doctor",
        "cli/doctor.py",
        'return FAILURE if any(finding.state == "fail" for finding in findings) else OK',
        "return OK",
    ),
    Mutation(
        "000.cli.mcp-server",
        "cli/stdio.py",
        '        _serve(values, verbose="verbose" in flags, only_order="only-order" in flags)',
        "        pass",
    ),
    Mutation(
        "000.cli.mcp-server.help",
        "cli/stdio.py",
        'elif argument in ("-h", "--help"):',
        'elif argument in ("--help",):',
    ),
    Mutation(
        "000.cli.mcp-server.verbose",
        "cli/stdio.py",
        'log = Log("debug" if verbose else "warning")',
        'log = Log("warning")',
    ),
    Mutation(
        "000.cli.mcp-server.version",
        "cli/stdio.py",
        'elif argument == "--version":',
        'elif argument == "--versions":',
    ),
    Mutation(
        "000.cli.sessions",
        "cli/sessions.py",
        "    if context.invoked_subcommand is None:",
        '    if context.invoked_subcommand == "list":',
    ),
    Mutation("000.cli.status", "cli/status.py", '"secrets": secrets,', '"secrets": [],'),
    Mutation(
        "000.cli.version",
        "cli/main.py",
        'if arguments == ["--version"]:',
        'if arguments == ["--versions"]:',
    ),
    Mutation("000.client.stdio-config", "cli/stdio.py", '    "--being": "being",\n', ""),
    Mutation(
        "000.stdio.only",
        "cli/stdio.py",
        "        help_with_work = WorkOnDemand(laptop, log)",
        '        import socket\n\n        listener = socket.create_server(("127.0.0.1", 0))\n        laptop.listener = listener\n        help_with_work = WorkOnDemand(laptop, log)',
    ),
    Mutation(
        "000.stdio.per-client",
        "cli/stdio.py",
        "        _serve(values, verbose",
        "        import fcntl\n\n        lock = open(__file__)\n        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)\n        _serve(values, verbose",
    ),
    Mutation(
        "000.stdio.ends-with-client",
        "cli/stdio.py",
        "        finally:\n            help_with_work.end()",
        "        finally:\n            signal.pause()",
    ),
    Mutation(
        "000.stdio.local-trust", "cli/stdio.py", "scopes=FULL)", 'scopes=frozenset({"mcp:read"}))'
    ),
    Mutation(
        "000.order.definition",
        "being/order.py",
        '"Optional session key for conversation continuity"',
        '"Optional key"',
    ),
    Mutation(
        "000.order.single-tool",
        "orders/only_order.py",
        'if str(each["name"]).startswith(ORDER_PREFIX))',
        "if each)",
    ),
    Mutation(
        "000.order.message",
        "orders/order.py",
        "order = GivenOrder(principal, context, message, key",
        "order = GivenOrder(principal, context, message.strip(), key",
    ),
    Mutation("000.order.result", "being/order.py", '"isError": False}', "}"),
    Mutation(
        "000.order.error",
        "orders/order.py",
        "        if found is None:\n            raise ToolError(NO_MODEL)",
        '        if found is None:\n            return ""',
    ),
    Mutation(
        "000.order.waits",
        "orders/order.py",
        "            return runner.run(self._carried_out(order))",
        '            return OrderAnswer([{"type": "text", "text": "taken"}], key.key)',
    ),
    Mutation(
        "000.order.aggregation",
        "orders/aggregate.py",
        "if is_final or not any(part in other for other in others):",
        "if True:",
    ),
    Mutation(
        "000.session.isolated",
        "orders/sessions.py",
        '        key = f"mcp-{int(now.timestamp() * 1000)}-{rng.getrandbits(24):06x}"',
        '        key = "mcp"',
    ),
    Mutation(
        "000.session.continuity",
        "orders/order.py",
        "            before = self.sessions.load(being_id, session_id)",
        "            before = Session(session_id=session_id)",
    ),
    Mutation(
        "000.session.secret",
        "orders/sessions.py",
        "return SessionKey(given, session_key_hash(identity(principal), given), is_kept=True)",
        "return SessionKey(given, given, is_kept=True)",
    ),
    Mutation(
        "001.order.definition",
        "being/order.py",
        '"files": _media("files (max 5, 15MB each)", "file", "application/pdf"),',
        "",
    ),
    Mutation("001.media.images", "orders/media_types.py", '_riff(b"WEBP")', '_riff(b"WEBX")'),
    Mutation(
        "001.media.files",
        "orders/media_types.py",
        '"text/csv", "text", "csv", _nothing',
        '"text/csv", "document", "csv", _nothing',
    ),
    Mutation(
        "001.media.filename",
        "orders/media_in.py",
        'name or f"{kind}-{number + 1}.{found.extension}"',
        "name",
    ),
    Mutation(
        "001.media.archives",
        "orders/media_parts.py",
        'case "video" | "archive":\n            return [_text(_line(number, attachment, f"not opened, SHA-256 {attachment.sha256}"))]',
        'case "video" | "archive":\n            return [_fenced(number, attachment, attachment.data.decode("latin-1"), "")]',
    ),
    Mutation(
        "001.media.audio",
        "orders/media_parts.py",
        "    if abilities.transcriber is None:\n        reason",
        '    if abilities.transcriber is None:\n        raise UnavailableError("no transcriber")\n        reason',
    ),
    Mutation(
        "001.media.base64",
        "orders/media_base64.py",
        "            raise InvalidInputError(_complaint(text)) from None",
        "            return",
    ),
    Mutation(
        "001.media.answer.image",
        "orders/media_out.py",
        "    if mime_type in IMAGES:\n",
        "    if False:\n",
    ),
    Mutation(
        "001.media.answer.audio",
        "orders/media_out.py",
        '    if mime_type.startswith("audio/"):',
        '    if mime_type.startswith("sound/"):',
    ),
    Mutation(
        "001.media.answer.resource", "orders/media_out.py", "attachment://{quote", "file://{quote"
    ),
    Mutation(
        "001.media.answer.limits",
        "orders/media_out.py",
        "if size > limits.answer_item_bytes or size > room:",
        "if size > room:",
    ),
    Mutation(
        "002.external.config",
        "gateway/server_config.py",
        '    "sse": "sse",\n',
        '    "sse": "http",\n',
    ),
    Mutation(
        "002.external.stdio",
        "adapters/upstream_transports.py",
        "            if self._is_stack:",
        "            if True:",
    ),
    Mutation(
        "002.external.sse",
        "adapters/upstream_transports.py",
        '        if config.kind == "sse":',
        '        if config.kind == "events":',
    ),
    Mutation(
        "002.external.http",
        "adapters/upstream_transports.py",
        "            streamable_http_client(\n                url,",
        '            streamable_http_client(\n                url + "/elsewhere",',
    ),
    Mutation("002.names.qualified", "gateway/names.py", 'PREFIX = "mcp__"', 'PREFIX = "mcp--"'),
    Mutation(
        "002.allowed-tools",
        "gateway/server_config.py",
        "return self.allowed_tools is None or _any(self.allowed_tools, self.name, tool)",
        "return True",
    ),
    Mutation(
        "002.disallowed-tools",
        "gateway/server_config.py",
        "        if _any(self.disallowed_tools, self.name, tool):\n            return False\n",
        "",
    ),
    Mutation(
        "002.server.new",
        "tools/server.py",
        "        self.version = version\n",
        '        self.version = "1"\n',
    ),
    Mutation(
        "002.server.register-tool",
        "tools/server.py",
        "        self._tools[tool.name] = tool\n",
        "        self._tools.setdefault(tool.name, tool)\n",
    ),
    Mutation(
        "002.server.get-tool",
        "tools/server.py",
        "return self._tools.get(name)\n\n    def list_tools",
        "return self._tools[name]\n\n    def list_tools",
    ),
    Mutation("002.server.list-tools", "tools/tool.py", "            inputSchema=schema,\n", ""),
    Mutation(
        "002.server.handle-jsonrpc",
        "tools/jsonrpc.py",
        "            return await _call(server, request)",
        '            return _result(request.id, {"tools": server.list_tools()})',
    ),
    Mutation(
        "002.server.handle-jsonrpc",
        "tools/jsonrpc.py",
        '        case "tools/list":',
        '        case "tools/lists":',
    ),
    Mutation(
        "002.registry.handle",
        "tools/registry.py",
        "return await known.handle_jsonrpc(request)",
        'return await next(iter(self._servers.values())).handle_jsonrpc({**request, "method": "tools/list"})',
    ),
    Mutation(
        "002.tool.name",
        "tools/decorator.py",
        'function.__name__.replace("_", "-")',
        "function.__name__",
    ),
    Mutation("002.tool.description", "tools/decorator.py", 'or f"Tool: {name}"', "or name"),
    Mutation(
        "002.tool.schema",
        "tools/signature.py",
        '"properties": {item.name: item.shape.schema for item in self.parameters},',
        '"properties": {item.name: {} for item in self.parameters},',
    ),
    Mutation(
        "002.tool.schema.optional",
        "tools/signature.py",
        "not has_default and not may_be_null, may_be_null",
        "True, may_be_null",
    ),
    Mutation(
        "002.tool.schema.fallback",
        "tools/shape.py",
        'OBJECT = Shape({"type": "object"},',
        'OBJECT = Shape({"type": "string"},',
    ),
    Mutation(
        "002.tool.async",
        "tools/signature.py",
        "if not inspect.isroutine(function) or not inspect.iscoroutinefunction(function):",
        "if not inspect.isroutine(function):",
    ),
    Mutation(
        "002.tool.no-self",
        "tools/signature.py",
        'parameters[0].name in ("self", "cls")',
        'parameters[0].name in ("cls",)',
    ),
    Mutation(
        "002.tool.returns",
        "tools/result.py",
        "    if isinstance(data, dict) or has_output_schema:",
        "    if has_output_schema:",
    ),
    Mutation(
        "002.tool.handler",
        "tools/tool.py",
        '    call: Any = getattr(handler, "call", handler)',
        '    from copy import deepcopy\n\n    call: Any = getattr(deepcopy(handler), "call", handler)\n    if hasattr(handler, "call"):\n        return lambda arguments, _context: deepcopy(handler).call(arguments)',
    ),
    Mutation(
        "002.result.text",
        "tools/result.py",
        "        return ToolResult((TextContent(text),))",
        "        return ToolResult((TextContent(text),), is_error=True)",
    ),
    Mutation(
        "002.result.error",
        "tools/result.py",
        "        return ToolResult((TextContent(message),), is_error=True)",
        "        return ToolResult((TextContent(message),))",
    ),
    Mutation(
        "002.result.content",
        "tools/content.py",
        '            "type": "image",\n',
        '            "type": "picture",\n',
    ),
    Mutation(
        "002.jsonrpc.initialize",
        "tools/jsonrpc.py",
        'PROTOCOL_VERSION = "2025-11-25"',
        'PROTOCOL_VERSION = "2024-11-05"',
    ),
    Mutation(
        "002.jsonrpc.tools-list",
        "tools/jsonrpc.py",
        '{"tools": server.list_tools()}',
        '{"tools": []}',
    ),
    Mutation(
        "002.jsonrpc.tools-call",
        "tools/jsonrpc.py",
        "return _result(request.id, await server.call_tool(name, arguments))",
        'return _result(request.id, {"result": await server.call_tool(name, arguments)})',
    ),
    Mutation(
        "002.jsonrpc.method-not-found",
        "tools/jsonrpc.py",
        "METHOD_NOT_FOUND = -32601",
        "METHOD_NOT_FOUND = -32600",
    ),
    Mutation(
        "002.jsonrpc.tool-not-found",
        "tools/jsonrpc.py",
        'return _error(request.id, INVALID_PARAMS, f"Tool not found: {name[:200]}")',
        'return _error(request.id, INTERNAL_ERROR, f"Tool not found: {name[:200]}")',
    ),
    Mutation(
        "002.jsonrpc.tool-failed",
        "tools/jsonrpc.py",
        "        return _error(request.id, INTERNAL_ERROR, f\"tool '{name}' failed\")",
        "        raise",
    ),
    Mutation(
        "002.jsonrpc.missing-parameter",
        "tools/jsonrpc.py",
        "    except NacreError as error:\n        return _error(request.id, INTERNAL_ERROR, str(error))",
        "    except NacreError as error:\n        return _error(request.id, INVALID_PARAMS, str(error))",
    ),
    Mutation(
        "002.jsonrpc.logical-error",
        "tools/result.py",
        '            result["isError"] = True',
        '            result["is_error"] = True',
    ),
    Mutation(
        "002.example.end-to-end",
        "tools/registry.py",
        "        self._servers[check_server_name(server.name)] = server\n",
        "        self._servers[server.name.upper()] = server\n",
    ),
    Mutation(
        "002.example.two-tools",
        "tools/server.py",
        "        self._tools[tool.name] = tool\n",
        "        self._tools = {tool.name: tool}\n",
    ),
    Mutation(
        "003.transport.post",
        "protocol/http.py",
        '_BEING_PATH = re.compile(r"/mcp(?:/',
        '_BEING_PATH = re.compile(r"/rpc(?:/',
    ),
    Mutation(
        "003.transport.get",
        "protocol/http.py",
        '        if head.method != "POST":',
        '        if head.method not in ("POST", "GET"):',
    ),
    Mutation(
        "003.transport.delete",
        "protocol/http.py",
        '        if head.method != "POST":',
        '        if head.method not in ("POST", "DELETE"):',
    ),
    Mutation(
        "003.transport.stateless",
        "protocol/http_messages.py",
        "    return HttpReply(status, _JSON_HEADERS, done.body, done.cause)",
        '    return HttpReply(status, (*_JSON_HEADERS, ("mcp-session-id", "s")), done.body, done.cause)',
    ),
    Mutation(
        "003.auth.bearer",
        "access/admission.py",
        'scheme.lower() == "bearer" and token',
        'scheme.lower() == "token" and token',
    ),
    Mutation(
        "003.auth.bto",
        "access/gate.py",
        'if not named and context["kind"] == API:',
        "if not named:",
    ),
    Mutation(
        "003.auth.brt",
        "access/gate.py",
        "        raise ForbiddenError(_NO_BEING)",
        "        return principal",
    ),
    Mutation(
        "003.auth.hashed",
        "access/admission.py",
        "    row = lookup(digest(token))",
        "    row = lookup(token)",
    ),
    Mutation(
        "003.auth.hashed",
        "access/token_store.py",
        "        self._table.put(token_item(record, digest(token)), when=Absent())",
        '        self._table.put({**token_item(record, digest(token)), "secret": token}, when=Absent())',
    ),
    Mutation(
        "003.auth.expiry",
        "access/admission.py",
        "    return float(expires) > now",
        "    return float(expires) > 0",
    ),
    Mutation(
        "003.auth.revocation",
        "access/admission.py",
        '    if row.get("revoked") is not None or isinstance',
        "    if isinstance",
    ),
    Mutation(
        "003.scope.read-only",
        "access/scopes.py",
        "    raise InsufficientScopeError(tool or method, required=(READ, WRITE))",
        "    return",
    ),
    Mutation(
        "003.scope.read-only",
        "faces/mcp.py",
        "    permit = staticmethod(authorize)",
        "    permit = staticmethod(lambda *_, **__: None)",
    ),
    Mutation(
        "003.scope.read-only",
        "access/scopes.py",
        "    return tool in READ_TOOLS or marked_read_only",
        "    return marked_read_only",
    ),
    Mutation(
        "003.scope.write-tools",
        "access/scopes.py",
        "    if principal.scopes >= FULL:\n        return\n    if required",
        "    if principal.scopes:\n        return\n    if required",
    ),
    Mutation(
        "003.scope.write-tools",
        "access/scopes.py",
        "    if tool is None or tool in WRITE_TOOLS or tool",
        "    if tool is None or tool",
    ),
    Mutation(
        "003.llm-key.header",
        "patrol/thinkers.py",
        "        if sent and sent.strip():\n            return {KEY: self.keys.keep_for_run(being_id, sent)}\n",
        "",
    ),
    Mutation(
        "003.llm-key.stored",
        "patrol/thinkers.py",
        "        own = self._own(being_id)\n        if own is not None:\n            return own\n",
        "",
    ),
    Mutation(
        "003.llm-key.none",
        "patrol/thinkers.py",
        "        return self._with(key) if key else None\n\n    def _own",
        '        return self._with(key or "none")\n\n    def _own',
    ),
    Mutation(
        "003.recall.answer",
        "memory/recollection.py",
        "        groups = grouped(answer.hits, RECALL_MEMORIES)",
        "        groups = grouped(answer.hits, RECALL_MEMORIES + 1)",
    ),
    Mutation(
        "003.recall.counts",
        "memory/recollection.py",
        "        self._count(being_id, [hit.memory for hit in hits], counted=counted)\n        return Reply(recall_block",
        "        return Reply(recall_block",
    ),
    Mutation(
        "003.get_context.shape",
        "memory/context.py",
        '            "recent_nodes": self.recent(being_id),',
        "",
    ),
    Mutation(
        "003.get_context.capability-tools",
        "being/get_context.py",
        '"capability_tools": capabilities(context)',
        '"capability_tools": []',
    ),
    Mutation(
        "003.recall_memory.clusters",
        "memory/recollection.py",
        "            view = self._explore.clusters(being_id, query=query, page=page)",
        '            view = self._explore.clusters(being_id, query="none of them", page=page)',
    ),
    Mutation(
        "003.recall_memory.cluster",
        "memory/explore.py",
        "*([cluster.digest] if cluster.digest else [])",
        "",
    ),
    Mutation(
        "003.recall_memory.node",
        "memory/explore.py",
        "        facts = [*_facts(memory.told), *lifetime(memory.told, clock)]",
        "        facts = [*lifetime(memory.told, clock)]",
    ),
    Mutation(
        "003.recall_memory.revival",
        "memory/recollection.py",
        '2 if node.status == "dead" else 1',
        "1",
    ),
    Mutation(
        "003.search_memory.vector",
        "memory/search.py",
        "    return (vector if any(vector) else None), remarks",
        "    return None, remarks",
    ),
    Mutation(
        "003.search_memory.vector",
        "being/search_memory.py",
        "limit: Limit = SEARCH_MEMORIES",
        "limit: Limit = 3",
    ),
    Mutation(
        "003.search_memory.keyword",
        "being/search_memory.py",
        "            mode=mode,",
        '            mode="or",',
    ),
    Mutation(
        "003.search_memory.header",
        "memory/listing.py",
        '    "words": "keyword search (no vectors)",',
        '    "words": "vector search",',
    ),
    Mutation(
        "003.merge_nodes.merge", "being/merge_nodes.py", "into {made.node.node_id}.", "into one."
    ),
    Mutation(
        "003.merge_nodes.embedding",
        "memory/merging.py",
        "                self._vectors.renew(being_id, each, [node.node_id for node in (*live, *gone)])",
        "                pass",
    ),
    Mutation(
        "003.update_memory.targets",
        "memory/targets.py",
        "        PARTNER_TOOLS,\n        PARTNER_MAP,\n        DIARY,",
        "        PARTNER_MAP,\n        DIARY,",
    ),
    Mutation("003.update_memory.targets", "being/update_memory.py", '    "party_message",\n', ""),
    Mutation(
        "003.update_memory.actions",
        "memory/updates.py",
        '    return profile.update(being_id, target, _needed("key", key, action), text, location=location)',
        "    return profile.append(being_id, target, text, key=key, location=location)",
    ),
    Mutation(
        "003.update_memory.partner-map",
        "memory/updates.py",
        'if location is not None and target != "partner_map":',
        'if location is not None and target == "partner_map":',
    ),
    Mutation(
        "003.update_memory.party-message",
        "memory/letters.py",
        "                Put(letter_item(recipient.being_id, letter, expires_at), Absent()),\n",
        "",
    ),
    Mutation(
        "003.update_notes.scenes",
        "memory/noting.py",
        "        feeling=scene.feeling,\n",
        "        feeling=None,\n",
    ),
    Mutation(
        "003.update_notes.notes", "memory/scenes.py", "        writes += step.note_writes\n", ""
    ),
    Mutation(
        "003.update_notes.one-of",
        "being/update_notes.py",
        "        if not scenes and not notes:\n",
        "        if False:\n",
    ),
    Mutation(
        "003.update_notes.update",
        "memory/scenes.py",
        "        gone, not_deleted = _deletable(step.replaced, found)",
        "        gone, not_deleted = _deletable([], found)",
    ),
    Mutation(
        "003.update_notes.patrol",
        "memory/trigger.py",
        "if waiting < PATROL_AT:",
        "if waiting <= PATROL_AT:",
    ),
    Mutation(
        "003.search_history.filter",
        "memory/history.py",
        "            if wanted in folded(message.content):",
        "            if True:",
    ),
    Mutation(
        "003.search_history.limit", "being/search_history.py", "_RESULTS = 10 ", "_RESULTS = 20 "
    ),
    Mutation(
        "003.update_relation.upsert",
        "being/update_relation.py",
        "            if content is None or not content.strip():\n                raise InvalidArgumentError(\"argument 'content' is needed for upsert\")\n",
        '            content = content or "unknown"\n',
    ),
    Mutation(
        "003.update_relation.delete",
        "memory/relations.py",
        "        write_counted(self._table, being_id, [gone], add={COUNTER: -1})\n        return before",
        "        return before if gone else None",
    ),
    Mutation(
        "003.trigger_patrol.answer",
        "patrol/calls.py",
        '"nodes_created": counts.get("nodes_created", 0)',
        '"nodes_created": 0',
    ),
    Mutation(
        "003.trigger_patrol.empty",
        "patrol/calls.py",
        '        if "gsi1pk" not in meta and not always:',
        "        if not always:",
    ),
    Mutation(
        "003.trigger_patrol.no-key",
        "patrol/thinkers.py",
        "        return self._with(key) if key else None\n\n    def _own",
        '        return self._with(key or "none")\n\n    def _own',
    ),
    Mutation(
        "003.get_current_time.shape",
        "being/get_current_time.py",
        '_WEEKDAYS = "月火水木金土日"',
        '_WEEKDAYS = "日月火水木金土"',
    ),
    Mutation(
        "003.get_current_time.default",
        "being/get_current_time.py",
        '] = "UTC",',
        '] = "Asia/Tokyo",',
    ),
    Mutation(
        "003.client.brt-config",
        "access/gate.py",
        "for being in (path_being, query_being) if being}",
        "for being in (query_being,) if being}",
    ),
    Mutation(
        "003.client.bto-config",
        "access/gate.py",
        "    return resource in (whole, own) if base else resource.endswith((whole, own))",
        "    return False",
    ),
    Mutation(
        "003.client.sdk",
        "protocol/http_messages.py",
        "    return HttpReply(status, _JSON_HEADERS, done.body, done.cause)",
        '    return HttpReply(status, (("content-type", "text/plain"),), done.body, done.cause)',
    ),
    Mutation(
        "004.wrap.config",
        "gateway/proxied.py",
        'return _with_line(entry, shape, launcher.line(name, ["--", *line]))',
        "return _with_line(entry, shape, list(line))",
    ),
    Mutation(
        "004.proxy.stdio",
        "policy/client_side.py",
        "            return Forward(raw)\n        match ruling",
        '            return Forward(raw + b" ")\n        match ruling',
    ),
    Mutation(
        "004.proxy.remote",
        "policy/client_side.py",
        "                return Answer(replies.denial(method, id_, ruling, is_modern=wire.is_modern))\n            case Pending():\n                return self._holding.hold(wire, call, ruling)\n\n    def _subject",
        "                return Forward(raw)\n            case Pending():\n                return self._holding.hold(wire, call, ruling)\n\n    def _subject",
    ),
    Mutation(
        "004.method.tools-call",
        "policy/evaluate.py",
        "                holds = condition.holds(seen.at(condition.keys), named)",
        "                holds = YES",
    ),
    Mutation(
        "004.method.tools-list",
        "policy/listing.py",
        '        return engine.may_pass("tool", tool, self._talk.judge.server)',
        "        return True",
    ),
    Mutation(
        "004.method.resources-read",
        "policy/loading.py",
        'argument = "uri" if key == "resource" else "name"',
        'argument = "name"',
    ),
    Mutation(
        "004.method.resources-list",
        "policy/listing.py",
        '                "changed": is_changed,\n',
        '                "changed": False,\n',
    ),
    Mutation(
        "004.method.sampling",
        "policy/wire.py",
        'frozenset({"sampling/createMessage", "elicitation/create", "roots/list"})',
        'frozenset({"elicitation/create", "roots/list"})',
    ),
    Mutation(
        "004.method.prompts-get",
        "policy/loading.py",
        '("resources/read" if key == "resource" else "prompts/get")',
        '"resources/read"',
    ),
    Mutation(
        "004.method.initialize",
        "policy/client_side.py",
        '        if not self._note("pass", wire):\n            denied',
        '        if wire.method != "initialize" and not self._note("pass", wire):\n            denied',
    ),
    Mutation(
        "004.method.notifications",
        "policy/client_side.py",
        '        if not self._note("pass", wire):\n            return Drop("the audit cannot be written")\n        return Forward(wire.raw)',
        "        return Forward(wire.raw)",
    ),
    Mutation(
        "004.method.others",
        "policy/client_side.py",
        '        if not self._note("pass", wire):\n            denied = Denied("Blocked by policy (the audit cannot be written)", None, "")\n            return Answer(replies.denial(method, wire.id, denied, is_modern=wire.is_modern))\n',
        "",
    ),
    Mutation(
        "004.rule.file",
        "wiring/policies.py",
        "return Path(named or user_policy_file()).expanduser(), bool(named)",
        'return Path(named or "policy.toml").expanduser(), bool(named)',
    ),
    Mutation(
        "004.rule.fields",
        "policy/subjects.py",
        "    if rule.server is not None and not matches(rule.server, server):\n        return False\n",
        "",
    ),
    Mutation(
        "004.rule.actions",
        "policy/rule.py",
        'ACTIONS: tuple[Action, ...] = ("allow", "deny", "prompt")',
        'ACTIONS: tuple[Action, ...] = ("allow", "deny")',
    ),
    Mutation(
        "004.rule.order",
        "policy/evaluate.py",
        "if is_about(self.rules[place], kind, name, server)]\n        )",
        "if is_about(self.rules[place], kind, name, server)][::-1]\n        )",
    ),
    Mutation(
        "004.rule.default-deny",
        "policy/evaluate.py",
        'NO_RULE = Decision("deny",',
        'NO_RULE = Decision("allow",',
    ),
    Mutation("004.glob", "policy/glob.py", 'parts.append("[^/]*")', 'parts.append(".*")'),
    Mutation(
        "004.test.fixture",
        "policy/fixtures.py",
        "decide(call, policy), expected",
        'decide(DescribedCall("ping", {}, ""), policy), expected',
    ),
    Mutation(
        "004.test.directory",
        "policy/fixtures.py",
        'folder.rglob("*.json")',
        'folder.glob("*.json")',
    ),
    Mutation("004.test.expect", "policy/fixtures.py", "expected or call.expected", "call.expected"),
    Mutation(
        "004.test.exit", "cli/policy_testing.py", "return FAILURE if wrong else OK", "return OK"
    ),
    Mutation(
        "004.test.format", "policy/call.py", 'expected = value.get("expected")', "expected = None"
    ),
)
