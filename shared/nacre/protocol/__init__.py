"""The MCP wire format: strict JSON, messages, versions, and the caller of a call.

A face parses bytes with `strict_json` and `messages`, then calls `dispatch`. Calls leave
through `surface`, which describes whatever offers tools, resources and prompts.
"""
