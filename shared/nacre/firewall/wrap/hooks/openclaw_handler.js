// Written by 'nacre connect openclaw --hooks'; 'nacre disconnect openclaw' deletes it.
import { spawn } from "node:child_process"

const COMMAND = ["nacre"]

export default async function handler(event) {
  if (event.type !== "message") return
  const role = { received: "user", sent: "assistant" }[event.action]
  const { content, messageId, conversationId, success } = event.context ?? {}
  if (!role || success === false || typeof content !== "string" || !content.trim()) return
  const at = new Date(event.timestamp ?? Date.now()).toISOString()
  const message = { role, text: content, at, ...(messageId ? { id: `${messageId}` } : {}) }
  const payload = { session_id: event.sessionKey || conversationId || "openclaw", messages: [message] }
  // Nothing waits for it: the agent answers at once.
  const child = spawn(COMMAND[0], [...COMMAND.slice(1), "hook", "stop", "--client", "openclaw"], {
    stdio: ["pipe", "ignore", "ignore"],
  })
  child.on("error", () => {})
  child.stdin.on("error", () => {})
  child.stdin.end(JSON.stringify(payload))
}
