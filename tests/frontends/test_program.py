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


def test_numbers_and_dtypes_under_upper_case_names_are_constants():
    assert program().values == {"WIDTH": 64, "HALF": 32, "BLOCKS": 2, "SCALE": 1.5, "DTYPE": "float32", "FAST": True}


def test_a_constant_knows_its_kind_its_line_and_what_it_is_computed_from():
    half = program().constants["HALF"]

    assert (half.kind, half.line, half.text, half.depends) == ("int", 5, "WIDTH // 2", ("WIDTH",))


def test_kernels_and_device_functions_are_told_apart():
    assert list(program().kernels) == ["kernel"]
    assert list(program().functions) == ["twice"]


def test_what_is_computed_from_a_constant_is_recomputed():
    changed = program().with_constants({"WIDTH": 100})

    assert changed.values["HALF"] == 50
    assert changed.values["BLOCKS"] == 3
    assert run_main(changed)[:3] == (100, 50, 3)
    assert run_main(changed)[6] == (100, 50)


def test_text_is_read_as_on_the_command_line():
    changed = program().with_constants({"WIDTH": "96", "SCALE": "2", "DTYPE": "float64", "FAST": "False"})

    assert run_main(changed) == (96, 48, 2, 2.0, "numba float64", False, (96, 48))


def test_an_override_of_a_computed_constant_stands():
    assert run_main(program().with_constants({"HALF": 7, "WIDTH": 10}))[:2] == (10, 7)


def test_the_program_itself_is_left_as_it_was():
    before = program()
    before.with_constants({"WIDTH": 1})

    assert before.values["WIDTH"] == 64
    assert run_main(before)[0] == 64


def test_line_numbers_survive_an_override():
    changed = program().with_constants({"WIDTH": 1})
    namespace = {"seen": [], "__smemviz_dtype__": str}
    exec(changed.code(), namespace)

    assert namespace["kernel"].py_func.__code__.co_firstlineno == 20


def test_a_value_that_does_not_fit_is_one_line():
    for values, message in [
        (
            {"HEIGHT": 1},
            "kernels/mine.py:1: there is no constant HEIGHT; the file has: WIDTH, HALF, BLOCKS, SCALE, DTYPE, FAST",
        ),
        ({"WIDTH": "1.5"}, "kernels/mine.py:4: WIDTH is an integer (64); '1.5' is not"),
        ({"WIDTH": True}, "kernels/mine.py:4: WIDTH is an integer (64); True is not"),
        ({"WIDTH": "{[]}"}, "kernels/mine.py:4: WIDTH is an integer (64); '{[]}' is not"),
        ({"SCALE": "wide"}, "kernels/mine.py:7: SCALE is a number (1.5); 'wide' is not"),
        ({"DTYPE": "float33"}, "kernels/mine.py:8: DTYPE is a Numba dtype such as float32 (float32); 'float33' is not"),
        ({"FAST": "1"}, "kernels/mine.py:9: FAST is True or False (True); '1' is not"),
    ]:
        with pytest.raises(ConstantError) as caught:
            program().with_constants(values)

        assert str(caught.value) == message
        assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = (1,\n", "f.py:1: is not valid Python: '(' was never closed"),
        ("def main(): pass\n", "f.py:1: no kernel here; decorate a module-level function with @cuda.jit"),
        (
            "from numba import cuda\n@cuda.jit\ndef k(): pass\n",
            "f.py:1: no main() here; write one that allocates and launches",
        ),
        (
            "from numba import cuda\n@cuda.jit\ndef k(): pass\ndef main(n): pass\n",
            "f.py:4: main() is called without arguments; give each a default",
        ),
        (
            "from numba import cuda\n@cuda.jit\ndef k(): pass\ndef main(*, n, m=1): pass\n",
            "f.py:4: main() is called without arguments; give each a default",
        ),
    ],
)
def test_a_file_that_lacks_a_part_says_which(source, message):
    with pytest.raises(KernelFileError) as caught:
        parse_program(source, "f.py").require_main()

    assert str(caught.value) == message


def test_an_expression_that_is_no_number_is_no_constant_and_costs_nothing():
    for text in [
        *("2**99999999", "1 << 99999999999", "1 / 0", "-'a'", "[1][0]", "open('f.py')"),
        *("round(5, -99999999)", "float32 * 300000000", "max(float32, 1)", "0x" + "f" * 5000),
        *("+".join("1" * 400), "-" * 400 + "1", "math" + ".a" * 900, "1 if 1 else x" + ".x" * 900, "2 @ 3"),
    ]:
        assert parse_program(f"N = {text}\n", "f.py").values == {}


def test_constants_that_multiply_each_other_stay_small():
    lines = ["N = 1 << 4000", *(f"N{i} = N{i - 1 if i else ''} * N{i - 1 if i else ''}" for i in range(40))]
    assert list(parse_program("\n".join(lines), "f.py").values) == ["N"]


def test_a_value_of_too_many_bits_is_refused():
    with pytest.raises(ConstantError, match=r"kernels/mine\.py:4: WIDTH is too large a number"):
        program().with_constants({"WIDTH": "0x" + "f" * 2000})


def test_a_file_nested_too_deeply_to_parse_is_one_line():
    with pytest.raises(KernelFileError, match=r"f\.py:1: "):
        parse_program("N = " + "(" * 300 + ")" * 300, "f.py")


@pytest.mark.parametrize("value", ["B @ B", "1 if 1 else x" + ".x" * 900, "-" * 900 + "1", "1" + " + 1" * 900])
def test_what_is_no_arithmetic_or_nests_too_deeply_is_no_constant(value: str):
    assert list(parse_program(f"B = 1\nA = {value}\nC = A\nD = B\n", "f.py").constants) == ["B", "D"]


def test_files_that_cannot_be_read_say_why(tmp_path: Path):
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
def test_what_is_no_file_is_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "endless.py").symlink_to("/dev/zero")

    for path in (tmp_path / "pipe.py", tmp_path / "endless.py"):
        with pytest.raises(InputError) as caught:
            read_program(path)
        assert str(caught.value) == f"{path}: is not a file; name a Python file with @cuda.jit kernels"


def test_a_byte_order_mark_is_not_part_of_the_text(tmp_path: Path):
    (tmp_path / "marked.py").write_bytes(b"\xef\xbb\xbfN = 1\n")

    assert read_program(tmp_path / "marked.py").source == "N = 1\n"


def test_the_hash_does_not_depend_on_line_ends(tmp_path: Path):
    (tmp_path / "unix.py").write_bytes(b"N = 1\nM = 2\n")
    (tmp_path / "windows.py").write_bytes(b"N = 1\r\nM = 2\r\n")

    assert read_program(tmp_path / "unix.py").sha256 == read_program(tmp_path / "windows.py").sha256


def test_what_is_not_trusted_is_never_compiled():
    elsewhere = replace(program(), trusted=False).with_constants({"WIDTH": 96})
    with pytest.raises(KernelFileError, match=r"kernels/mine\.py:1: comes from elsewhere and is not executed"):
        elsewhere.code()


def test_a_constant_set_to_what_the_file_says_is_not_set() -> None:
    changed = program().with_constants({"WIDTH": 96})
    own = program().constants["WIDTH"].value
    assert changed.with_constants({"WIDTH": own}).overrides == {}
    # One that is computed stays as it was set, whatever it is computed from later.
    assert program().with_constants({"HALF": program().constants["HALF"].value}).overrides != {}


def test_a_break_outside_of_a_loop_is_named_before_anything_runs():
    source = "from numba import cuda\n@cuda.jit\ndef k(a):\n    break\ndef main():\n    pass\n"
    with pytest.raises(KernelFileError) as caught:
        parse_program(source, "f.py").code()
    assert str(caught.value) == "f.py:4: is not valid Python: 'break' outside loop"


def test_a_number_in_a_kernel_that_python_does_not_write_is_named():
    source = f"from numba import cuda\n@cuda.jit\ndef k(a):\n    a[0] = 0x{'f' * 5000}\n"
    with pytest.raises(KernelFileError) as caught:
        parse_program(source, "f.py")
    assert str(caught.value) == "f.py:4: a whole number of more than 8,192 bits"


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


def test_what_launches_of_triton_pass_by_name_is_a_constant_where_they_agree() -> None:
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
