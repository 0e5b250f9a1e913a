"""The rights of a server's process, compiled from the policy and enforced by the operating system.

`policy_rights` reads folders and ports from the rules, `runtimes` knows what node and Python need,
and `confined_server` puts both together and returns the command that starts the server. On Linux
that command is `launch`, a small program of its own: it applies Landlock (`landlock`) and a filter
of system calls (`seccomp`) to itself and then becomes the server. `seatbelt` writes the same
rights for macOS.
"""
