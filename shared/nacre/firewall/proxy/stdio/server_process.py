"""The server behind a proxy, as a process that never outlives the proxy."""

import errno
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress

from nacre.core.errors import NacreError

NOT_FOUND = 127  # the exit code of a shell that does not find a command
NOT_STARTED = 126  # and of one that cannot start it

# Waits until its input is closed, which the end of the proxy does, however it ends. Then it ends
# the processes that are left of a group.
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
    """The command cannot be started; `code` is the exit code for it."""

    def __init__(self, message: str, *, code: int) -> None:
        super().__init__(message)
        self.code = code


class ServerProcess:
    """A server in a process group, which reads and writes pipes of this process.

    It shares the proxy's standard error and environment unless it gets others, and of the proxy's
    descriptors only those that are named. The signal of Ctrl-C reaches it through the proxy.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        stderr: int | None = None,
        descriptors: Sequence[int] = (),
    ) -> None:
        server_input, self.stdin = os.pipe()
        self.stdout, server_output = os.pipe()
        try:
            self._process = _start(
                command,
                *(server_input, server_output, stderr),
                environment=environment,
                descriptors=descriptors,
            )
        except NoServerError:
            os.close(self.stdin)
            os.close(self.stdout)
            raise
        finally:
            os.close(server_input)
            os.close(server_output)
        self.pid = self._process.pid
        self._keeper = _start_keeper(self.pid)

    def has_ended(self) -> bool:
        """Tell whether the process has ended; others of its group may be left."""
        return self._process.poll() is not None

    def send(self, number: int) -> None:
        """Send a signal to all processes of the server."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def wait(self) -> int:
        """Return the exit code, negative for the signal that ended the process."""
        return self._process.wait()

    def release(self) -> None:
        """Leave the server alone; the keeper ends the processes that are left of its group."""
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


def _start(
    command: Sequence[str],
    stdin: int,
    stdout: int,
    stderr: int | None,
    *,
    environment: Mapping[str, str] | None,
    descriptors: Sequence[int],
) -> "subprocess.Popen[bytes]":
    program = command[0]
    try:
        return subprocess.Popen(  # noqa: S603 - the user's own command is what this is for
            list(command),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=environment,
            pass_fds=descriptors,
            process_group=0,
        )
    except FileNotFoundError as error:
        path = shutil.which(program)
        if path is None:
            reason = f"{program}: no such program; give its whole path, or put it on PATH"
            raise NoServerError(reason, code=NOT_FOUND) from error
        reason = f"{path}: cannot be started; the program that its first line names is not here"
        raise NoServerError(reason, code=NOT_STARTED) from error
    except PermissionError as error:
        reason = f"{program}: cannot be started; it is a folder, or not yours to run (chmod +x)"
        raise NoServerError(reason, code=NOT_STARTED) from error
    except (OSError, ValueError) as error:
        is_script = isinstance(error, OSError) and error.errno == errno.ENOEXEC
        hint = "give the interpreter before it" if is_script else "try it by itself"
        text = error.strerror if isinstance(error, OSError) else str(error)
        raise NoServerError(
            f"{program[:200]}: cannot be started ({text}); {hint}", code=NOT_STARTED
        ) from error


def _start_keeper(group: int) -> "subprocess.Popen[bytes] | None":
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
    """Return the server's exit code, or end this process by the signal that ended the server."""
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
