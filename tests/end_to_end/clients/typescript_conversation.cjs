// A conversation of the official TypeScript client, told as one JSON object.
//
// typescript_conversation.cjs '{"url": ..., "token": ...}'        over HTTP
// typescript_conversation.cjs '{"command": ..., "args": [...]}'   over stdio

// CommonJS, because only its imports are looked for in NODE_PATH.
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");

const where = JSON.parse(process.argv[2]);

function transport() {
  if (where.command) {
    return new StdioClientTransport({ command: where.command, args: where.args, env: process.env });
  }
  const headers = where.token ? { Authorization: `Bearer ${where.token}` } : {};
  return new StreamableHTTPClientTransport(new URL(where.url), { requestInit: { headers } });
}

async function converse() {
  const client = new Client({ name: "conversation", version: "1" });
  const way = transport();
  try {
    await client.connect(way);
  } catch (error) {
    return { refused: error.code ?? null, said: String(error.message) };
  }
  const { tools } = await client.listTools();
  const noted = await client
    .callTool({ name: "update_notes", arguments: { notes: ["Pearls grow from the inside"] } })
    .then((result) => [result.isError ?? false, JSON.parse(result.content[0].text)])
    .catch((error) => [error.code, error.message]);
  const context = await client.callTool({ name: "get_context", arguments: {} });
  const time = await client.callTool({
    name: "get_current_time",
    arguments: { timezone: "Asia/Tokyo" },
  });
  const wrong = await client.callTool({ name: "get_current_time", arguments: { timezone: 5 } });
  const unknown = await client.callTool({ name: "no_such_tool", arguments: {} }).catch((e) => e.code);
  const { prompts } = await client.listPrompts();
  const { resources } = await client.listResources();
  const told = {
    server: client.getServerVersion().name,
    version: way.protocolVersion ?? null,
    session: way.sessionId ?? null,
    tools: tools.map((tool) => tool.name),
    noted,
    remembers: JSON.stringify(context.content).includes("Pearls grow from the inside"),
    timezone: time.structuredContent.timezone,
    wrong: [wrong.isError, wrong.content[0].text],
    unknown,
    prompts: prompts.length,
    resources: resources.length,
  };
  await client.close();
  return told;
}

converse().then(
  (told) => console.log(JSON.stringify(told)),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
