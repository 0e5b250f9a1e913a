"""The SDK: what `from nacre import tool` gives to authors of tools, resources and prompts.

`decorator` turns a function into a tool, and `tool_server` groups tools under one name. Calls
come in from the protocol or through `jsonrpc`, and leave by running the author's function.
"""
