"""The page of a script: it is run in a process of its own, with the values of its constants, and says what fails."""

import os
import threading
import time

import pytest

from smemviz.app.library import Library, Started
from smemviz.app.pages.kernel.run_view import view_run
from smemviz.app.state import RunState
from smemviz.app.time_limit import StoppedError
from smemviz.errors import KernelFileError

SCRIPT = """
import os
import sys
import numpy as np
from numba import cuda, float32

PITCH = 32

@cuda.jit
def column(out):
    tile = cuda.shared.array((32, PITCH), float32)
    tile[cuda.threadIdx.x, 0] = 1
    cuda.syncthreads()
    out[cuda.threadIdx.x] = tile[cuda.threadIdx.x, 0]

for word in sys.argv[1:]:
    column[int(word), 32](np.zeros(32, np.float32))
os.chdir("/")
print("printed")
"""


def of(folder, text=SCRIPT, *arguments, options=()):
    """Return a library with a script that is started with arguments."""
    path = folder / "mine.py"
    path.write_text(text)
    return Library([path], started=Started(arguments=arguments, script_options=options))


def test_a_script_is_run_with_its_arguments_and_constants_and_leaves_the_server_as_it_was(tmp_path, capfd):
    here, library = os.getcwd(), of(tmp_path, SCRIPT, "1", "2")
    shown = library.show(RunState("mine", constants={"PITCH": "33"}))
    assert [launch.grid for launch in shown.recording] == [(1, 1, 1), (2, 1, 1)]
    assert shown.recording["column"].summary()[0].wavefronts == 1  # 32 with the PITCH that it has
    assert view_run(library, {"file": "mine", "PITCH": "33"})["eyebrow.html"][0] == "mine.py"
    assert os.getcwd() == here
    assert capfd.readouterr().out == ""


@pytest.mark.exhaustive
def test_options_of_a_run_are_those_of_the_command_line(tmp_path):
    recording = of(tmp_path, SCRIPT, "1", "2", options=("--max-launches", "1")).show(RunState("mine")).recording
    assert (len(recording.launches), recording.unrecorded) == (1, 1)


@pytest.mark.exhaustive
def test_what_fails_is_said_with_its_line(tmp_path):
    with pytest.raises(KernelFileError, match="'two'") as refused:
        of(tmp_path, SCRIPT, "two").show(RunState("mine"))
    assert refused.value.line == 17


@pytest.mark.exhaustive
def test_it_is_ended_when_it_is_stopped(tmp_path):
    started = tmp_path / "started"
    library = of(tmp_path, f"import time, pathlib\npathlib.Path({str(started)!r}).touch()\ntime.sleep(600)\n")

    def stop():
        while not started.exists():
            time.sleep(0.02)
        library.stop()

    threading.Thread(target=stop).start()
    with pytest.raises(StoppedError, match="was stopped"):
        library.show(RunState("mine"))
