"""Another server as a program of this machine: messages as lines of its input and output."""

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage

from nacre.adapters.mcp.large_answers import Shorten
from nacre.core.limits import LARGE_RESULT_BYTES, SCREENING_PROCESSES, UPSTREAM_ANSWER_BYTES

TOO_LONG = f"answered with more than {UPSTREAM_ANSWER_BYTES // 1024 // 1024} MB"
_GRACE_SECONDS = 2.0  # for a program to end after its input did, and again after SIGTERM
_READ = 256 * 1024
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has one way only


class ProgramError(Exception):
    """The program cannot be started, or ends the conversation; the text is for its owner."""


@asynccontextmanager
async def program(
    command: str,
    arguments: list[str],
    environment: Mapping[str, str],
    cwd: str,
    ended: Callable[[str | None], None],
    shorten: Shorten,
) -> AsyncIterator[tuple[Any, Any]]:
    """Start a program, and give the streams of its messages; ends it with all its children.

    `ended` is called when it says nothing more, with the reason where there is one. `shorten`
    says what the session gets of a message.
    """
    process = await _started(command, arguments, environment, cwd)
    to_session, from_program = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_program, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    reading = asyncio.create_task(_read(process, to_session, ended, shorten))
    reading.add_done_callback(lambda _: ended(None))
    writing = asyncio.create_task(_write(process, from_session, to_session))
    try:
        yield from_program, to_program
    finally:
        with anyio.CancelScope(shield=True):
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
            for stream in (from_program, to_program, to_session, from_session):
                stream.close()
            await _ended(process)
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)


async def _started(
    command: str, arguments: list[str], environment: Mapping[str, str], cwd: str
) -> asyncio.subprocess.Process:
    given = {**get_default_environment(), **environment}
    found = shutil.which(command, path=given.get("PATH"))
    try:
        return await asyncio.create_subprocess_exec(
            found or command,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=given,
            cwd=cwd or None,
            start_new_session=sys.platform != "win32",
            limit=_READ,
        )
    except FileNotFoundError as error:
        is_placed = not cwd or Path(cwd).is_dir()
        missing = f"'{command[:80]}'" if is_placed else "its working folder"
        raise ProgramError(f"cannot be started: {missing} is not there") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its command is not valid"
        raise ProgramError(f"cannot be started: {reason}") from error


async def _read(
    process: asyncio.subprocess.Process,
    to_session: MemoryObjectSendStream[SessionMessage | Exception],
    ended: Callable[[str | None], None],
    shorten: Shorten,
) -> None:
    """Give the session one message for each line; close its stream when there are no more.

    What comes after a large message need not wait until that is read.
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
        # Nobody listens any more, but a program that cannot write might never end.
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
    """Yield each line; one that is too long is the end."""
    parts: list[bytes] = []
    size = 0
    while chunk := await stdout.read(_READ):
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            parts.append(line)
            if size + len(line) > UPSTREAM_ANSWER_BYTES:
                ended(TOO_LONG)
                return
            yield b"".join(parts)
            parts, size = [], 0
        parts.append(rest)
        size += len(rest)
        if size > UPSTREAM_ANSWER_BYTES:
            ended(TOO_LONG)  # nobody knows which call it would have answered
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
    if not line.strip():
        return
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        return  # what a program prints beside its messages is no message
    await to_session.send(SessionMessage(message))


async def _write(
    process: asyncio.subprocess.Process,
    from_session: MemoryObjectReceiveStream[SessionMessage],
    to_session: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    assert process.stdin is not None
    try:
        async for each in from_session:
            text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(text.encode() + b"\n")
            await process.stdin.drain()
    except (ConnectionError, anyio.ClosedResourceError, anyio.BrokenResourceError):
        to_session.close()


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Let the program end by itself, then ask it, then kill it and whatever it started."""
    assert process.stdin is not None
    with contextlib.suppress(ConnectionError, RuntimeError):
        process.stdin.close()
    try:
        for how in (None, signal.SIGTERM, _KILL):
            if how is not None:
                _signal(process, how)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(_gone(process), _GRACE_SECONDS)
                break
    finally:
        _signal(process, _KILL)  # also children that it left behind: they are of its group
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()
    await asyncio.sleep(0)


async def _gone(process: asyncio.subprocess.Process) -> None:
    # Not process.wait(), which also waits for whoever else holds its pipes.
    while process.returncode is None:
        await asyncio.sleep(0.01)


def _signal(process: asyncio.subprocess.Process, how: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            if process.returncode is None:
                process.send_signal(how)
        else:
            os.killpg(process.pid, how)
