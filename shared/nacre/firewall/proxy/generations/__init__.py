"""Translation in a proxy between a client and a server of different generations.

`meeting.Meeting` gets the first messages of a session. If both sides speak the same generation, it
ends there, and every later message passes as it is. Otherwise `newer_client` or `older_client`
translates each message, and the guard decides about the translated one.
"""
