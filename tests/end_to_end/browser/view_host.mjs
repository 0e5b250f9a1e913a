// A client that shows views, with the host's half of the official library for MCP Apps. The view is
// in a frame with an opaque origin; the page's own functions answer what the view may ask.
import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";

window.opened = [];

window.showView = async (html, result) => {
  document.body.replaceChildren();
  const frame = document.createElement("iframe");
  frame.title = "A view";
  frame.setAttribute("sandbox", "allow-scripts");
  frame.style = "width: 100%; border: 0; height: 700px";
  document.body.append(frame);
  const bridge = new AppBridge(
    null,
    { name: "test-host", version: "1.0.0" },
    { serverTools: {}, openLinks: {} },
    { hostContext: { theme: "dark" } },
  );
  bridge.oncalltool = async (params) => JSON.parse(await window.callTool(JSON.stringify(params)));
  bridge.onopenlink = async ({ url }) => {
    window.opened.push(url);
    return {};
  };
  bridge.onsizechange = ({ height }) => {
    frame.style.height = `${height}px`;
  };
  const ready = new Promise((resolve) => {
    bridge.oninitialized = resolve;
  });
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.srcdoc = html;
  await ready;
  window.sendResult = (next) => bridge.sendToolResult(next);
  await bridge.sendToolInput({ arguments: {} });
  await bridge.sendToolResult(result);
};
