"""``%load_ext smemviz`` and ``%%smemviz`` in IPython."""

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from smemviz.recordings.recording import Recording

KERNEL = """\
import numpy as np
from numba import cuda
@cuda.jit
def twice(a):
    tile = cuda.shared.array(64, np.int32)
    i = cuda.threadIdx.x
    tile[2 * i] = a[i]
    a[i] = 2 * tile[2 * i]
"""
LAUNCH = "numbers = np.arange(32, dtype=np.int32)\ntwice[1, 32](numbers)"


@pytest.fixture
def shell(tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    made = InteractiveShell.instance(config=config)
    assert made.run_cell("%load_ext smemviz").success
    assert made.run_cell(KERNEL).success
    yield made
    InteractiveShell.clear_instance()


def test_a_cell_is_run_recorded_and_shown(shell, capsys):
    shell.run_cell(f"%%smemviz mine --engine lockstep\n{LAUNCH}")
    assert "by lockstep: 1 launch of twice>" in capsys.readouterr().out  # which a notebook shows as HTML
    shown = shell.user_ns["mine"]
    assert isinstance(shown, Recording)
    assert shell.user_ns["numbers"].tolist() == [2 * i for i in range(32)]
    assert [(site.source, site.wavefronts) for site in shown["twice"].sites if site.is_shared] == [
        ("tile[2 * i]", 2),
        ("tile[2 * i]", 2),
    ]


def test_what_is_recorded_can_be_chosen(shell):
    shell.run_cell(f"%%smemviz mine --engine lockstep --max-launches 1\n{LAUNCH}\ntwice[2, 32](numbers)")
    shown = shell.user_ns["mine"]
    assert [launch.grid for launch in shown] == [(1, 1, 1)]
    assert shown.unrecorded == 1


@pytest.mark.parametrize(
    ("line", "cell", "says"),
    [
        ("", "x = 1", "smemviz: the cell launched no kernel; launch one in it, kernel[grid, block](...)"),
        ("--all", LAUNCH, "smemviz: %%smemviz: unrecognized arguments: --all; %%smemviz? says what there is"),
        ("--kernel nine", LAUNCH, "smemviz: no launch of nine; the run launched twice"),
    ],
)
def test_what_cannot_be_recorded_is_told_in_a_line(shell, line, cell, says, capsys):
    shell.run_cell(f"%%smemviz {line}\n{cell}")
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"{says}\n")


def test_a_cell_that_fails_fails_as_ever_and_keeps_what_it_launched(shell, capsys):
    shell.run_cell(f"%%smemviz mine\n{LAUNCH}\n1 / 0")
    assert len(shell.user_ns["mine"]) == 1
    shell.run_cell("%%smemviz\n1 / 0")
    assert capsys.readouterr().out.count("ZeroDivisionError: division by zero") == 2
