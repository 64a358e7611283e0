"""On a real GPU: mistakes are found before a launch happens, and one that may do harm does not happen."""

import pytest

from smemviz.paths import kernels_dir

pytestmark = pytest.mark.gpu

NOT_RUN = " It was not run on the GPU."


@pytest.mark.parametrize("file", ["mistakes.py", "mistakes.cu"])
def test_the_file_of_mistakes_gives_the_findings_of_lockstep_and_does_no_harm(file):
    import smemviz

    path = kernels_dir() / file
    seen = smemviz.run(path, engine="gpu")
    predicted = smemviz.run(path, engine="lockstep")

    assert [launch.kernel for launch in seen.launches] == [
        "block_smaller_than_tile",
        "corner_of_each_tile",
        "no_second_barrier",
        "count_without_atomic",
    ]
    facts = [(f.kind, f.kernel, f.line, f.block, f.threads) for f in seen.findings]
    assert facts == [(f.kind, f.kernel, f.line, f.block, f.threads) for f in predicted.findings]
    for finding in seen.findings:
        if finding.kind == "launch_refused":
            assert finding.launch is None
        elif finding.kind in ("out_of_bounds", "barrier_divergence") or finding.kernel == "store_past_the_edge":
            assert finding.launch is None
            assert finding.message.endswith(NOT_RUN)
        else:
            assert seen.launches[finding.launch].kernel == finding.kernel
    after = smemviz.run(kernels_dir() / "square.py", engine="gpu")  # the device is as good as before
    assert (after.findings, len(after.launches)) == ((), 6)


@pytest.mark.parametrize("name", ["square", "reverse", "transpose", "reduce", "histogram"])
def test_kernels_without_a_mistake_have_no_finding(name):
    import smemviz

    assert smemviz.run(kernels_dir() / f"{name}.py", engine="gpu").findings == ()
