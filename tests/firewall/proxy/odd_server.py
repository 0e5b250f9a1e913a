"""A server of bad manners, one for each name: odd_server.py NAME. Standard library only."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def say(value: Any) -> None:
    line = value if isinstance(value, bytes) else json.dumps(value).encode() + b"\n"
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def answer(request: dict[str, Any], result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request["id"], "result": result}


def requests() -> Any:
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" in message and "method" in message:
            yield message


def echo() -> None:
    """Answer each request with what it asked."""
    for request in requests():
        say(answer(request, {"echo": request.get("params")}))


def mirror() -> None:
    """Answer each line with its text, whatever stands in it."""
    for line in sys.stdin.buffer:
        request = json.loads(line)
        say(answer(request, {"heard": line.decode().removesuffix("\n")}))


def lister() -> None:
    """Have one tool, of the name that it is given."""
    for request in requests():
        tools = [{"name": sys.argv[2], "inputSchema": {"type": "object"}}]
        say(answer(request, {"tools": tools} if request["method"] == "tools/list" else {}))


def code() -> None:
    """End with an exit code of its own after one answer."""
    say(answer(next(requests()), {}))
    sys.exit(7)


def burst() -> None:
    """Say two thousand things at once and end."""
    next(requests())
    say(b"".join(b'{"jsonrpc":"2.0","method":"notifications/n%d"}\n' % n for n in range(2000)))
    os._exit(7)


def crash() -> None:
    """Be ended by a signal in the middle of an answer."""
    request = next(requests())
    say(answer(request, {}))
    sys.stdout.buffer.write(b'{"jsonrpc":"2.0","id":2,"res')
    sys.stdout.buffer.flush()
    os.kill(os.getpid(), signal.SIGKILL)


def after_end() -> None:
    """Say something once the input has ended, without an end of line."""
    for _ in requests():
        pass
    say(b'{"jsonrpc":"2.0","method":"notifications/bye"}')
    sys.exit(5)


def stubborn() -> None:
    """Neither SIGTERM nor Ctrl-C nor the end of the input ends it."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    say(answer(next(requests()), {"pid": os.getpid()}))
    while True:
        time.sleep(60)


def family() -> None:
    """Leave a child behind that holds the same pipes."""
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"])
    say(answer(next(requests()), {"pid": child.pid}))
    next(requests(), None)


def pieces() -> None:
    """Write an answer byte by byte, then two and a half at once, then the rest."""
    first = json.dumps(answer(next(requests()), {"n": 1})).encode() + b"\r\n\n"
    for place in range(len(first)):
        say(first[place : place + 1])
    second, third, fourth = (
        json.dumps(answer(request, {"n": n + 2})).encode() + b"\n"
        for n, request in enumerate([next(requests()) for _ in range(3)])
    )
    say(second + third + fourth[:10])
    time.sleep(0.01)
    say(fourth[10:])


def noise() -> None:
    """Print what is no message between the answers."""
    sys.stdout.write("Server listening\n{not json}\n\n")
    for request in requests():
        say(b"answering\n")
        say(answer(request, {}))


def flood() -> None:
    """Write five megabytes to standard error before each answer."""
    for request in requests():
        for _ in range(5):
            sys.stderr.write("x" * 1_048_575 + "\n")
        sys.stderr.flush()
        say(answer(request, {}))


def large() -> None:
    """Answer with a text of so many bytes, the id before it or behind."""
    for request in requests():
        size, last = (request["params"]["arguments"][name] for name in ("size", "last"))
        whole = answer(request, {"content": [{"type": "text", "text": '\\" ' * (size // 3)}]})
        say(dict(reversed(whole.items())) if last else whole)


def talker() -> None:
    """Say five thousand things before it listens."""
    progress = {"progressToken": 1, "progress": 1}
    note = json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress})
    for _ in range(5):
        sys.stdout.buffer.write((note + "\n").encode() * 1000)
    sys.stdout.buffer.flush()
    echo()


def asker() -> None:
    """Ask for what is denied, again and again, and read no answer until all is said."""
    for number in range(5_000):
        ask = {"jsonrpc": "2.0", "id": number, "method": "roots/list", "params": {}}
        sys.stdout.buffer.write(json.dumps(ask).encode() + b"\n")
    sys.stdout.buffer.flush()
    refused = sum("error" in json.loads(sys.stdin.buffer.readline()) for _ in range(5_000))
    say({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": refused}})


def signals() -> None:
    """Tell which signals arrive; SIGTERM ends it politely."""

    def note(number: int, _frame: object) -> None:
        said = {"jsonrpc": "2.0", "method": "notifications/signal", "params": {"number": number}}
        os.write(1, json.dumps(said).encode() + b"\n")
        if number in (signal.SIGTERM, signal.SIGINT):
            os._exit(9)

    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
        signal.signal(each, note)
    echo()


def deaf() -> None:
    """Close its input, and go on."""
    say(answer(next(requests()), {}))
    os.close(0)
    time.sleep(60)


def mute() -> None:
    """Close its output, and end when the input does."""
    say(answer(next(requests()), {}))
    os.close(1)
    for _ in sys.stdin.buffer:
        pass
    os._exit(4)


def about() -> None:
    """Tell how it was started."""
    facts = {
        "arguments": sys.argv[2:],
        "cwd": str(Path.cwd()),
        "environment": dict(os.environ),
        "group": os.getpgid(0) == os.getpid(),
        "descriptors": [each for each in range(3, 64) if Path(f"/proc/self/fd/{each}").exists()],
    }
    say(answer(next(requests()), facts))


if __name__ == "__main__":
    named: dict[str, Callable[[], None]] = {
        each.__name__: each
        for each in (
            echo, mirror, lister, code, burst, crash, after_end, stubborn, family, pieces, noise,
            flood, large, talker, asker, signals, deaf, mute, about,
        )
    }  # fmt: skip
    try:
        named[sys.argv[1]]()
    except (KeyboardInterrupt, StopIteration, BrokenPipeError):
        os._exit(0)
