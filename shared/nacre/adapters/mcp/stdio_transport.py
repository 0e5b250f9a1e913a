"""Connect to a server that runs as a program on this machine, with one message per line."""

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage

from nacre.adapters.mcp.large_answers import Fill, LargeAnswers, Shorten
from nacre.core.errors import NacreError
from nacre.core.limits import LARGE_RESULT_BYTES, SCREENING_PROCESSES, UPSTREAM_ANSWER_BYTES
from nacre.firewall.proxy.stdio.lines import LineSplitter

TOO_LONG = f"answered with more than {UPSTREAM_ANSWER_BYTES // 1024 // 1024} MB"
_GRACE_SECONDS = 2.0  # to wait for a program after closing its input, and again after SIGTERM
_READ = 256 * 1024
if TYPE_CHECKING:
    from nacre.firewall.confine.confined_server import ConfinedStart

Confine = Callable[[Sequence[str], Mapping[str, str], str], "ConfinedStart"]
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has no SIGKILL


class ProgramError(Exception):
    """The program cannot be started, or must be ended; the text is for its owner."""


@asynccontextmanager
async def program(
    command: str,
    arguments: list[str],
    environment: Mapping[str, str],
    cwd: str,
    ended: Callable[[str | None], None],
    large: LargeAnswers,
    confine: Confine | None = None,
) -> AsyncIterator[tuple[Any, Any]]:
    """Start a program and yield the streams of its messages; afterwards end it and its children.

    `ended` is called at the end of its output, with the reason if there is one. With `confine`, it
    starts with the rights of the rules.
    """
    if confine is None:
        async with _relayed(
            await _start_program(command, arguments, environment, cwd), ended, large
        ) as streams:
            yield streams
        return
    start = await _confined_start(confine, [command, *arguments], environment, cwd)
    try:
        process = await _start_confined(start, cwd)
        async with _relayed(process, ended, large) as streams:
            yield streams
    finally:
        await asyncio.to_thread(start.close)


@asynccontextmanager
async def _relayed(
    process: asyncio.subprocess.Process, ended: Callable[[str | None], None], large: LargeAnswers
) -> AsyncIterator[tuple[Any, Any]]:
    to_session, from_program = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_program, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    reading = asyncio.create_task(_read(process, to_session, ended, large.shortened))
    reading.add_done_callback(lambda _: ended(None))
    writing = asyncio.create_task(_write(process, from_session, to_session, large.filled))
    try:
        yield from_program, to_program
    finally:
        with anyio.CancelScope(shield=True):
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
            for stream in (from_program, to_program, to_session, from_session):
                stream.close()
            await _end_program(process)
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)


async def _start_program(
    command: str, arguments: list[str], environment: Mapping[str, str], cwd: str
) -> asyncio.subprocess.Process:
    variables = {**get_default_environment(), **environment}
    path = shutil.which(command, path=variables.get("PATH"))
    try:
        return await asyncio.create_subprocess_exec(
            path or command,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=variables,
            cwd=cwd or None,
            start_new_session=sys.platform != "win32",
            limit=_READ,
        )
    except FileNotFoundError as error:
        reason = f"'{command[:80]}' was not found"
        if cwd and not Path(cwd).is_dir():
            reason = "its working folder does not exist"
        raise ProgramError(f"cannot be started: {reason}") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its command is not valid"
        raise ProgramError(f"cannot be started: {reason}") from error


async def _confined_start(
    confine: Confine, line: Sequence[str], environment: Mapping[str, str], cwd: str
) -> "ConfinedStart":
    variables = {**get_default_environment(), **environment}
    # It may install a package first.
    starting = asyncio.create_task(asyncio.to_thread(confine, line, variables, cwd))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        starting.add_done_callback(_discard)
        raise
    except NacreError as error:
        raise ProgramError(f"cannot be started: {error}") from error


def _discard(starting: "asyncio.Task[ConfinedStart]") -> None:
    """Close a start that nobody waits for any more."""
    if not starting.cancelled() and starting.exception() is None:
        starting.result().close()


async def _start_confined(start: "ConfinedStart", cwd: str) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *start.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=start.stderr,
            env=dict(start.environment),
            pass_fds=start.descriptors,
            cwd=cwd or None,
            start_new_session=True,
            limit=_READ,
        )
    except OSError as error:
        raise ProgramError(f"cannot be started: {error.strerror}") from error
    finally:
        start.release()


async def _read(
    process: asyncio.subprocess.Process,
    to_session: MemoryObjectSendStream[SessionMessage | Exception],
    ended: Callable[[str | None], None],
    shorten: Shorten,
) -> None:
    """Send the session a message for each line; close its stream at the end of the output.

    A large message does not delay the messages after it.
    """
    assert process.stdout is not None
    large: set[asyncio.Task[None]] = set()
    try:
        async for line in _lines(process.stdout, ended):
            if len(line) < LARGE_RESULT_BYTES:
                await _deliver(line, to_session)
                continue
            if len(large) >= SCREENING_PROCESSES:
                await asyncio.wait(large, return_when=asyncio.FIRST_COMPLETED)
            task = asyncio.create_task(_deliver_large(line, to_session, shorten))
            large.add(task)
            task.add_done_callback(large.discard)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError):
        # Keep draining: a program blocked on a full pipe might never exit.
        while await process.stdout.read(_READ):
            pass
    except asyncio.CancelledError:
        for task in large:
            task.cancel()
        raise
    finally:
        await asyncio.gather(*large, return_exceptions=True)
        to_session.close()


async def _lines(
    stdout: asyncio.StreamReader, ended: Callable[[str | None], None]
) -> AsyncIterator[bytes]:
    """Yield the lines up to the first that is too long."""
    splitter = LineSplitter(UPSTREAM_ANSWER_BYTES)
    while chunk := await stdout.read(_READ):
        for line in splitter.feed(chunk):
            if len(line) > UPSTREAM_ANSWER_BYTES:
                ended(TOO_LONG)  # the call that it answers is unknown
                return
            yield line
        if splitter.size > UPSTREAM_ANSWER_BYTES:
            ended(TOO_LONG)
            return


async def _deliver_large(
    message: bytes,
    to_session: MemoryObjectSendStream[SessionMessage | Exception],
    shorten: Shorten,
) -> None:
    with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        await _deliver(await shorten(message), to_session)


async def _deliver(
    line: bytes,
    to_session: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        return  # programs also print text that is not a message
    await to_session.send(SessionMessage(message))


async def _write(
    process: asyncio.subprocess.Process,
    from_session: MemoryObjectReceiveStream[SessionMessage],
    to_session: MemoryObjectSendStream[SessionMessage | Exception],
    fill: Fill,
) -> None:
    assert process.stdin is not None
    try:
        async for outgoing in from_session:
            text = outgoing.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(fill(text.encode(), is_line=True) + b"\n")
            await process.stdin.drain()
    except (ConnectionError, anyio.ClosedResourceError, anyio.BrokenResourceError):
        to_session.close()


async def _end_program(process: asyncio.subprocess.Process) -> None:
    """Let the program end by itself, then terminate it, then kill it and its children."""
    assert process.stdin is not None
    with contextlib.suppress(ConnectionError, RuntimeError):
        process.stdin.close()
    try:
        for number in (None, signal.SIGTERM, _KILL):
            if number is not None:
                _signal(process, number)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(_wait_for_exit(process), _GRACE_SECONDS)
                break
    finally:
        _signal(process, _KILL)  # also the children that it left behind in its group
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()
    await asyncio.sleep(0)


async def _wait_for_exit(process: asyncio.subprocess.Process) -> None:
    # process.wait() would also wait for other processes that hold its pipes.
    while process.returncode is None:
        await asyncio.sleep(0.01)


def _signal(process: asyncio.subprocess.Process, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            if process.returncode is None:
                process.send_signal(number)
        else:
            os.killpg(process.pid, number)
