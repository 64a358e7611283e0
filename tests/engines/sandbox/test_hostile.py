"""What the editor's process does with texts that mean harm: one line, within its time, and the next text runs."""

import signal
import sys
import threading
import time
from contextlib import closing

import pytest
from helpers.hostile import CATCHING, ESCAPES, GREEDY, ODD
from helpers.tiers import one_in

from smemviz.engines.sandbox import SandboxLimits, Supervisor, run_text
from smemviz.engines.sandbox import supervisor as supervisor_module
from smemviz.errors import SmemvizError

_SECONDS = 1.0  # for what ends by the clock; all else meets another limit first, however busy the machine
_PATIENT_SECONDS = 60.0
_SPARE_SECONDS = 60.0  # a busy machine takes its time to start a process


@pytest.fixture(scope="module")
def supervisor():
    made = Supervisor(SandboxLimits(seconds=_PATIENT_SECONDS))
    yield made
    made.close()


def test_there_are_fifty_hostile_texts_and_more():
    assert len(ESCAPES) + len(GREEDY) >= 50


def test_no_escape_is_part_of_the_language():
    for hostile in ESCAPES:
        with pytest.raises(SmemvizError) as caught:
            run_text(hostile.source)
        assert hostile.says in str(caught.value)


@pytest.mark.parametrize("hostile", [*one_in(12, ESCAPES), *one_in(4, GREEDY)], ids=lambda one: one.name)
def test_a_hostile_text_gets_one_line_and_no_further(hostile, supervisor):
    seconds = _SECONDS if hostile.endless else _PATIENT_SECONDS
    supervisor.limits = SandboxLimits(seconds=seconds)
    began = time.monotonic()
    try:
        ran = supervisor.run(hostile.source)
    except SmemvizError as error:
        said = str(error)
    else:  # it launched something first: what ended it is a finding
        assert ran.recording.findings, "it ran as if nothing were wrong"
        said = ran.recording.findings[0].message
    assert time.monotonic() - began < seconds + _SPARE_SECONDS
    assert "\n" not in said
    assert hostile.says in said


def test_what_a_text_may_catch_is_no_way_round_a_limit():
    for hostile in CATCHING:
        with pytest.raises(SmemvizError) as caught:
            run_text(hostile.source, limits=SandboxLimits(steps=2_000))
        assert "\n" not in str(caught.value)
        assert hostile.says in str(caught.value)


def test_a_slip_gets_one_line():
    for odd in ODD:
        with pytest.raises(SmemvizError) as caught:
            run_text(odd.source)
        assert "\n" not in str(caught.value)
        assert odd.says in str(caught.value)


HARMLESS = (
    "import numpy as np\nfrom numba import cuda\n\n@cuda.jit\ndef k(a):\n    a[0] = 1.0\n\n"
    "def main():\n    k[1, 32](np.zeros(1))\n"
)


def test_the_server_lives_on_after_them(supervisor):
    supervisor.limits = SandboxLimits(seconds=_PATIENT_SECONDS)
    assert supervisor.run(HARMLESS).recording.launches[0].kernel == "k"


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform != "linux", reason="no other system tells how long a process had a processor")
@pytest.mark.parametrize("comes", [True, False])
def test_a_run_that_gets_no_processor_is_waited_for_a_while(comes, monkeypatch):
    monkeypatch.setattr(supervisor_module, "_STARVED", 100 if comes else 2)
    supervisor = Supervisor(SandboxLimits(seconds=0.5))
    with closing(supervisor):
        supervisor.warm()
        (worker,) = supervisor._all
        assert worker.ready.wait(_SPARE_SECONDS)
        worker.process.send_signal(signal.SIGSTOP)  # as if others had all processors
        if comes:
            threading.Timer(1.0, worker.process.send_signal, [signal.SIGCONT]).start()
            assert supervisor.run(HARMLESS).recording.launches[0].kernel == "k"
        else:
            with pytest.raises(SmemvizError, match=r"stopped after 0\.5 s"):
                supervisor.run(HARMLESS)
