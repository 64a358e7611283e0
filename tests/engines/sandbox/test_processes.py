"""Processes that run texts are forked where that can be, and started by themselves elsewhere."""

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from helpers.servers import alive, until

from smemviz.engines.sandbox import SandboxLimits, Supervisor
from smemviz.engines.sandbox import supervisor as supervisor_module
from smemviz.engines.sandbox.processes import Forked, can_fork
from smemviz.errors import SmemvizError

_TEXT = (
    "import numpy as np\nfrom numba import cuda\n\n@cuda.jit\ndef k(a):\n    a[0] = 1.0\n\n"
    "def main():\n    k[1, 32](np.zeros(1))\n    print(np.random.default_rng().random())\n"
)
_ENDLESS = _TEXT + "    for i in range(10_000):\n        np.ones(8_000_000)\n"
_LONGEST = 60.0

forking = pytest.mark.skipif(not can_fork(), reason="this system cannot hold processes by descriptors")


@forking
def test_each_run_has_a_process_of_its_own_from_the_same_one():
    with closing(Supervisor()) as supervisor:
        printed, forks = [], []
        for _ in range(3):
            printed.append(supervisor.run(_TEXT).printed)
            forks.append(supervisor._forks)
    assert len(set(printed)) == 3  # each takes its random numbers from the system
    assert forks[0] is forks[1] is forks[2] is not None


@pytest.mark.exhaustive
@forking
def test_a_process_holds_nothing_of_the_one_that_it_was_forked_from():
    with closing(Supervisor()) as supervisor:
        supervisor.warm()
        (worker,) = supervisor._all
        assert worker.ready.wait(_LONGEST)
        assert isinstance(worker.process, Forked)
        folder = Path(f"/proc/{worker.process.pid}/fd")
        sockets = {os.readlink(file) for file in folder.iterdir() if os.readlink(file).startswith("socket:")}
        assert sockets == {os.readlink(folder / "0")} == {os.readlink(folder / "1")}
        assert os.getsid(worker.process.pid) == worker.process.pid


@pytest.mark.exhaustive
@forking
def test_when_the_one_to_fork_from_was_killed_there_is_another():
    with closing(Supervisor()) as supervisor:
        supervisor.run(_TEXT)
        first = supervisor._forks
        first._process.kill()
        first._process.wait()
        for _ in range(2):  # one was forked ahead
            assert supervisor.run(_TEXT).recording.launches[0].kernel == "k"
        assert supervisor._forks is not first


@pytest.mark.exhaustive
@forking
def test_what_was_forked_is_ended_by_its_limit_and_with_the_supervisor():
    with closing(Supervisor(SandboxLimits(seconds=0.5))) as supervisor:
        supervisor.warm()
        (worker,) = supervisor._all
        assert worker.ready.wait(_LONGEST)
        with pytest.raises(SmemvizError, match=r"stopped after 0\.5 s|more time or memory"):
            supervisor.run(_ENDLESS)
        assert worker.process.poll() == 0
        until(lambda: all(ahead.ready.is_set() for ahead in supervisor._all))
        processes = [ahead.process.pid for ahead in supervisor._all]
        assert processes
    assert not any(map(alive, processes))


@pytest.mark.exhaustive
def test_where_none_can_be_forked_each_is_started(monkeypatch):
    monkeypatch.setattr(supervisor_module, "can_fork", lambda: False)
    with closing(Supervisor()) as supervisor:
        supervisor.warm()
        (worker,) = supervisor._all
        assert isinstance(worker.process, subprocess.Popen)
        assert supervisor.run(_TEXT).recording.launches[0].kernel == "k"
        assert worker.process.poll() is not None


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_process_that_was_killed_while_it_waited_is_replaced():
    with closing(Supervisor()) as supervisor:
        supervisor.warm()
        (worker,) = supervisor._all
        assert worker.ready.wait(_LONGEST)
        worker.process.send_signal(signal.SIGKILL)
        until(lambda: worker.process.poll() is not None)
        assert supervisor.run(_TEXT).recording.launches[0].kernel == "k"
