"""What tests of servers and of processes need: ports, sockets, and whether a process runs."""

from __future__ import annotations

import socket
import subprocess
import time

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


def alive(pid: int) -> bool:
    """Tell whether a process runs; one that ended and was not collected yet does not."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(state.strip()) and not state.startswith("Z")
