import hashlib
import json
from dataclasses import replace

import pytest
from helpers.swept import CARD, SIZES, at_rate, sweep

from smemviz.errors import InputError
from smemviz.frontends.program import digests
from smemviz.frontends.reading import parse_program, read_program
from smemviz.paths import kernels_dir, sweep_for
from smemviz.recordings.sweep import joined, load_sweep, save_sweep, sweep_facts


def test_what_is_written_is_read_again_and_a_point_has_a_line_of_its_own(tmp_path):
    path = tmp_path / "matmul.sweep.json"
    save_sweep(sweep(), path)
    assert load_sweep(path) == sweep()
    lines = [line for line in path.read_text().splitlines() if line.startswith('  {"kernel"')]
    assert len(lines) == len(sweep().points)


def test_a_rate_is_operations_by_time():
    assert at_rate("tiled", SIZES[1], 25e12).rate == pytest.approx(25e12)


def test_points_measured_again_are_replaced_and_the_others_kept():
    again = replace(sweep(), points=(at_rate("tiled", SIZES[0], 30e12), at_rate("tiled", SIZES[0], 9e12, tile=8)))
    both = joined(sweep(), again)
    rates = [p.rate for p in both.points if p.kernel == "tiled" and p.size == SIZES[0]]
    assert rates == pytest.approx([30e12, 9e12])
    assert len(both.points) == len(sweep().points) + 1
    assert [ceiling.name for ceiling in both.ceilings] == [ceiling.name for ceiling in sweep().ceilings]


def test_sweeps_of_one_card_and_the_same_kernels_are_joined():
    one = replace(sweep(), kernels={"tiled": "a"})
    other = replace(one, sha256="1" * 64)
    assert joined(one, other).sha256 == other.sha256
    for strange in (replace(other, kernels={"tiled": "b"}), replace(one, device=replace(CARD, name="another"))):
        with pytest.raises(InputError, match="another card, or of another version"):
            joined(one, strange)
    with pytest.raises(InputError, match="another card, or of another version"):
        joined(sweep(), replace(sweep(), sha256="1" * 64))  # of which no kernels are known


def without(name):
    facts = sweep_facts(sweep())
    del facts["points"][0][name]
    return json.dumps(facts)


def test_what_is_no_sweep_is_refused_in_words(tmp_path):
    for text, problem in [
        ("[]", "its schema is not 1"),
        ('{"schema": 2}', "its schema is not 1"),
        ('{"schema": 1}', "sweep has no file"),
        ("{", "Expecting property name"),
        ("[" * 100_000, "it is nested too deeply"),
        (without("kernel"), r"sweep.points\[0\] has no kernel"),
    ]:
        path = tmp_path / "no.sweep.json"
        path.write_text(text)
        with pytest.raises(InputError, match=rf"no\.sweep\.json: is not a sweep: {problem}.*; run smemviz sweep again"):
            load_sweep(path)


def test_what_comes_with_smemviz_is_of_an_h200_with_cublas_and_every_ceiling():
    path = sweep_for(kernels_dir() / "matmul.py")
    assert path is not None
    found = load_sweep(path)
    assert found.device.name == "NVIDIA H200"
    assert found.library.startswith("cuBLAS")
    assert [one.name for one in found.ceilings] == ["memory copy", "memory read", "L2 read", "shared read", "float32"]
    assert found.notes == ()
    rates = {(p.kernel, p.size.name): p.rate or 0 for p in found.points if p.tile in (None, 32)}
    assert rates["paired_lanes", "4096"] > 0.6 * rates["cuBLAS", "4096"]


def test_a_digest_changes_with_the_kernel_and_with_constants_other_than_the_size():
    program = read_program(kernels_dir() / "matmul.py")
    assert digests(program.with_constants({"M": 7, "TILE": 8})) == digests(program)
    text = program.source.replace("def naive(c, a, b):", "def naive(c, a, b, d=0):")
    changed = digests(parse_program(text, "matmul.py"))
    assert [name for name in changed if changed[name] != digests(program)[name]] == ["naive"]


def test_a_digest_is_of_the_code_alone_whatever_python_reads_it():
    """The tree has other fields in other versions of Python, so that a dump of it would change with the reader."""
    text = (
        "from numba import cuda\n\nSIDE = 4\n\n\n@cuda.jit\ndef copy(out, given):\n"
        "    i = cuda.grid(1)\n    out[i] = given[i]\n\n\ndef main():\n    copy[1, SIDE](None, None)\n"
    )
    said = text.replace("    i = cuda", '    """Copy."""\n    i = cuda').replace("given[i]\n", "given[i]  # as it is\n")
    code = "SIDE = 4\ncopy\ncuda.jit\nout, given\ni = cuda.grid(1)\nout[i] = given[i]"
    digest = hashlib.sha256(code.encode()).hexdigest()[:16]
    assert digests(parse_program(text, "a.py")) == digests(parse_program(said, "a.py")) == {"copy": digest}


def test_a_digest_of_cuda_changes_with_its_kernel_and_not_with_comments():
    text = (kernels_dir() / "matmul.cu").read_text()
    plain = digests(parse_program(text, "matmul.cu"))
    assert digests(parse_program(text.replace("float total = 0;", "float total = 0;  // so far"), "a.cu")) == plain
    changed = digests(parse_program(text.replace("void naive(float *c", "void naive(float *d", 1), "matmul.cu"))
    assert [name for name in changed if changed[name] != plain[name]] == ["naive"]


def test_the_times_that_come_with_smemviz_are_of_the_kernels_that_come_with_it():
    path = kernels_dir() / "matmul.py"
    measured = sweep_for(path)
    assert measured
    assert load_sweep(measured).kernels == digests(read_program(path))
