"""The server behind a proxy: a process that is started, told to end, and never left behind."""

import errno
import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress

from nacre.core.errors import NacreError

NOT_FOUND = 127  # what a shell says of a command that it does not find
NOT_STARTED = 126  # and of one that it cannot start

# Waits until whoever holds the other end of its input has ended, however that came about,
# and ends the processes of a group that are left.
_KEEPER = """
read -r done && exit
kill -TERM "-$0" || exit
for wait in 1 2 3 4 5 6 7 8; do
    sleep 0.25
    kill -0 "-$0" || exit
done
kill -KILL "-$0"
"""


class NoServerError(NacreError):
    """The command cannot be started; `code` is the exit code that says so."""

    def __init__(self, message: str, *, code: int) -> None:
        super().__init__(message)
        self.code = code


class ServerProcess:
    """A server that reads and writes pipes of ours, in a process group of its own.

    Its standard error is our own. What Ctrl-C sends reaches it through us.
    """

    def __init__(self, command: Sequence[str]) -> None:
        its_input, self.stdin = os.pipe()
        self.stdout, its_output = os.pipe()
        try:
            self._process = _started(command, its_input, its_output)
        except NoServerError:
            os.close(self.stdin)
            os.close(self.stdout)
            raise
        finally:
            os.close(its_input)
            os.close(its_output)
        self.pid = self._process.pid
        self._keeper = _keeper(self.pid)

    def has_ended(self) -> bool:
        """Whether the process itself has ended; others of its group may be left."""
        return self._process.poll() is not None

    def send(self, number: int) -> None:
        """Send a signal to all processes of the server."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def wait(self) -> int:
        """Return the exit code, negative for the signal that ended the process."""
        return self._process.wait()

    def let_go(self) -> None:
        """Have no part in it any more; what is left of its group is ended meanwhile."""
        keeper, self._keeper = self._keeper, None
        if keeper is None or keeper.stdin is None:
            return
        with suppress(OSError):
            if self._is_group_left():
                keeper.stdin.close()
                return
            keeper.stdin.write(b"\n")
            keeper.stdin.close()
            keeper.wait()

    def _is_group_left(self) -> bool:
        try:
            os.killpg(self.pid, 0)
        except OSError:
            return False
        return True


def _started(command: Sequence[str], stdin: int, stdout: int) -> "subprocess.Popen[bytes]":
    program = command[0]
    try:
        return subprocess.Popen(  # noqa: S603 - the user's own command is what this is for
            list(command), stdin=stdin, stdout=stdout, process_group=0
        )
    except FileNotFoundError as error:
        found = shutil.which(program)
        if found is None:
            reason = f"{program}: no such program; give its whole path, or put it on PATH"
            raise NoServerError(reason, code=NOT_FOUND) from error
        reason = f"{found}: cannot be started; the program that its first line names is not here"
        raise NoServerError(reason, code=NOT_STARTED) from error
    except PermissionError as error:
        reason = f"{program}: cannot be started; it is a folder, or not yours to run (chmod +x)"
        raise NoServerError(reason, code=NOT_STARTED) from error
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else str(error)
        hint = "give the interpreter before it" if _is_script(error) else "try it by itself"
        raise NoServerError(
            f"{program[:200]}: cannot be started ({said}); {hint}", code=NOT_STARTED
        ) from error


def _is_script(error: Exception) -> bool:
    return isinstance(error, OSError) and error.errno == errno.ENOEXEC


def _keeper(group: int) -> "subprocess.Popen[bytes] | None":
    assert group > 1  # -1 would be every process there is
    try:
        return subprocess.Popen(  # noqa: S603 - a fixed script and a number
            ["/bin/sh", "-c", _KEEPER, str(group)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )
    except OSError:  # a system without a shell goes without
        return None


def end_like(code: int) -> int:
    """Return the exit code of a server, or end this process by the signal that ended it."""
    if code >= 0:
        return code
    number = -code
    with suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - few systems lack it

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the server has left its own
    with suppress(ValueError, OSError):  # SIGKILL cannot be set, and need not be
        signal.signal(number, signal.SIG_DFL)
    with suppress(OSError):
        os.kill(os.getpid(), number)
    return 128 + number
