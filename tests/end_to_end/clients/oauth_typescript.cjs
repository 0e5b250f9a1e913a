// The official TypeScript clients' OAuth flow, told line by line; see oauth_python.py.
//
// oauth_typescript.cjs 1|2 URL ROUNDS
const readline = require("node:readline");

const [generation, url, rounds] = process.argv.slice(2);
const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const hear = async () => (await lines.next()).value;
const say = (text) => process.stdout.write(`${text}\n`);

async function parts() {
  if (generation === "1") {
    const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
    const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const { UnauthorizedError } = require("@modelcontextprotocol/sdk/client/auth.js");
    return { Client, StreamableHTTPClientTransport, UnauthorizedError };
  }
  return require("@modelcontextprotocol/client");
}

const kept = {};
const provider = {
  redirectUrl: "http://127.0.0.1:3031/callback",
  clientMetadata: {
    client_name: "TypeScript client",
    redirect_uris: ["http://127.0.0.1:3031/callback"],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: generation === "1" ? "client_secret_post" : "none",
  },
  clientInformation: () => kept.client,
  saveClientInformation: (client) => void (kept.client = client),
  tokens: () => kept.tokens,
  saveTokens: (tokens) => void (kept.tokens = tokens),
  redirectToAuthorization: (to) => say(`OPEN ${to}`),
  saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
  codeVerifier: () => kept.verifier,
  saveDiscoveryState: (state) => void (kept.discovery = state),
  discoveryState: () => kept.discovery,
  invalidateCredentials: (scope) => {
    for (const name of scope === "all" ? Object.keys(kept) : [scope]) delete kept[name];
  },
};

async function connected({ Client, StreamableHTTPClientTransport, UnauthorizedError }) {
  for (let attempt = 0; attempt < 2; attempt += 1) {
    const client = new Client({ name: "login", version: "1" });
    const way = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
    try {
      await client.connect(way);
      return client;
    } catch (error) {
      if (!(error instanceof UnauthorizedError) || attempt) throw error;
      const back = new URL(await hear());
      await way.finishAuth(generation === "1" ? back.searchParams.get("code") : back.searchParams);
    }
  }
}

async function main() {
  const seen = [];
  const used = await parts();
  for (let round = 0; round < Number(rounds); round += 1) {
    if (round) {
      say("READY");
      await hear();
    }
    const client = await connected(used);
    const { tools } = await client.listTools();
    seen.push(tools.map((tool) => tool.name).sort());
    await client.callTool({ name: "get_current_time", arguments: {} });
    await client.close();
  }
  say(JSON.stringify({ tools: seen, scope: kept.tokens.scope }));
  process.exit(0);
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
