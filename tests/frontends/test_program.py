"""A kernel file as data: constants are knobs, mistakes are one line that names the place."""

import ast
import os
from dataclasses import replace
from pathlib import Path

import pytest

from smemviz.errors import ConstantError, InputError, KernelFileError
from smemviz.frontends.numba.python_program import PythonProgram
from smemviz.frontends.reading import parse_program, read_program

SOURCE = """\
import math
from numba import cuda, float32

WIDTH = 64
HALF = WIDTH // 2
BLOCKS = math.ceil(WIDTH / 48)
SCALE: float = 1.5
DTYPE = float32
FAST = True
SHAPE = (WIDTH, HALF)
NAME = "text"
lower = 3


@cuda.jit(device=True)
def twice(x):
    return 2 * x


@cuda.jit
def kernel(out):
    out[0] = twice(WIDTH)


def main():
    seen.append((WIDTH, HALF, BLOCKS, SCALE, DTYPE, FAST, SHAPE))
"""


def program():
    return parse_program(SOURCE, "kernels/mine.py")


def run_main(program):
    seen = []
    namespace = {"seen": seen, "__smemviz_dtype__": lambda name: f"numba {name}"}
    exec(program.code(), namespace)
    namespace["main"]()
    return seen[0]


def test_numbers_and_dtypes_under_upper_case_names_are_constants_and_functions_are_told_from_kernels():
    assert program().values == {"WIDTH": 64, "HALF": 32, "BLOCKS": 2, "SCALE": 1.5, "DTYPE": "float32", "FAST": True}
    half = program().constants["HALF"]
    assert (half.kind, half.line, half.text, half.depends) == ("int", 5, "WIDTH // 2", ("WIDTH",))
    assert (list(program().kernels), list(program().functions)) == (["kernel"], ["twice"])


def test_what_is_computed_from_a_constant_is_recomputed_and_text_read_as_on_the_command_line():
    texts = {"WIDTH": "96", "SCALE": "2", "DTYPE": "float64", "FAST": "False"}
    for values, seen in [
        ({"WIDTH": 100}, (100, 50, 3, 1.5)),
        (texts, (96, 48, 2, 2.0, "numba float64", False, (96, 48))),
        ({"HALF": 7, "WIDTH": 10}, (10, 7, 1, 1.5)),
    ]:
        assert run_main(program().with_constants(values))[: len(seen)] == seen
    changed = program().with_constants({"WIDTH": 100})
    assert (changed.values["HALF"], changed.values["BLOCKS"]) == (50, 3)
    namespace = {"seen": [], "__smemviz_dtype__": str}
    exec(changed.code(), namespace)
    assert namespace["kernel"].py_func.__code__.co_firstlineno == 20  # as in the file


def test_the_program_itself_is_left_as_it_was():
    before = program()
    before.with_constants({"WIDTH": 1})

    assert before.values["WIDTH"] == 64
    assert run_main(before)[0] == 64


def test_a_value_that_does_not_fit_is_one_line():
    for values, message in [
        ({"HEIGHT": 1}, "1: there is no constant HEIGHT; the file has: WIDTH, HALF, BLOCKS, SCALE, DTYPE, FAST"),
        ({"WIDTH": "1.5"}, "4: WIDTH is an integer (64); '1.5' is not"),
        ({"WIDTH": True}, "4: WIDTH is an integer (64); True is not"),
        ({"WIDTH": "{[]}"}, "4: WIDTH is an integer (64); '{[]}' is not"),
        ({"SCALE": "wide"}, "7: SCALE is a number (1.5); 'wide' is not"),
        ({"DTYPE": "float33"}, "8: DTYPE is a Numba dtype such as float32 (float32); 'float33' is not"),
        ({"FAST": "1"}, "9: FAST is True or False (True); '1' is not"),
        ({"WIDTH": "0x" + "f" * 2000}, "4: WIDTH is too large a number"),
    ]:
        with pytest.raises(ConstantError) as caught:
            program().with_constants(values)
        assert str(caught.value).startswith(f"kernels/mine.py:{message}")
        assert caught.value.exit_code == 2


KERNEL = "from numba import cuda\n@cuda.jit\n"


def whole(source):
    """Read a file as one that is run is read."""
    read = parse_program(source, "f.py")
    read.require_main()
    read.code()


def test_a_file_that_lacks_a_part_or_is_no_python_says_where():
    without = "4: main() is called without arguments; give each a default"
    for source, message in [
        ("x = (1,\n", "1: is not valid Python: '(' was never closed"),
        ("N = " + "(" * 300 + ")" * 300, "1: "),
        ("def main(): pass\n", "1: no kernel here; decorate a module-level function with @cuda.jit"),
        (f"{KERNEL}def k(): pass\n", "1: no main() here; write one that allocates and launches"),
        (f"{KERNEL}def k(): pass\ndef main(n): pass\n", without),
        (f"{KERNEL}def k(): pass\ndef main(*, n, m=1): pass\n", without),
        (f"{KERNEL}def k(a):\n    a[0] = 0x{'f' * 5000}\n", "4: a whole number of more than 8,192 bits"),
        (f"{KERNEL}def k(a):\n    break\ndef main():\n    pass\n", "4: is not valid Python: 'break' outside loop"),
    ]:
        with pytest.raises(KernelFileError) as caught:
            whole(source)
        assert str(caught.value).startswith(f"f.py:{message}")


def test_an_expression_that_is_no_number_is_no_constant_and_costs_nothing():
    for text in [
        *("2**99999999", "1 << 99999999999", "1 / 0", "-'a'", "[1][0]", "open('f.py')"),
        *("round(5, -99999999)", "float32 * 300000000", "max(float32, 1)", "0x" + "f" * 5000),
        *("+".join("1" * 400), "-" * 400 + "1", "math" + ".a" * 900, "1 if 1 else x" + ".x" * 900, "2 @ 3"),
    ]:
        assert parse_program(f"N = {text}\n", "f.py").values == {}


def test_constants_that_multiply_each_other_stay_small_and_no_arithmetic_is_none():
    lines = ["N = 1 << 4000", *(f"N{i} = N{i - 1 if i else ''} * N{i - 1 if i else ''}" for i in range(40))]
    assert list(parse_program("\n".join(lines), "f.py").values) == ["N"]
    for value in ["B @ B", "1 if 1 else x" + ".x" * 900, "-" * 900 + "1", "1" + " + 1" * 900]:
        assert list(parse_program(f"B = 1\nA = {value}\nC = A\nD = B\n", "f.py").constants) == ["B", "D"]


def test_files_that_cannot_be_read_say_why(tmp_path):
    for name in ("bytes.py", "bytes"):
        (tmp_path / name).write_bytes(b"\xff\xfe\x00")

    for path, why in [
        (tmp_path / "absent.py", "no such file"),
        (tmp_path, "is a folder; name a kernel file in it"),
        (tmp_path / "bytes.py", "is not UTF-8 text; save it as UTF-8"),
        (tmp_path / "bytes", "is not UTF-8 text; name a Python file with @cuda.jit kernels"),
    ]:
        with pytest.raises(InputError, match=why.split(";")[0]) as caught:
            read_program(path)
        assert str(caught.value) == f"{path}: {why}"


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no /dev/zero here")
def test_what_is_no_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "endless.py").symlink_to("/dev/zero")

    for path in (tmp_path / "pipe.py", tmp_path / "endless.py"):
        with pytest.raises(InputError) as caught:
            read_program(path)
        assert str(caught.value) == f"{path}: is not a file; name a Python file with @cuda.jit kernels"


def test_a_byte_order_mark_is_not_part_of_the_text_nor_line_ends_of_its_hash(tmp_path):
    for name, content in [
        ("marked", b"\xef\xbb\xbfN = 1\n"),
        ("unix", b"N = 1\nM = 2\n"),
        ("windows", b"N = 1\r\nM = 2\r\n"),
    ]:
        (tmp_path / f"{name}.py").write_bytes(content)
    assert read_program(tmp_path / "marked.py").source == "N = 1\n"
    assert read_program(tmp_path / "unix.py").sha256 == read_program(tmp_path / "windows.py").sha256


def test_what_is_not_trusted_is_never_compiled():
    elsewhere = replace(program(), trusted=False).with_constants({"WIDTH": 96})
    with pytest.raises(KernelFileError, match=r"kernels/mine\.py:1: comes from elsewhere and is not executed"):
        elsewhere.code()


def test_a_constant_set_to_what_the_file_says_is_not_set():
    changed = program().with_constants({"WIDTH": 96})
    own = program().constants["WIDTH"].value
    assert changed.with_constants({"WIDTH": own}).overrides == {}
    # One that is computed stays as it was set, whatever it is computed from later.
    assert program().with_constants({"HALF": program().constants["HALF"].value}).overrides != {}


LAUNCHING = """import triton
import triton.language as tl
TILE = 32
@triton.jit
def k(x, BLOCK: tl.constexpr, HALF: tl.constexpr, TILE: tl.constexpr, n): pass
def start(x, h):
    k[4,](x, BLOCK=64, HALF=h, TILE=TILE, n=3, num_warps=4)
    k[4,](x, BLOCK=64, HALF=2, TILE=16, n=3, num_stages=2)
    k[4,](x, BLOCK=64, HALF=2, TILE=16, n=3, num_stages=3)
"""


def test_what_launches_of_triton_pass_by_name_is_a_constant_where_they_agree():
    program = parse_program(LAUNCHING, "f.py")
    assert {name: (one.value, one.line) for name, one in program.constants.items()} == {
        "BLOCK": (64, 7),
        "num_warps": (4, 7),
        "TILE": (32, 3),
    }
    assert isinstance(program, PythonProgram)
    changed = program.with_constants({"BLOCK": "128", "num_warps": 8, "TILE": 8})
    assert isinstance(changed, PythonProgram)
    calls = [ast.unparse(call) for call in changed.statements()[-1].body]  # type: ignore[attr-defined]
    assert calls == [
        "k[4,](x, BLOCK=128, HALF=h, TILE=TILE, n=3, num_warps=8)",
        "k[4,](x, BLOCK=128, HALF=2, TILE=16, n=3, num_stages=2)",
        "k[4,](x, BLOCK=128, HALF=2, TILE=16, n=3, num_stages=3)",
    ]
    with pytest.raises(ConstantError, match="BLOCK is an integer"):
        program.with_constants({"BLOCK": "1.5"})
