"""What is said where an extension takes the whole process down, with all that it recorded: at which line that was."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import subprocess
import sys
from collections.abc import Iterator

# It ends with this process, whose last words it reads: a process that has crashed can say nothing itself.
_WATCHER = r"""
import re, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
name, what, place = sys.argv[1], None, None
for line in sys.stdin:
    if line == "done\n":
        raise SystemExit
    what = what or re.match("Fatal Python error: (.*)", line)
    place = re.match(f' *File "{re.escape(name)}", line ([0-9]+)', line)
    if what and place:
        break
if what:
    line = f":{place[1]}" if place else ""
    print(f"smemviz: {name}{line}: the process ended here ({what[1]}); what was recorded is lost", file=sys.stderr)
"""


@contextlib.contextmanager
def crash_told(file: str) -> Iterator[None]:
    """Have a crash meanwhile told in a line that names the innermost line of ``file``.

    Whoever has switched on Python's own faulthandler, as pytest does, is told by that.
    """
    if faulthandler.is_enabled() or sys.platform == "win32":
        yield
        return
    reading, writing = os.pipe()
    command = [sys.executable, "-I", "-S", "-c", _WATCHER, file]
    try:
        watcher = subprocess.Popen(command, stdin=reading, stdout=subprocess.DEVNULL)
    except OSError:  # no process may be started, for instance
        os.close(writing)
        yield
        return
    finally:
        os.close(reading)
    faulthandler.enable(writing, all_threads=False)
    try:
        yield
    finally:
        faulthandler.disable()
        with contextlib.suppress(OSError):  # the user's code may have closed it
            os.write(writing, b"done\n")  # a process that was forked meanwhile may keep it open
            os.close(writing)
        watcher.wait()
