"""Access: owners and their Beings, tokens, OAuth and sign-in.

`authority.Authority` holds all of it for one deployment. The MCP endpoint checks every request
with `tokens.authentication`; the portal uses `signin` and `oauth`.
"""
