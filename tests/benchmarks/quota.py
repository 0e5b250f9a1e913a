"""As much processor as Lambda gives to a function of some memory."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_WHOLE_CPU_MB = 1769  # at this much memory a function has one virtual processor
_PERIOD_US = 20_000
_V1 = Path("/sys/fs/cgroup/cpu")
_V2 = Path("/sys/fs/cgroup")


def share(memory: int) -> float:
    """Return the part of one processor that a function has."""
    return memory / _WHOLE_CPU_MB


@contextmanager
def cpu_quota(memory: int) -> Iterator[tuple[str, ...] | None]:
    """Yield what to put before a command so that it runs under the quota; None if nothing can."""
    quota = int(_PERIOD_US * share(memory))
    # A large share: on a busy machine the quota is to be the only limit.
    if (_V1 / "cpu.cfs_quota_us").is_file():
        root = _V1
        period = {"cpu.cfs_period_us": str(_PERIOD_US), "cpu.cfs_quota_us": str(quota)}
        limits = {**period, "cpu.shares": "262144"}
    else:
        root, limits = _V2, {"cpu.max": f"{quota} {_PERIOD_US}", "cpu.weight": "10000"}
    group = root / f"nacre-{os.getpid()}-{memory}"
    try:
        group.mkdir()
        for name, value in limits.items():
            (group / name).write_text(value)
    except OSError:
        if group.is_dir():
            group.rmdir()
        yield None
        return
    try:
        yield ("/bin/sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh")
    finally:
        group.rmdir()
