"""A configuration file of every client, as its documentation and its users write it."""

from dataclasses import dataclass, field

SECRET = "Bearer s3cr3t-0123456789abcdef"


@dataclass(frozen=True)
class Config:
    """A file of a client, where it stands below the home, and what wrapping makes of it.

    `lines` are the command lines behind the program, by server; `environment` is what the
    proxies of URLs are given.
    """

    client: str
    file: str
    text: str
    lines: dict[str, list[str]]
    environment: dict[str, dict[str, str]] = field(default_factory=dict)


def stdio(name: str, *command: str) -> list[str]:
    return ["proxy", "--name", name, "--", *command]


def url(name: str, *options: str) -> list[str]:
    return ["proxy", "--name", name, *options]


HEADER = ("--header-env", "Authorization=NACRE_HEADER_1")
FILES = [
    *("proxy", "--name", "files", "--base", "/home/user", "--"),
    *("npx", "-y", "@modelcontextprotocol/server-filesystem", "/home/user"),
]

CONFIGS = [
    Config(
        "claude-desktop",
        ".config/Claude/claude_desktop_config.json",
        """{
  "globalShortcut": "Alt+Space",
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/user"]
    },
    "größe": {
      "command": "server\\u00e9 \\ud83d\\ude00",
      "env": { "API_KEY": "sk-1234567890abcdef" }
    },
    "empty": { "command": "server", "args": [] }
  },
  "isUsingBuiltInNodeForMcp": true
}
""",
        {
            "files": FILES,
            "größe": stdio("größe", "serveré \U0001f600"),
            "empty": stdio("empty", "server"),
        },
    ),
    Config(
        "claude-code",
        ".claude.json",
        """{
  "numStartups": 184,
  "tipsHistory": {"new-user-warmup": 5},
  "mcpServers": {
    "files": {"type": "stdio", "command": "npx",
        "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/user"], "env": {}},
    "remote": {
      "type": "http",
      "url": "https://mcp.example.com/mcp",
      "headers": {"Authorization": "Bearer s3cr3t-0123456789abcdef", "X-Team": "${TEAM:-red}"}
    }
  },
  "projects": {
    "/home/user/one": {
      "history": [{"display": "say \\"hi\\" {[", "pastedContents": {}}],
      "mcpServers": {
        "local": {"type": "stdio", "command": "./server", "args": ["--port", "${PORT}"]}
      }
    }
  },
  "oauthAccount": {"emailAddress": "user@example.com"}
}
""",
        {
            "files": FILES,
            "remote": url(
                "remote",
                *("--transport", "http", "--url", "https://mcp.example.com/mcp"),
                *HEADER,
                *("--header-env", "X-Team=NACRE_HEADER_2"),
            ),
            "local": stdio("local", "./server", "--port", "${PORT}"),
        },
        {"remote": {"NACRE_HEADER_1": SECRET, "NACRE_HEADER_2": "${TEAM:-red}"}},
    ),
    Config(
        "cursor",
        ".cursor/mcp.json",
        """{
\t"mcpServers": {
\t\t"files": {
\t\t\t"command": "npx",
\t\t\t"args": [
\t\t\t\t"-y",
\t\t\t\t"@modelcontextprotocol/server-filesystem",
\t\t\t\t"/home/user"
\t\t\t],
\t\t\t"envFile": "${workspaceFolder}/.env"
\t\t},
\t\t"remote": { "url": "https://mcp.example.com/mcp?key=abc", "headers": {} }
\t}
}
""",
        {"files": FILES, "remote": url("remote", "--url-env", "NACRE_URL")},
        {"remote": {"NACRE_URL": "https://mcp.example.com/mcp?key=abc"}},
    ),
    Config(
        "vscode",
        ".config/Code/User/mcp.json",
        """// What the editor asks for once
{
  "inputs": [
    { "type": "promptString", "id": "token", "password": true, }, // trailing
  ],
  /* "servers": {"ghost": {"command": "never"}}, */
  "servers": {
    // the files
    "files": {
      "type": "stdio", // needed
      "command": "npx", /* the runner */
      "args": [
        // without asking
        "-y",
        "@modelcontextprotocol/server-filesystem", // the package
        "/home/user", // the folder
      ],
      "dev": { "watch": "src/**/*.ts" },
    },
    "remote": {
      "type": "http",
      "url": "https://mcp.example.com/mcp", // not "url": "x"
      "headers": { "Authorization": "Bearer ${input:token}" },
    },
  },
}
""",
        {
            "files": FILES,
            "remote": url(
                "remote", "--transport", "http", "--url", "https://mcp.example.com/mcp", *HEADER
            ),
        },
        {"remote": {"NACRE_HEADER_1": "Bearer ${input:token}"}},
    ),
    Config(
        "copilot-cli",
        ".copilot/mcp-config.json",
        """{
  "mcpServers": {
    "files": {
      "type": "local",
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/user"],
      "tools": ["*"]
    },
    "remote": {
      "type": "sse",
      "url": "https://mcp.example.com/sse",
      "headers": {"Authorization": "Bearer s3cr3t-0123456789abcdef"},
      "tools": ["read", "write"]
    }
  }
}
""",
        {
            "files": FILES,
            "remote": url(
                "remote", "--transport", "sse", "--url", "https://mcp.example.com/sse", *HEADER
            ),
        },
        {"remote": {"NACRE_HEADER_1": SECRET}},
    ),
    Config(
        "windsurf",
        ".codeium/windsurf/mcp_config.json",
        """{
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/user"],
      "disabledTools": ["write_file"]
    },
    "remote": {
      "serverUrl": "https://mcp.example.com/mcp",
      "headers": {"Accept": "*/*", "Authorization": "${env:TOKEN}", "X-Empty": ""}
    }
  }
}
""",
        {
            "files": FILES,
            "remote": url("remote", "--url", "https://mcp.example.com/mcp", *HEADER),
        },
        {"remote": {"NACRE_HEADER_1": "${env:TOKEN}"}},
    ),
    Config(
        "cline",
        ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        """{
  "mcpServers": {
    "files": {
      "autoApprove": ["read_file"],
      "disabled": false,
      "timeout": 60,
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/user"]
    },
    "remote": {
      "disabled": true,
      "timeout": 1e2,
      "type": "streamableHttp",
      "url": "http://127.0.0.1:8080/mcp"
    }
  }
}""",
        {
            "files": FILES,
            "remote": url("remote", "--transport", "http", "--url", "http://127.0.0.1:8080/mcp"),
        },
    ),
    Config(
        "zed",
        ".config/zed/settings.json",
        """// Zed settings
//
// For information on how to configure Zed, see the Zed documentation
{
  "agent": {
    "default_model": { "provider": "zed.dev", "model": "m" },
  },
  "context_servers": {
    "extension-server": { "source": "extension", "enabled": true, "settings": {} },
    "files": {
      "source": "custom",
      "enabled": true,
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/user"],
      "env": {},
    },
    "older": {
      "command": {
        "path": "server",
        "args": ["--stdio"],
        "env": null,
      },
      "settings": {},
    },
    "remote": { "url": "https://mcp.example.com/mcp",
                "headers": { "Authorization": "Bearer s3cr3t-0123456789abcdef" } },
  },
  "theme": "One Dark",
}
""",
        {
            "files": FILES,
            "older": stdio("older", "server", "--stdio"),
            "remote": url("remote", "--url", "https://mcp.example.com/mcp", *HEADER),
        },
        {"remote": {"NACRE_HEADER_1": SECRET}},
    ),
    Config(
        "continue",
        ".continue/config.yaml",
        """name: Local Assistant
version: 1.0.0
schema: v1
models:
  - &main
    name: Main   # anchored, and none of our business
    provider: ollama
  - <<: *main
    name: Other
mcpServers:
  # the files
  - name: files
    command: npx   # the runner
    args:
      - "-y"
      # the package
      - '@modelcontextprotocol/server-filesystem'
      - /home/user
    env:
      KEY: ${{ secrets.KEY }}
  - name: "flow: style"
    command: uvx
    args: [ "mcp-server-time", --local-timezone=Europe/Berlin ]
  - name: remote
    type: streamable-http
    url: https://mcp.example.com/mcp
    requestOptions:
      headers:
        Authorization: Bearer s3cr3t-0123456789abcdef
rules:
  - |
    Be kind.
      mcpServers:
""",
        {
            "files": FILES,
            "flow: style": stdio(
                "flow: style", "uvx", "mcp-server-time", "--local-timezone=Europe/Berlin"
            ),
            "remote": url(
                "remote", "--transport", "http", "--url", "https://mcp.example.com/mcp", *HEADER
            ),
        },
        {"remote": {"NACRE_HEADER_1": SECRET}},
    ),
    Config(
        "codex",
        ".codex/config.toml",
        """model = "gpt-5.5" # the model
notify = [
  "python3", # a comment
]

[mcp_servers.files]
command = 'npx'  # the runner
args = [
  "-y",
  "@modelcontextprotocol/server-filesystem", # the package
  \"\"\"/home/user\"\"\",
]
startup_timeout_sec = 20.0

[mcp_servers.files.env]
"KEY" = "sk-1234567890abcdef"

[mcp_servers.'bare server']
command = "server"

[[skills.config]]
path = "x"

[mcp_servers]
inline = { command = "server", args = ["--stdio"], env = { A = "1" } }

[mcp_servers.remote]
url = "https://mcp.example.com/mcp"
bearer_token_env_var = "TOKEN"
http_headers = { "X-Team" = "red" }
env_http_headers = { "X-User" = "USER_ID" }
enabled = true # really

[mcp_servers.remote.tools.search]
approval_mode = "approve"
[profiles.fast]
model = "gpt-5.5-mini"
""",
        {
            "files": FILES,
            "bare server": stdio("bare server", "server"),
            "inline": stdio("inline", "server", "--stdio"),
            "remote": url(
                "remote",
                *("--url", "https://mcp.example.com/mcp"),
                *("--header-env", "X-Team=NACRE_HEADER_1"),
                *("--header-env", "X-User=USER_ID"),
                *("--bearer-env", "TOKEN"),
            ),
        },
        {"remote": {"NACRE_HEADER_1": "red"}},
    ),
    Config(
        "gemini-cli",
        ".gemini/settings.json",
        """{
  // The CLI takes comments
  "theme": "GitHub",
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/user"],
      "cwd": "./server",
      "trust": true
    },
    "remote": {
      "httpUrl": "https://mcp.example.com/mcp",
      "headers": { "Authorization": "Bearer $TOKEN" },
      "timeout": 5000
    },
    "older": { "url": "https://mcp.example.com/sse" }
  },
  "mcp": { "allowed": ["files", "remote", "older"] }
}
""",
        {
            "files": FILES,
            "remote": url(
                "remote", "--transport", "http", "--url", "https://mcp.example.com/mcp", *HEADER
            ),
            "older": url("older", "--transport", "sse", "--url", "https://mcp.example.com/sse"),
        },
        {"remote": {"NACRE_HEADER_1": "Bearer $TOKEN"}},
    ),
    Config(
        "goose",
        ".config/goose/config.yaml",
        """extensions:
  developer:
    bundled: true
    enabled: true
    type: builtin
  files:
    args:
    - -y
    - '@modelcontextprotocol/server-filesystem'
    - /home/user
    bundled: null
    cmd: npx
    description: ''
    enabled: true
    env_keys: []
    envs: {}
    name: files
    timeout: 300
    type: stdio
  remote:
    available_tools: []
    description: A server
    enabled: true
    env_keys: []
    envs: {}
    headers:
      Authorization: Bearer s3cr3t-0123456789abcdef
    name: remote
    timeout: 300
    type: streamable_http
    uri: https://mcp.example.com/mcp
GOOSE_PROVIDER: ollama
""",
        {
            "files": FILES,
            "remote": url(
                "remote", "--transport", "http", "--url", "https://mcp.example.com/mcp", *HEADER
            ),
        },
        {"remote": {"NACRE_HEADER_1": SECRET}},
    ),
    Config(
        "openclaw",
        ".openclaw/openclaw.json",
        """// JSON5
{
  agents: { defaults: { workspace: '~/work' } },
  mcp: {
    servers: {
      files: {
        command: 'npx',
        args: ['-y', '@modelcontextprotocol/server-\\
filesystem', '\\x2fhome/user'],
        timeout: +0x1F, weight: .5,
      },
      $remote: { url: 'https://mcp.example.com/mcp', transport: 'streamable-http',
        headers: { Authorization: 'Bearer s3cr3t-0123456789abcdef' } },
    },
  },
}
""",
        {
            "files": FILES,
            "$remote": url(
                "$remote", "--transport", "http", "--url", "https://mcp.example.com/mcp", *HEADER
            ),
        },
        {"$remote": {"NACRE_HEADER_1": SECRET}},
    ),
    Config(
        "opencode",
        ".config/opencode/opencode.jsonc",
        """{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "files": {
      "type": "local",
      "command": ["npx", "-y", "@modelcontextprotocol/server-filesystem", "/home/user"],
      "enabled": true,
      "environment": { "KEY": "{env:KEY}" },
    },
    "remote": {
      "type": "remote",
      "url": "https://mcp.example.com/mcp",
      "oauth": false,
      "headers": { "Authorization": "Bearer {env:TOKEN}" },
      "enabled": true,
    },
  },
}
""",
        {
            "files": FILES,
            "remote": url("remote", "--url", "https://mcp.example.com/mcp", *HEADER),
        },
        {"remote": {"NACRE_HEADER_1": "Bearer {env:TOKEN}"}},
    ),
    Config(
        "kiro",
        ".kiro/settings/mcp.json",
        """{"mcpServers":{"files":{"command":"npx","args":["-y","@modelcontextprotocol/server-filesystem","/home/user"],"disabled":false,"autoApprove":[]}}}""",
        {"files": FILES},
    ),
    Config(
        "lm-studio",
        ".lmstudio/mcp.json",
        """{
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": [
        "-y",
        "@modelcontextprotocol/server-filesystem",
        "/home/user"
      ]
    },
    "remote": {
      "url": "https://mcp.example.com/mcp?key=s3cr3t"
    }
  }
}
""",
        {"files": FILES, "remote": url("remote", "--url-env", "NACRE_URL")},
        {"remote": {"NACRE_URL": "https://mcp.example.com/mcp?key=s3cr3t"}},
    ),
    Config(
        "amp",
        ".config/amp/settings.json",
        """{
  "amp.notifications.enabled": true,
  "amp.mcpServers": {
    "files": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/user"]
    },
    "remote": { "url": "https://mcp.example.com/s/0123456789abcdefABCDEF01/mcp" }
  }
}
""",
        {"files": FILES, "remote": url("remote", "--url-env", "NACRE_URL")},
        {"remote": {"NACRE_URL": "https://mcp.example.com/s/0123456789abcdefABCDEF01/mcp"}},
    ),
]
