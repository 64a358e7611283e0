"""What Linux keeps a process from: files but those of Python and smemviz (Landlock), network and programs (seccomp).

Both hold for the process that asks for them, for good, and need no privilege. Numbers: ``linux/landlock.h``,
``linux/seccomp.h``, ``linux/bpf_common.h`` and the tables of system calls of the two kinds of machines.
"""

import ctypes
import os
import platform
import struct
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_NO_NEW_PRIVILEGES, _GET_SECCOMP = 38, 21  # of prctl
_EPERM = 1

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION = 1
_BENEATH = 1
_LIBRARIES = tuple(map(Path, ("/lib", "/lib64", "/usr/lib", "/usr/lib64")))
_PACKAGES = ("numpy", "numba", "llvmlite")  # which load parts of theirs when they are needed
_READ = 0b1100  # a file, and a folder
# How many rights over files each version knows, of which all are taken; with 4 come two over TCP, with 6 two scopes.
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}

_SET_FILTER, _ALL_THREADS = 1, 1
_LOAD, _IS, _IS_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | _EPERM
_OTHER_ABI = 0x40000000  # x32's, where the same calls have other numbers

# The system calls that are refused, by machine.
_X86_64 = """
socket=41 connect=42 bind=49 socketpair=53 fork=57 vfork=58 execve=59 kill=62 ptrace=101 mount=165 unshare=272
open_by_handle_at=304 process_vm_readv=310 process_vm_writev=311 bpf=321 execveat=322 io_uring_setup=425
"""
_AARCH64 = """
mount=40 unshare=97 ptrace=117 kill=129 socket=198 socketpair=199 bind=200 connect=203 execve=221
open_by_handle_at=265 process_vm_readv=270 process_vm_writev=271 bpf=280 execveat=281 io_uring_setup=425
"""
# By machine: what it is called in a filter, the call that sets one, and what is refused.
_SECCOMP = {"x86_64": (0xC000003E, 317, _X86_64), "aarch64": (0xC00000B7, 277, _AARCH64)}


@cache
def lacking() -> tuple[str, ...]:
    """Say what this system does not keep a process from."""
    lacks = []
    if _landlock_version() < 1:
        lacks.append("files (Landlock)")
    if sys.platform != "linux" or platform.machine() not in _SECCOMP or _libc().prctl(_GET_SECCOMP, 0, 0, 0, 0) < 0:
        lacks.append("network (seccomp)")
    return tuple(lacks)


def confine() -> None:
    """Give up, as far as the system can, all files but those that Python and smemviz are read from, and the network.

    Raises:
        OSError: when the system can, and did not.
    """
    if sys.platform != "linux":
        return
    _checked(_libc().prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    if _landlock_version() >= 1:
        _give_up_files(_landlock_version())
    if platform.machine() in _SECCOMP and _libc().prctl(_GET_SECCOMP, 0, 0, 0, 0) >= 0:
        _give_up_calls(*_SECCOMP[platform.machine()])


def readable() -> list[Path]:
    """Return the folders that a run may have to read: the standard library, the packages, this one and the system's.

    The last are its libraries: a large launch is counted by compiled code, which is loaded when it is needed. Packages
    may lie outside the environment: in the user's own folder of them, or where ``PYTHONPATH`` points.
    """
    folders = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    specs = (find_spec(name) for name in _PACKAGES)
    elsewhere = (Path(spec.origin).resolve().parents[1] for spec in specs if spec and spec.origin)
    package = Path(__file__).resolve().parents[2]
    paths = dict.fromkeys((*map(Path, filter(None, folders)), *elsewhere, package, *_LIBRARIES))
    return [path for path in paths if path.is_dir()]


def _give_up_files(version: int) -> None:
    files = (1 << _FILE_RIGHTS.get(version, 16)) - 1
    rights = struct.pack("QQQ", files, 0b11 if version >= 4 else 0, 0b11 if version >= 6 else 0)
    rights = rights[: 24 if version >= 6 else 16 if version >= 4 else 8]
    with _descriptor(_call(_CREATE_RULESET, rights, len(rights), 0)) as ruleset:
        for path in readable():
            with _descriptor(os.open(path, os.O_PATH | os.O_CLOEXEC)) as folder:
                _call(_ADD_RULE, ruleset, _BENEATH, struct.pack("=Qi", _READ, folder), 0)
        _call(_RESTRICT_SELF, ruleset, 0)


def _give_up_calls(machine: int, call: int, refused: str) -> None:
    steps = _filter(machine, sorted(int(word.partition("=")[2]) for word in refused.split()))
    program = b"".join(struct.pack("HBBI", *step) for step in steps)
    buffer = ctypes.create_string_buffer(program, len(program))
    _call(call, _SET_FILTER, _ALL_THREADS, struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(buffer)))


def _filter(machine: int, numbers: list[int]) -> list[tuple[int, int, int, int]]:
    """Write the filter: an operation, how many to skip where it holds and where it does not, and its value."""
    refusal = len(numbers) + 5  # the last one, after what is allowed
    comparisons = [(_IS_AT_LEAST, _OTHER_ABI), *((_IS, number) for number in numbers)]
    return [
        (_LOAD, 0, 0, 4),  # the machine
        (_IS, 0, refusal - 2, machine),
        (_LOAD, 0, 0, 0),  # the number of the call
        *((code, refusal - at - 1, 0, value) for at, (code, value) in enumerate(comparisons, 3)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]


@cache
def _landlock_version() -> int:
    if sys.platform != "linux":
        return 0
    return max(int(_libc().syscall(_CREATE_RULESET, None, 0, _VERSION)), 0)


@contextmanager
def _descriptor(number: int) -> Iterator[int]:
    try:
        yield number
    finally:
        os.close(number)


def _call(number: int, *arguments: int | bytes) -> int:
    """Make a system call.

    Raises:
        OSError: when it is refused.
    """
    return _checked(_libc().syscall(number, *arguments))


def _checked(result: int) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"the system does not confine runs: {os.strerror(error)}")
    return result


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
