"""A proxy in front of a program, over standard input and output.

`nacre proxy -- COMMAND` starts `stdio_proxy`. `server_process` runs the program, and `relay`
moves the messages.
"""
