"""The commands about access: `being`, `token`, `client`, `owner`, `secret` and `llm-key`."""
