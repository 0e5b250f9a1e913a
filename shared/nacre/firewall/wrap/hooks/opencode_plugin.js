// Written by 'nacre connect opencode --hooks'; 'nacre disconnect opencode' deletes it.
import { spawn } from "node:child_process"

const COMMAND = ["nacre"]
const LIMIT = 5000 // milliseconds for one hook

function hook(event, payload) {
  return new Promise((resolve) => {
    let output = ""
    const child = spawn(COMMAND[0], [...COMMAND.slice(1), "hook", event, "--client", "opencode"], {
      stdio: ["pipe", "pipe", "ignore"],
    })
    const timer = setTimeout(() => child.kill(), LIMIT)
    const end = () => {
      clearTimeout(timer)
      resolve(output)
    }
    child.on("error", end)
    child.on("close", end)
    child.stdout.on("data", (part) => (output += part))
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(payload))
  })
}

async function context(event, payload) {
  try {
    return JSON.parse(await hook(event, payload)).hookSpecificOutput?.additionalContext ?? ""
  } catch {
    return ""
  }
}

function textOf(parts) {
  const texts = (parts ?? []).filter((part) => part.type === "text" && !part.synthetic)
  return texts.map((part) => part.text).join("\n")
}

export const Nacre = async ({ client, directory }) => {
  const starts = new Map() // the context of each session
  const recalls = new Map() // the memories for its last prompt
  const sent = new Map() // the number of messages that were passed on

  async function capture(session, event) {
    const { data } = await client.session.messages({ path: { id: session } })
    const messages = (data ?? []).map(({ info, parts }) => ({
      id: info.id,
      role: info.role,
      text: textOf(parts),
      at: new Date(info.time.created).toISOString(),
    }))
    // The last one may have been incomplete when it was passed on before.
    const recent = messages.slice(Math.max(0, (sent.get(session) ?? 0) - 1))
    await hook(event, { session_id: session, cwd: directory, messages: recent.filter((each) => each.text) })
    sent.set(session, messages.length)
  }

  return {
    "chat.message": async (input, output) => {
      const payload = { session_id: input.sessionID, cwd: directory, prompt: textOf(output.parts) }
      if (!starts.has(input.sessionID)) starts.set(input.sessionID, await context("session-start", payload))
      recalls.set(input.sessionID, await context("user-prompt", payload))
    },
    "experimental.chat.system.transform": async (input, output) => {
      for (const texts of [starts, recalls]) {
        const text = texts.get(input.sessionID)
        if (text) output.system.push(text)
      }
    },
    "experimental.session.compacting": async (input) => {
      await capture(input.sessionID, "pre-compact").catch(() => {})
    },
    event: async ({ event }) => {
      if (event.type === "session.idle") await capture(event.properties.sessionID, "stop").catch(() => {})
    },
  }
}
