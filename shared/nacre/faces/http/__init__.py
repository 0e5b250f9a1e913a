"""The laptop's HTTP server.

`nacre serve` starts `laptop_server.asgi_app` under uvicorn. Requests to `/mcp` go to
`protocol.http`, those to `/policy/evaluate` to `faces.evaluator`, and all others to `web`.
"""
