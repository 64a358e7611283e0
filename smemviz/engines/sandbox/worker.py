"""A process that runs one text and ends: ``python -m smemviz.engines.sandbox.worker``.

With the number of a socket it forks such processes instead, one for each connection that is sent through the socket,
and never reads a text itself.

One that runs a text says ``ready`` on its standard output when everything is imported, reads one request, a line of
JSON, from its standard input, takes from itself what it does not need, runs and answers with a line of JSON, which says
how many bytes of a recording follow. It ends with its standard input, and so with whoever started it, who bounds its
time; the operating system bounds its memory where it can.
"""

import gc
import json
import math
import os
import signal
import socket
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

from smemviz.engines.sandbox.confine import confine
from smemviz.engines.sandbox.run import run_text
from smemviz.engines.sandbox.sandbox_limits import SandboxLimits, memory_is_bounded
from smemviz.errors import PlaceError, SmemvizError
from smemviz.messages import english
from smemviz.recordings.recording import packed

_MAX_REQUEST = 1 << 20  # characters
_MAX_FILE = 1 << 26  # bytes
_DENIED = ("os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "pty.", "socket.", "subprocess.", "shutil.")


def main() -> int:
    """Serve one request, in a process that was forked for it where there is a socket to ask for them."""
    if sys.argv[1:] and not _is_forked(socket.socket(fileno=int(sys.argv[1]))):
        return 0
    try:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
    except BrokenPipeError:  # the server was killed meanwhile
        os._exit(1)
    line = sys.stdin.readline(_MAX_REQUEST)
    if not line:
        return 0  # the server ended before it needed this process
    request = json.loads(line)
    limits = SandboxLimits(seconds=request["seconds"], memory_bytes=request["memory_bytes"])
    _take_away(limits)  # also from the threads that are started after it
    threading.Thread(target=_end_with_the_server, daemon=True).start()
    answer = _answer(request, limits)
    recording = answer.pop("recording", b"")
    sys.stdout.write(json.dumps({**answer, "bytes": len(recording)}) + "\n")
    sys.stdout.flush()
    sys.stdout.buffer.write(recording)
    sys.stdout.flush()
    return 0


def _is_forked(control: socket.socket) -> bool:
    """Fork until the server ends. Returns ``True`` in each process that was forked, with its connection in place."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # who asked for them sees their end
    gc.collect()
    gc.freeze()
    while True:
        byte, descriptors, *_ = socket.recv_fds(control, 1, 1)
        if not byte:
            return False
        connection = socket.socket(fileno=descriptors[0])
        if os.fork():
            connection.close()
            continue
        control.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        with connection:
            descriptor = os.pidfd_open(os.getpid())
            socket.send_fds(connection, [str(os.getpid()).encode()], [descriptor])
            os.close(descriptor)
            os.dup2(connection.fileno(), 0)
            os.dup2(connection.fileno(), 1)
        return True


def _end_with_the_server() -> None:
    """Wait for the end of the standard input, to which nothing more comes while the server lives, and end at once."""
    while os.read(0, 1):
        pass
    os._exit(1)


def _answer(request: dict[str, Any], limits: SandboxLimits) -> dict[str, Any]:
    try:
        text_run = run_text(request["source"], request["constants"], limits, request["file"])
        return {"printed": text_run.printed, "recording": packed(text_run.recording, request["file"])}
    except PlaceError as error:
        if error.file != request["file"]:  # of smemviz's own, such as the generators of random numbers
            return {"error": f"{Path(error.file).name}:{error.line}: {error.what}"}
        return {"error": error.what, "line": error.line, "kind": type(error).__name__}
    except SmemvizError as error:
        return {"error": str(error)}
    except (MemoryError, RecursionError):
        return {
            "error": english("it needs more memory than the editor gives, {most:,} bytes", most=limits.memory_bytes)
        }
    except Exception as error:  # no text may do this; the server lives on and its output tells where
        traceback.print_exc()
        return {
            "error": english(
                "smemviz failed on it ({type}); save the file and run it with smemviz run", type=type(error).__name__
            )
        }


def _take_away(limits: SandboxLimits) -> None:
    """Give up what a run has no use for: memory and time beyond the limits, other programs, the network."""
    sys.addaudithook(_audit)
    if sys.platform == "win32":  # which has none of the following; there the supervisor's clock is what holds
        return
    import resource

    _lower(resource.RLIMIT_CPU, math.ceil(limits.seconds) * (os.cpu_count() or 1) + 1)  # its threads count together
    _lower(resource.RLIMIT_FSIZE, _MAX_FILE)
    _lower(resource.RLIMIT_CORE, 0)
    if memory_is_bounded():  # what is mapped already does not count
        mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        _lower(resource.RLIMIT_AS, mapped + limits.memory_bytes)
    confine()


def _lower(kind: int, value: int) -> None:
    import resource

    hard = resource.getrlimit(kind)[1]
    least = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (least, least))


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event.startswith(_DENIED):
        raise PermissionError(f"{event} is not for text from a browser")


if __name__ == "__main__":
    raise SystemExit(main())
