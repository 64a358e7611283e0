"""What ends a command, as the one line that it leaves on standard error and as its exit code."""

from __future__ import annotations

import errno
import os
import sys

from smemviz.errors import InputError, MissingError, SmemvizError
from smemviz.faults import DEBUG, fault
from smemviz.printable import one_line

FAILED = 4
BROKEN_PIPE = 141  # as a shell reports SIGPIPE
_OF_OUTPUT = (errno.EPIPE, errno.EINVAL, errno.ENOSPC, errno.EIO, errno.EFBIG)


def fail(message: str, code: int) -> int:
    """Leave a line, and return the exit code."""
    print(one_line(f"smemviz: {message}"), file=sys.stderr)
    return code


def fail_with(error: BaseException) -> int:
    """Say what ended a command; raises it again where whoever runs it wants to see where it came from."""
    if isinstance(error, SmemvizError):
        return fail(str(error), error.exit_code)
    if isinstance(error, MemoryError):
        return fail("this machine has not enough memory for that", MissingError.exit_code)
    if isinstance(error, OSError):
        return _refused(error)
    if isinstance(error, ImportError):  # of a library, which lacks memory or a part of its own
        return fail(f"this machine cannot load what that needs: {error}", MissingError.exit_code)
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return fail("this machine gives no more threads", MissingError.exit_code)
    if os.environ.get(DEBUG):
        raise error
    return fail(fault(error), FAILED)


def _refused(error: OSError) -> int:
    """Say why standard output cannot be written, or what else the system refused; commands name files themselves."""
    if error.filename is not None or error.errno not in _OF_OUTPUT:
        return fail(f"the system refused something: {error}", MissingError.exit_code)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # where the interpreter's last flush goes
    if error.errno in (errno.EPIPE, errno.EINVAL):  # whoever read our output has left; EINVAL on Windows
        return BROKEN_PIPE
    return fail(f"standard output cannot be written: {error.strerror}", InputError.exit_code)
