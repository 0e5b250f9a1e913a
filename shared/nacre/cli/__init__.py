"""The command line, one folder for each group of commands.

`main` is the entry point. It imports only the command that was called, from the table in
`commands`. Commands call features through `wiring`.
"""
