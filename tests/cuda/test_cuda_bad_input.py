"""Bad ``.cu`` files on the command line: one line each, the exit code, and nothing of another file."""

import numpy as np
import pytest

import smemviz
from smemviz.errors import KernelFileError, LaunchError, SourceError
from smemviz.frontends.cuda import includes, parse_cuda
from smemviz.frontends.cuda.includes import Missing
from smemviz.frontends.cuda.launches import planned_launches

KERNEL = "__global__ void k(int *a) { a[0] = 1; }\n"
LAUNCH = "// smemviz: k<<<1, 32>>>(zeros(1))\n"
RIGHT = KERNEL + LAUNCH
SECRET = "a_secret_word in another file\n"


def said(folder, text, command):
    """Run a file that is refused and return what stands on standard error."""
    path = folder / "k.cu"
    path.write_text(text)
    return command("run", path, code=2).err.replace(path.as_posix(), "k.cu")


def test_bad_input_gets_one_line_and_exit_code_2(tmp_path, command):
    for text, error, line in [
        ("__global__ void k(int *a) {\n    a[0] = = 3;\n}\n" + LAUNCH, SourceError, "2:12: expected an expression"),
        ("__global__ void k(int *a) {\n    a[0] = b;\n}\n" + LAUNCH, SourceError, '2:12: identifier "b" is undefined'),
        (
            '#include "nix.h"\n' + RIGHT.replace("= 1", "= NIX"),
            KernelFileError,
            "1: the header nix.h is not in the folder of the file, and without it line 2 does not compile: "
            'identifier "NIX" is undefined; put it beside the file, or name its folder with -I',
        ),
        (
            '#include "nix.h"\n' + RIGHT.replace("a[0]", "register int i = 0; a[i]"),
            SourceError,
            '2:29: C++ has no "register" since C++17; leave it out',
        ),
        (
            '#include "nix.h"\ntexture<int, 1> held;\n' + RIGHT.replace("= 1", "= tex1Dfetch(held, 0)"),
            SourceError,
            "2:1: CUDA has no texture references since version 12; pass the array, and index it",
        ),
        (
            '#include "nix.h"\n' + RIGHT.replace("= 1", "= 1 1"),
            KernelFileError,
            "1: the header nix.h is not in the folder of the file, and without it line 2 does not compile: expected",
        ),
        ('#include "nix.h"\n' + RIGHT.replace("= 1", "= a"), SourceError, '2:34: a value of type "int *" cannot be'),
        ("#include <nix.h>\n" + RIGHT.replace("= 1", "= NIX"), KernelFileError, "1: the header nix.h"),
        (RIGHT.replace("k<<<", "kk<<<"), KernelFileError, "2: there is no kernel kk; did you mean k? The file has: k"),
        (RIGHT.replace("zeros(1)", "3"), LaunchError, "2: a is a pointer and takes an array; 3 is not one"),
        (RIGHT.replace("zeros(1)", "zeros(1), 2"), LaunchError, "2: k takes 1 argument (a); the launch gives 2"),
        (RIGHT.replace("<<<1,", "<<<0,"), LaunchError, "2: the grid (0, 1, 1) has a size below 1"),
        (RIGHT.replace("<<<1, 32>>>", "<<<1>>>"), LaunchError, "2: a launch needs a grid and a block"),
        (RIGHT.replace("<<<1, 32>>>", ""), LaunchError, "2: k(zeros(1)) is not a launch"),
        ("__global__ void k(int n) {}\n// smemviz: k<<<1, 1>>>(2.5)", LaunchError, "2: n is an integer; 2.5 is not"),
        (KERNEL, KernelFileError, "1: has no launch; add a comment such as"),
        ("int main() { return 0; }\n", KernelFileError, "1: has no __global__ function; write a kernel"),
        ("", KernelFileError, "1: has no __global__ function; write a kernel"),
    ]:
        told = said(tmp_path, text, command)
        assert told.startswith(f"smemviz: k.cu:{line}")
        assert told.count("\n") == 1
        with pytest.raises(error):
            smemviz.run(tmp_path / "k.cu")


def test_assembly_that_is_not_read_is_refused_at_its_line(tmp_path, command):
    for statement, why in [
        ('.include \\"x\\"', '.include "x" is not read'),
        ('.incbin \\"x\\";', '.incbin "x" is not read'),
        (".func foo(){}", ".func foo(){} is not read"),
        (".entry foo(){ret;}", ".entry foo(){ret is not read"),
        ("/* without end", "/* without end"),
        ("@!%p99 mov.b32 %r1, 0;", "%p99 is no register"),
        ("bra;", "bra goes nowhere"),
        ("mov.b32 %r1;", "mov.b32 %r1 is not executed"),
        ("add.u32 %r1, %r1;", "add.u32 %r1, %r1 is not executed"),
        ("call k, (%r1, %r1);", "k"),
        ("ld.param.u32 %r1, [none];", "none is no parameter"),
        (".reg .b32;", ".reg .b32 is not read"),
        ("}", "is not read"),
    ]:
        text = f'extern "C" __global__ void k(int *a)\n{{\n    asm("{statement}");\n    a[0] = 1;\n}}\n'
        told = said(tmp_path, text + LAUNCH, command)
        assert told.startswith("smemviz: k.cu:1:" if statement == "}" else "smemviz: k.cu:3:")
        assert why in told
        assert told.count("\n") == 1


def test_numbers_with_a_point_are_read_in_assembly(tmp_path):
    text = """__global__ void k(float *a) {
    asm volatile("{ .reg .b64 policy; createpolicy.fractional.L2::evict_last.b64 policy, 1.0; }");
    asm volatile("add.f32 %0, %0, -1.25e1;" : "+f"(a[0]));
}
// smemviz: k<<<1, 1>>>(full(20, 1))
"""
    (tmp_path / "k.cu").write_text(text)
    (load, store) = smemviz.run(tmp_path / "k.cu").launches[0].sites
    assert (load.op, store.op) == ("load", "store")
    a = np.full(1, 20, np.float32)
    smemviz.cuda_cpp(text)["k"][1, 1](a)
    assert a[0] == 7.5


def test_numbers_that_an_argument_does_not_take(tmp_path, command):
    for parameter, argument, why in [
        ("int *a", "full(99999999999, 5)", "a: 99999999999 does not fit int32"),
        ("unsigned char *a", "full(-1, 5)", "a: -1 does not fit uint8"),
        ("int *a", "full(1e400, 5)", "a: inf does not fit int32"),
        ("int *a", "full(1.5, 5)", "a: 1.5 does not fit int32"),
        ("float *a", "full(1e300, 5)", "a: 1e+300 does not fit float32"),
        ("float a", "1e300", "a: 1e+300 does not fit float32"),
        ("int a", "1e999", "a is an integer; inf is not"),
        ("int a", "99999999999", "a: 99999999999 does not fit int32"),
        ("int *a", f"zeros({', '.join(['1'] * 70)})", "zeros("),
        ("int *a", "zeros(1e999)", "zeros("),
    ]:
        told = said(tmp_path, f"__global__ void k({parameter}) {{}}\n// smemviz: k<<<1, 1>>>({argument})\n", command)
        assert told.startswith(f"smemviz: k.cu:2: {why}")
        assert told.count("\n") == 1


def test_infinity_and_dim3_of_nothing_are_what_they_are_in_cpp():
    text = "__global__ void k(float *a, float b) { *a = b; }\n// smemviz: k<<<dim3(), dim3()>>>(zeros(1), 1e999)"
    (plan,) = planned_launches(parse_cuda(text, "k.cu"))
    assert (plan.grid, plan.block) == ((1, 1, 1), (1, 1, 1))
    a = np.zeros(1, np.float32)
    smemviz.cuda_cpp(text)["k"][1, 1](a, float("inf"))
    assert a[0] == np.inf


def test_an_error_is_named_at_its_line(tmp_path, command):
    for text, line in [
        ('#line 100 "other.h"\n' + RIGHT.replace("= 1", "= b"), '2:36: identifier "b" is undefined'),
        ("#/**/li\\\nne 7\n" + RIGHT.replace("= 1", "= b"), '3:36: identifier "b" is undefined'),
        ('# 7 "other.h" 1\n' + RIGHT.replace("= 1", "= b"), '2:36: identifier "b" is undefined'),
        ("\n" + RIGHT.replace("= 1;", "= 1;\0"), "2: has a NUL character, at which the compiler stops; remove it"),
        ('#include "a\0b.h"\n' + RIGHT, "1: has a NUL character"),
        (RIGHT.replace("a[0] = 1; }", "a[0] = (1;"), '1:38: expected a ")"'),
        (RIGHT.replace("a[0] = 1; }", "a[0"), "1:"),
    ]:
        assert said(tmp_path, text, command).startswith(f"smemviz: k.cu:{line}")


@pytest.mark.parametrize(
    "text",
    [
        KERNEL.replace("= 1", f"= {'b' * 100_000}") + LAUNCH,
        pytest.param(KERNEL + LAUNCH.replace("zeros(1)", f"zeros({'1, ' * 100_000}1)"), marks=pytest.mark.exhaustive),
        KERNEL + f"// smemviz: {'x' * 100_000}\n",
    ],
)
def test_what_is_long_is_not_quoted_whole(tmp_path, command, text):
    told = said(tmp_path, text, command)
    assert told.startswith("smemviz: k.cu:")
    assert len(told) < 1100


def test_a_file_that_is_not_utf8_is_to_be_saved_as_such(tmp_path, command):
    (tmp_path / "k.cu").write_bytes(b"// caf\xe9\n" + RIGHT.encode())
    assert command("run", tmp_path / "k.cu", code=2).err.endswith("k.cu: is not UTF-8 text; save it as UTF-8\n")


def test_a_launch_that_no_device_would_start_is_a_finding_and_exit_code_1(tmp_path, command):
    (tmp_path / "k.cu").write_text(KERNEL + LAUNCH.replace("32>>>", "2048>>>"))
    out = command("run", tmp_path / "k.cu", code=1).out
    assert "k.cu:2: launch of k refused: a block of 2048 x 1 x 1 has 2048 threads" in out


def test_nothing_of_a_file_outside_is_read_or_shown(tmp_path, command):
    for include in [
        '#include "{path}"',
        "#include <{path}>",
        '  #include "{path}"',
        '/* it */ # /* is */ include /* here */ "{path}"',
        '\f#include_next "{path}"',
        "#inc\\\nlude <{path}>",
        '#define HEADER "{path}"\n#include HEADER',
        '#include_next "{path}"',
        '#embed "{path}"',
        '%:include "{path}"',
        '#if __has_include("{path}")\n#error a_secret_word\n#endif',
        '#define PASTED(a, b) a##b\n#if PASTED(__has_, include)("{path}")\n#error a_secret_word\n#endif',
        '#include <cuda/std/utility>\n#if _CCCL_PP_CAT(__, has_include)("{path}")\n#error a_secret_word\n#endif',
        '#define A(a, b, c) a##b##c\n#define IT A(__h, a, s_include)("{path}")\n#if IT\n#error a_secret_word\n#endif',
    ]:
        (tmp_path / "secret.h").write_text(SECRET)
        error = said(tmp_path, include.format(path=tmp_path / "secret.h") + "\n" + RIGHT, command)
        assert "a_secret_word" not in error
        assert error.startswith("smemviz: k.cu:")


@pytest.mark.parametrize(
    "include", ['"../secret.h"', "<../secret.h>", '"link.h"', '"beside.h"', '"nix.h"', "<EGL/egl.h>"]
)
def test_headers_that_are_not_in_the_folder_are_left_out_and_not_read(tmp_path, command, include):
    (tmp_path / "secret.h").write_text(SECRET)
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "link.h").symlink_to(tmp_path / "secret.h")
    (folder / "beside.h").write_text('#include "../secret.h"\n')
    (folder / "k.cu").write_text(f"#include {include}\n{RIGHT}")
    out = command("run", folder / "k.cu", "--json").out
    assert "a_secret_word" not in out
    assert '"kernel": "k"' in out
    error = said(folder, f"#include {include}\n" + RIGHT.replace("= 1", "= a_secret"), command)
    assert "is not in the folder of the file, and without it line 2 does not compile" in error
    assert "a_secret_word" not in error


def test_headers_are_read_up_to_a_size(tmp_path, command, monkeypatch):
    monkeypatch.setattr(includes, "_MOST_BYTES", 1 << 20)
    for name in ("one.h", "two.h"):
        (tmp_path / name).write_text("// a line\n" * 60_000)
    told = said(tmp_path, '#include "one.h"\n#include "two.h"\n' + RIGHT, command)
    assert told == "smemviz: k.cu:2: with the header two.h there are more than 1 MiB of headers\n"


def test_a_header_with_a_name_that_no_file_has_is_left_out(tmp_path, command):
    told = said(tmp_path, f'#include "{"a" * 5000}.h"\n' + RIGHT.replace("= 1", "= b"), command)
    assert told.startswith("smemviz: k.cu:")


def test_the_header_of_a_package_is_installed_with_it():
    error = str(Missing("curand_kernel.h", "k.cu", 3).error(KernelFileError("k.cu", 4, "is undefined")))
    assert error == "k.cu:3: the header curand_kernel.h is not there; install it with pip install nvidia-curand"
