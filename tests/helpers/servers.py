"""What tests of servers and of processes need: ports, sockets, and whether a process runs."""

import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

LONGEST = 60  # s; what waits for ever fails after that


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def received(connection: socket.socket) -> bytes:
    """Return all that comes until the other end closes."""
    connection.settimeout(LONGEST)
    return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def drip(connection: socket.socket) -> None:
    """Send a letter now and then, as long as the other end takes any."""
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        connection.sendall(b"G")
        time.sleep(0.05)


def until(holds: Callable[[], object]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + LONGEST
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def alive(pid: int) -> bool:
    """Tell whether a process runs; one that ended and was not collected yet does not."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(state.strip()) and not state.startswith("Z")


def children(process: int) -> set[int]:
    """Return the processes that a process started, where there is a /proc."""
    return set(map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split()))


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Start ``smemviz serve`` on a free port; yields its process and the port."""
    command = [sys.executable, "-m", "smemviz", "serve", "--port", str(free_port()), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = re.search(r":(\d+)", process.stdout.readline())
        assert found is not None
        try:
            yield process, int(found[1])
        finally:
            process.terminate()
            process.communicate(timeout=LONGEST)
