"use strict";
// A view talks to its host alone, in JSON-RPC over postMessage (MCP Apps, 2026-01-26).
(() => {
  const host = window.parent;
  const view = document.getElementById("view");
  const told = document.getElementById("told");
  const waiting = new Map();
  let lastId = 0;
  let canCall = false;
  let canOpen = false;
  let shown = 0; // the number of the newest request, so that a late answer replaces nothing

  const send = (message) => host.postMessage({ jsonrpc: "2.0", ...message }, "*");

  const ask = (method, params) =>
    new Promise((resolve, reject) => {
      lastId += 1;
      waiting.set(lastId, { resolve, reject });
      send({ id: lastId, method, params });
    });

  const tell = (text, isProblem) => {
    told.textContent = text;
    told.hidden = !text;
    told.classList.toggle("problem", Boolean(isProblem));
    told.classList.toggle("done", !isProblem);
  };

  const textOf = (result) =>
    (Array.isArray(result?.content) ? result.content : [])
      .filter((block) => block?.type === "text" && typeof block.text === "string")
      .map((block) => block.text)
      .join("\n");

  const show = (result) => {
    const html = result?._meta?.["nacre/view"];
    if (typeof html === "string" && !result.isError) {
      view.innerHTML = html; // from the server's escaping templates; the policy runs no script in it
      for (const part of view.querySelectorAll("[data-tool]")) part.disabled = !canCall;
      for (const part of view.querySelectorAll("[data-open]")) part.hidden = !canOpen;
    } else {
      const text = document.createElement("p");
      text.className = result?.isError ? "text problem" : "text";
      text.textContent = textOf(result) || "There is nothing to show.";
      view.replaceChildren(text);
    }
  };

  const call = (name, args) => ask("tools/call", { name, arguments: args });

  const open = async (name, args) => {
    shown += 1;
    const mine = shown;
    tell("");
    try {
      const result = await call(name, args);
      if (mine === shown) show(result);
    } catch (error) {
      tell(error.message, true);
    }
  };

  // A call that changes something; then the card is shown as it is now.
  const change = async (part) => {
    const args = JSON.parse(part.dataset.arguments);
    const field = part.dataset.content && document.getElementById(part.dataset.content);
    if (field) args.content = field.value;
    try {
      const result = await call(part.dataset.tool, args);
      if (result?.isError) return tell(textOf(result), true);
      await open("show_memory", { node_id: args.key });
      tell(part.dataset.done || "Done.");
    } catch (error) {
      tell(error.message, true);
    }
  };

  const decoded = (text) => decodeURIComponent(text.replaceAll("+", " "));

  view.addEventListener("click", (event) => {
    const part = event.target instanceof Element && event.target.closest("a[href], [data-tool], [data-open]");
    if (!part) return;
    event.preventDefault();
    if (part.dataset.tool?.startsWith("show_")) return void open(part.dataset.tool, JSON.parse(part.dataset.arguments));
    if (part.dataset.tool) return void change(part);
    if (part.dataset.open) return void ask("ui/open-link", { url: part.dataset.open }).catch((error) => tell(error.message, true));
    const href = part.getAttribute("href");
    const memory = /^#memories\/([\w-]+)$/.exec(href);
    const group = /^#map(?:\?group=([\w-]+))?$/.exec(href);
    if (memory) open("show_memory", { node_id: decoded(memory[1]) });
    else if (group) open("show_map", group[1] ? { cluster_id: decoded(group[1]) } : {});
  });

  const dress = (context) => {
    if (context?.theme !== "dark" && context?.theme !== "light") return;
    document.documentElement.style.colorScheme = context.theme;
    for (const sheet of document.styleSheets)
      for (const rule of sheet.cssRules)
        if (rule instanceof CSSMediaRule && (rule.themed ||= /prefers-color-scheme/.test(rule.conditionText)))
          rule.media.mediaText = context.theme === "dark" ? "all" : "not all";
  };

  const notices = {
    "ui/notifications/tool-result": (params) => {
      shown += 1;
      show(params);
    },
    "ui/notifications/tool-cancelled": () => tell("The call was cancelled.", true),
    "ui/notifications/host-context-changed": dress,
  };
  const requests = { ping: () => ({}), "ui/resource-teardown": () => ({}) };

  window.addEventListener("message", (event) => {
    const message = event.data;
    if (event.source !== host || message?.jsonrpc !== "2.0") return;
    if (typeof message.method === "string" && message.id === undefined) {
      if (Object.hasOwn(notices, message.method)) notices[message.method](message.params);
    } else if (typeof message.method === "string") {
      const answer = Object.hasOwn(requests, message.method)
        ? { result: requests[message.method]() }
        : { error: { code: -32601, message: "a view does not answer this" } };
      send({ id: message.id, ...answer });
    } else if (waiting.has(message.id)) {
      const { resolve, reject } = waiting.get(message.id);
      waiting.delete(message.id);
      if (message.error) reject(new Error(String(message.error.message ?? "the host refused it")));
      else resolve(message.result);
    }
  });

  const begin = async () => {
    const told = await ask("ui/initialize", {
      protocolVersion: "2026-01-26",
      appInfo: { name: "nacre", version: "1" },
      appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
    });
    canCall = Boolean(told?.hostCapabilities?.serverTools);
    canOpen = Boolean(told?.hostCapabilities?.openLinks);
    dress(told?.hostContext);
    send({ method: "ui/notifications/initialized" });
    const body = document.body;
    new ResizeObserver(() =>
      send({
        method: "ui/notifications/size-changed",
        params: { width: body.scrollWidth, height: body.scrollHeight },
      }),
    ).observe(body);
  };
  begin().catch((error) => tell(error.message, true));
})();
