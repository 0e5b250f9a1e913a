"""Conversations captured from clients: their messages, each stored once, and a list of them.

Callers use `captured_store.CapturedConversations`, which screens, compares and stores messages.
`captured_message.identity_of` decides whether two messages are the same. Captured messages are
part of the history, so searches, exports and patrols read them there.
"""
