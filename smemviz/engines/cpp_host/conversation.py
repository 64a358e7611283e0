"""The requests of a program, answered one after the other, and what it prints between them."""

import codecs
import os
import selectors
import socket
import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from time import monotonic
from typing import TextIO, cast

import numpy as np

from smemviz.engines.cpp_host.libraries import Libraries
from smemviz.engines.cpp_host.memory import MOST_BYTES
from smemviz.engines.cpp_host.program_launches import INVALID_VALUE, Asked, Launches, entry_shared
from smemviz.engines.launch_shape import Configuration
from smemviz.engines.options import Progress
from smemviz.errors import KernelFileError, UnsupportedError
from smemviz.messages import english

_HEAD = struct.Struct("<QQ")  # of a request: its kind, and how many bytes follow
_REPLY = struct.Struct("<qQ")
_MOST_KEPT = 1 << 16  # characters of what a program prints
_TURN_SECONDS = 1.0  # after which whoever waits is told that the program still runs


class Output:
    """Prints what a program prints on a screen, and keeps the beginning of it."""

    def __init__(self, screen: TextIO | None = None) -> None:
        self.kept = ""
        self._screen = screen or sys.stdout

    def write(self, text: str) -> None:
        """Print a part."""
        self._screen.write(text)
        self.kept += text[: _MOST_KEPT - len(self.kept)]

    def flush(self) -> None:
        """Have all that was printed be seen."""
        self._screen.flush()


class Conversation:
    """Answers a program that was started with the other end of ``channel``, until it ends."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        channel: socket.socket,
        launches: Launches,
        main: tuple[str, int],
        progress: Progress | None,
        output: Output,
    ) -> None:
        self._process, self._channel, self._launches, self._main = process, channel, launches, main
        self._memory = launches.memory
        self._libraries = Libraries(launches.memory)
        self._progress = progress
        self._output = output
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._answers: dict[int, Callable[[memoryview], tuple[int, bytes | memoryview]]] = {
            1: self._allocate, 2: self._share, 3: self._release, 4: self._write, 5: self._read, 6: self._copy,
            7: self._fill, 8: self._launch, 9: self._variable, 10: self._function, 11: self._missing,
            12: self._library,
        }  # fmt: skip

    def hold(self) -> None:
        """Answer until the program ends.

        Raises:
            KernelFileError: when a kernel does not compile, or it calls what is not here.
            UnsupportedError: for a kernel that is not executed in lockstep.
        """
        assert self._process.stdout is not None
        output = self._process.stdout.fileno()
        os.set_blocking(output, False)
        with selectors.DefaultSelector() as selector:
            selector.register(output, selectors.EVENT_READ)
            selector.register(self._channel, selectors.EVENT_READ)
            told = monotonic()
            while True:
                ready = {key.fd for key, _ in selector.select(_TURN_SECONDS)}
                self._print(output)
                if self._channel.fileno() in ready and not self._answer():
                    break
                if self._progress is not None and monotonic() - told > _TURN_SECONDS:
                    told = monotonic()
                    self._progress(0, 1, "main()")
        self._process.wait()
        os.set_blocking(output, True)
        self._print(output)

    def _print(self, output: int) -> None:
        while True:
            try:
                part = os.read(output, 1 << 16)
            except BlockingIOError:
                return
            self._output.write(self._decode(part, final=not part))
            if not part:
                break
        sys.stdout.flush()

    def _answer(self) -> bool:
        """Answer one request; False where there are no more."""
        head = self._taken(_HEAD.size)
        if head is None:
            return False
        kind, size = _HEAD.unpack(head)
        if kind == 4:  # straight to where it goes
            return self._answer_write(size)
        request = self._taken(size)
        if request is None:
            return False
        number, data = self._answers[kind](request)
        sys.stdout.flush()
        return self._given(number, data)

    def _given(self, number: int, data: bytes | memoryview = b"") -> bool:
        try:
            self._channel.sendall(_REPLY.pack(number, len(data)))
            self._channel.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

    def _answer_write(self, size: int) -> bool:
        head = self._taken(8)
        if head is None:
            return False
        (address,) = struct.unpack("<Q", head)
        place = self._memory.bytes_at(address, size - 8, written=True)
        error = INVALID_VALUE if place is None else 0
        into = memoryview(bytearray(size - 8)) if place is None else memoryview(place.data)
        return self._filled(into) and self._given(error)

    def _taken(self, size: int) -> memoryview | None:
        into = memoryview(bytearray(size))
        return into if self._filled(into) else None

    def _filled(self, into: memoryview) -> bool:
        """Fill a buffer from the channel; False where the program has ended before."""
        while len(into):
            try:
                count = self._channel.recv_into(into)
            except ConnectionResetError:
                return False
            if not count:
                return False
            into = into[count:]
        return True

    # -- one for each kind of request: its bytes in, a number and bytes out

    def _allocate(self, request: memoryview) -> tuple[int, bytes]:
        (nbytes,) = struct.unpack("<Q", request)
        if nbytes > MOST_BYTES:
            what = english(
                "asks for {nbytes:,} bytes of device memory at once; lockstep gives {most:,} at most. Make it smaller.",
                nbytes=nbytes,
                most=MOST_BYTES,
            )
            raise UnsupportedError(*self._main, what)
        return self._memory.allocate("", nbytes), b""

    def _share(self, request: memoryview) -> tuple[int, bytes]:
        nbytes, pinned = struct.unpack("<QQ", request)
        start, path = self._memory.share(nbytes, pinned=bool(pinned))
        return start, str(path).encode() + b"\0"

    def _release(self, request: memoryview) -> tuple[int, bytes]:
        return 0 if self._memory.release(*struct.unpack("<Q", request)) else INVALID_VALUE, b""

    def _write(self, request: memoryview) -> tuple[int, bytes]:
        raise AssertionError("a write is answered where it is read")

    def _read(self, request: memoryview) -> tuple[int, bytes | memoryview]:
        found = self._memory.bytes_at(*struct.unpack("<QQ", request))
        return (INVALID_VALUE, b"") if found is None else (0, found.data)

    def _copy(self, request: memoryview) -> tuple[int, bytes]:
        to, source, nbytes = struct.unpack("<QQQ", request)
        copied = self._memory.bytes_at(source, nbytes)
        into = self._memory.bytes_at(to, nbytes, written=True)
        if copied is None or into is None:
            return INVALID_VALUE, b""
        into[:] = copied.copy()
        return 0, b""

    def _fill(self, request: memoryview) -> tuple[int, bytes]:
        to, byte, nbytes = struct.unpack("<QQQ", request)
        into = self._memory.bytes_at(to, nbytes, written=True)
        if into is None:
            return INVALID_VALUE, b""
        into[:] = np.uint8(byte)
        return 0, b""

    def _variable(self, request: memoryview) -> tuple[int, bytes]:
        name, initial = _text(request)
        return self._memory.variable(name, bytes(initial)), b""

    def _function(self, request: memoryview) -> tuple[int, bytes]:
        name, rest = _text(request)
        mangled, _ = _text(rest)
        return 0, struct.pack("<qqq", entry_shared(self._launches.entry(name, mangled, self._main)), 0, 0)

    def _launch(self, request: memoryview) -> tuple[int, bytes]:
        name, rest = _text(request)
        mangled, rest = _text(rest)
        file, rest = _text(rest)
        line, gx, gy, gz, bx, by, bz, leave, cooperative, *cluster, count, shared = struct.unpack_from("<13IQ", rest)
        at, parameters = struct.calcsize("<13IQ"), list[bytes]()
        for _ in range(count):
            (size,) = struct.unpack_from("<Q", rest, at)
            parameters.append(bytes(rest[at + 8 : at + 8 + size]))
            at += 8 + size
        place = (file, line) if file else self._main
        of_launch = (cluster[0], cluster[1], cluster[2]) if all(cluster) else None
        shape = Configuration((gx, gy, gz), (bx, by, bz), 0, shared, of_launch)
        asked = Asked(name, mangled, place, shape, leave, bool(cooperative), tuple(parameters))
        with redirect_stdout(cast(TextIO, self._output)):  # what kernels print is the program's, too
            return self._launches.launch(asked), b""

    def _library(self, request: memoryview) -> tuple[int, bytes]:
        name, numbers = _text(request)
        status, result = self._libraries.call(name, np.frombuffer(bytes(numbers), np.float64))
        return status, struct.pack("<d", result)

    def _missing(self, request: memoryview) -> tuple[int, bytes]:
        name, _ = _text(request)
        what = english("its host code calls {name}(), which is missing here; {remedy}", name=name, remedy=_remedy())
        raise KernelFileError(*self._main, what)


def _remedy() -> str:
    how = "// smemviz: kernel<<<grid, block>>>(...)"
    return english("leave it out, or write the launches in comments: {how}", how=how)


def _text(request: memoryview) -> tuple[str, memoryview]:
    data = bytes(request)
    end = data.index(b"\0")
    return data[:end].decode(errors="replace"), request[end + 1 :]
