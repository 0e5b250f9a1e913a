"""The sweep: every hour, look for Beings whose work nobody has queued."""

from nacre.jobs.worker import Work

KIND = "sweep"


def sweep(_work: Work) -> None:
    """Find nothing: so far all work is queued by the call that makes it.

    The schedule sends sweeps all the same, and a worker that did not know them would set
    each aside as dead.
    """
