"""Translation in a proxy between a client and a server of different generations.

`negotiation.Negotiation` gets the first messages of a session. If both sides speak the same
generation, it is over then, and every later message passes unchanged. Otherwise `newer_client` or
`older_client` translates each message, and the guard decides about the translated one.
"""
