"""NVRTC in a process of its own, which may die of what it compiles: ``python nvrtc_process.py LIBRARY``.

It is a script that imports nothing but the standard library, so that it starts at once. Each line of its standard input
is a request, each line of its standard output the answer, both JSON; it ends with its standard input, also while it
compiles. Where the system can, its memory is bounded.
"""

import ctypes
import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any


def main() -> None:
    """Answer requests until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python's own handler would wait for the library
    _no_traces()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the library prints is no answer
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(requests,), daemon=True).start()
    try:
        beside = Path(sys.argv[1]).parent
        # It opens these by name; that of CUDA 13.0, which CUDA builds of torch bring, does not look beside itself.
        for part in (*beside.glob("libnvrtc-builtins.so*"), *beside.glob("nvrtc-builtins64*.dll")):
            ctypes.CDLL(str(part))
        library, unloadable = ctypes.CDLL(sys.argv[1]), ""
        library.nvrtcGetErrorString.restype = ctypes.c_char_p
    except OSError as error:
        library, unloadable = None, str(error)
    while True:
        request = json.loads(requests.get())
        _bound(request["bytes"])
        if request["folder"]:
            os.chdir(request["folder"])
        answer = _compiled(library, request) if library else {"unloadable": unloadable}
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


def _read(requests: queue.SimpleQueue[bytes]) -> None:
    """Pass requests on, and end when whoever made them has ended."""
    for line in sys.stdin.buffer:
        requests.put(line)
    os._exit(0)


def _compiled(library: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Return the PTX and the names asked for in it; what is wrong where it does not compile."""
    program = ctypes.c_void_p()
    headers = {name.encode(): _bytes(text) for name, text in request["headers"].items()}
    try:
        _check(library, library.nvrtcCreateProgram(
            ctypes.byref(program), _bytes(request["source"]), request["file"].encode(),
            len(headers), _array(headers.values()), _array(headers),
        ))  # fmt: skip
        names = {name: _bytes(name) for name in request["names"]}
        for name in names.values():
            _check(library, library.nvrtcAddNameExpression(program, name))
        options = [option.encode() for option in request["options"]]
        if result := library.nvrtcCompileProgram(program, len(options), _array(options)):
            log = _text(program, library.nvrtcGetProgramLogSize, library.nvrtcGetProgramLog)
            return {"log": log.strip() or library.nvrtcGetErrorString(result).decode()}
        lowered = {}
        for name, expression in names.items():
            symbol = ctypes.c_char_p()
            _check(library, library.nvrtcGetLoweredName(program, expression, ctypes.byref(symbol)))
            lowered[name] = (symbol.value or b"").decode()
        return {"ptx": _text(program, library.nvrtcGetPTXSize, library.nvrtcGetPTX), "names": lowered}
    except _RefusedError as error:
        return {"log": str(error)}
    except MemoryError:
        return {"log": "out of memory"}
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


class _RefusedError(Exception):
    """What the library refuses."""


def _check(library: Any, result: int) -> None:
    if result:
        raise _RefusedError(library.nvrtcGetErrorString(result).decode())


def _array(values: Any) -> Any:
    return (ctypes.c_char_p * len(values))(*values)


def _bytes(text: str) -> bytes:
    return text.encode(errors="replace")


def _text(program: ctypes.c_void_p, size: Callable[..., int], fill: Callable[..., int]) -> str:
    length = ctypes.c_size_t()
    size(program, ctypes.byref(length))
    text = ctypes.create_string_buffer(length.value)
    fill(program, text)
    return text.value.decode(errors="replace")


def _no_traces() -> None:
    """Leave neither a core file nor a window behind where the library crashes."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.SetErrorMode(msvcrt.SEM_FAILCRITICALERRORS | msvcrt.SEM_NOGPFAULTERRORBOX)
    else:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _bound(size: int) -> None:
    """Bound the memory of the next compilation, beyond what is mapped already; Linux alone tells how much that is."""
    if sys.platform == "linux":
        import resource

        mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        most, hard = mapped + size, resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


if __name__ == "__main__":
    main()
