// Somebody else's server of OpenAI's protocol, with a few things to say; prints its URL.
const { LLMock } = require("@copilotkit/aimock");

const asked = (userMessage, hasToolResult) => ({ userMessage, hasToolResult });
const time = { name: "get_current_time", arguments: JSON.stringify({ timezone: "UTC" }) };
const mock = new LLMock({ port: 0, ...JSON.parse(process.argv[2]) });
mock.on(asked("What time is it?", false), { content: "Let me look.", toolCalls: [time] });
mock.on(asked("What time is it?", true), { content: "It is noon." });
mock.on(asked("reason"), { content: "Blue.", reasoning: "The sea is blue, I think." });
mock.onMessage("hello", { content: "Hi there! ".repeat(40).trim() });
mock.start().then(() => console.log(mock.url));
setInterval(() => {}, 1000);
