"""One Being: its tools, memory, patrol, orders and tasks.

`application.being_server` builds the server that clients see. A call enters in `tools` or
`orders`, and everything that lasts is written through `memory`.
"""
