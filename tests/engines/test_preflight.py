"""Looking at a launch in lockstep before a device makes it: what is found, and what is not looked at."""

import textwrap

import numpy as np
import pytest
from helpers.lockstep_text import HEAD

from smemviz.engines.host import namespace_for
from smemviz.engines.launch_shape import Configuration
from smemviz.engines.lockstep.host.cuda import Cuda
from smemviz.errors import RefusedLaunchError
from smemviz.frontends.numba.python_functions import function_of
from smemviz.frontends.reading import parse_program

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

PAST_THE_END = "out[cuda.grid(1) + 1] = 1"


def made(body):
    """Make a kernel with this body."""
    source = HEAD + "@cuda.jit\ndef kernel(out):\n" + textwrap.indent(textwrap.dedent(body).strip(), "    ") + "\n"
    program = parse_program(source, "f.py")
    namespace = namespace_for("f.py", Cuda("f.py", lambda *launched: None))
    exec(program.code(), namespace)
    return function_of(namespace["kernel"].py_func, program.source, program.tree)


def findings_of(body, *arguments, grid=1, block=32, preflight=None):
    """Look at a launch of a kernel with this body; return its findings."""
    from smemviz.engines.gpu.preflight import Preflight

    configuration = Configuration((grid, 1, 1), (block, 1, 1))
    return (preflight or Preflight()).findings(made(body), configuration, arguments, number=3)


def test_a_mistake_is_found_and_the_arguments_stay_as_they_are():
    out = np.zeros(32, np.int32)

    (finding,) = findings_of(PAST_THE_END, out)

    assert (finding.kind, finding.threads, finding.launch) == ("out_of_bounds", ((31, 0, 0),), 3)
    assert not out.any()


@pytest.mark.parametrize(
    ("body", "safe"),
    [
        pytest.param("out[cuda.grid(1)] = 1", True, id="no mistake"),
        pytest.param("out[0] = cuda.grid(1)\nout[1] = out[0]", True, id="a mistake that harms nobody"),
        pytest.param(PAST_THE_END, False, id="out of bounds"),
        pytest.param("if cuda.grid(1) < 5:\n    cuda.syncthreads()", True, id="a barrier that others end without"),
        pytest.param(
            "if cuda.grid(1) < 5:\n    cuda.syncthreads()\nout[cuda.grid(1)] = 1",
            False,
            id="a barrier that not all reach",
        ),
    ],
)
def test_what_is_timed_may_do_no_harm(body, safe):
    from smemviz.measure.time.python_time import _Careful

    careful = _Careful()
    arguments = (np.zeros(32, np.int32),)
    assert careful.launch(None, made(body), Configuration((1, 1, 1), (32, 1, 1)), arguments) is safe
    assert careful.preflight.seconds > 0


def test_a_launch_without_a_mistake_has_none():
    assert findings_of("out[cuda.grid(1)] = 1", np.zeros(32, np.int32)) == ()


def test_an_array_that_stands_there_twice_is_one():
    from smemviz.engines.gpu.preflight import _on_host

    out = np.zeros(3)
    one, (other, number) = _on_host((out, (out, 5)), {})
    assert one is other
    assert one is not out
    assert number == 5


@pytest.mark.parametrize(
    ("body", "options"),
    [
        pytest.param(PAST_THE_END, {"grid": 65, "block": 1024}, id="too many threads"),
        pytest.param(f"for k in range(1001):\n    out[cuda.grid(1)] = 1\n{PAST_THE_END}", {}, id="too many turns"),
        pytest.param(f"x = out.__class__\n{PAST_THE_END}", {}, id="not executed in lockstep"),
    ],
)
def test_what_is_large_or_not_executed_in_lockstep_is_not_looked_at(body, options):
    assert findings_of(body, np.zeros(32, np.int32), **options) == ()


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(f"for k in range(1001):\n    {PAST_THE_END}", id="too many turns"),
        pytest.param(f"{PAST_THE_END}\nx = out.__class__", id="not executed in lockstep"),
    ],
)
def test_a_mistake_before_lockstep_gives_up_is_told(body):
    (finding,) = findings_of(body, np.zeros(32, np.int32))
    assert (finding.kind, finding.threads) == ("out_of_bounds", ((31, 0, 0),))


def test_looking_prints_nothing(capsys):
    assert findings_of("print(1)\nout[cuda.grid(1)] = 1", np.zeros(32, np.int32)) == ()
    assert capsys.readouterr() == ("", "")


def test_large_arrays_are_not_looked_at():
    text = "out[cuda.grid(1) + 16777217] = 1"
    assert findings_of(text, np.zeros((1 << 24) + 1, np.int32)) == ()
    assert len(findings_of(text, np.zeros(1 << 24, np.int32))) == 1


def test_a_run_looks_for_so_long_and_no_longer(monkeypatch):
    from smemviz.engines.gpu import preflight as module

    preflight = module.Preflight()
    assert len(findings_of(PAST_THE_END, np.zeros(32, np.int32), preflight=preflight)) == 1
    monkeypatch.setattr(module, "MOST_SECONDS", 0.0)
    assert findings_of(PAST_THE_END, np.zeros(32, np.int32), preflight=preflight) == ()


def test_static_memory_that_no_block_has_is_refused():
    text = "tile = cuda.shared.array((64, 200), float64)\ntile[0, 0] = 1"
    with pytest.raises(RefusedLaunchError, match="102400 bytes of static shared memory; a block has 49152"):
        findings_of(text, np.zeros(32, np.int32))
