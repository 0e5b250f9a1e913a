// A stand-in for the model behind Claude Code, on loopback; prints its URL.
const { LLMock } = require("@copilotkit/aimock");

const mock = new LLMock({ port: 0 });
mock.on({ userMessage: /boat|sails/ }, { content: "Good to know about the boat." });
mock.on({}, { content: "Hello." });
mock.start().then(() => console.log(mock.url));
setInterval(() => {}, 1000);
