"""The sweep: every hour, look for Beings whose work nobody has queued."""

KIND = "sweep"
