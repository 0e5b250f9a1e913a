"""The command `hook`, which clients call at each event: context, recall and capture.

A call comes in at `hook_command.run`, with the event's name and the client's JSON on standard
input. It leaves as one call to a running server, and as JSON for the client on standard output.
`firewall.wrap.hooks` puts hooks into the files of clients. Everything here is imported at each
prompt of a user, so it loads as little as possible.
"""
