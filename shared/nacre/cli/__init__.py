"""The command line, one folder for each group of commands.

Calls come in through `main`, which imports only the command that was called, from the table in
`commands`. Commands call features through `wiring`.
"""
