"""Who may call: owners, Beings, tokens, OAuth and sign-in.

`authority.Authority` opens all of it over the tables of a deployment. The endpoint asks
`tokens.authentication` about every request; the portal asks `signin` and `oauth`.
"""
