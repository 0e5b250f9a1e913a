"""The command `nacre service`: the server as a service of the user, started by the system.

`service.py` has the commands. `systemd.py` (Linux) and `launchd.py` (macOS) write the file of the
service and ask the system to start, stop and describe it.
"""
