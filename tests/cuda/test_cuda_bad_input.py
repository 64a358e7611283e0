"""Bad ``.cu`` files on the command line: one line each, the exit code, and nothing of another file."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.commands import Command

import smemviz
from smemviz.errors import KernelFileError, LaunchError, SourceError
from smemviz.frontends.cuda.includes import Missing

KERNEL = "__global__ void k(int *a) { a[0] = 1; }\n"
LAUNCH = "// smemviz: k<<<1, 32>>>(zeros(1))\n"
RIGHT = KERNEL + LAUNCH
SECRET = "a_secret_word in another file\n"


def said(folder: Path, text: str, command: Command) -> str:
    """Run a file that is refused and return what stands on standard error."""
    path = folder / "k.cu"
    path.write_text(text)
    return command("run", path, code=2).err.replace(path.as_posix(), "k.cu")


@pytest.mark.parametrize(
    ("text", "error", "line"),
    [
        ("__global__ void k(int *a) {\n    a[0] = = 3;\n}\n" + LAUNCH, SourceError, "2:12: expected an expression"),
        ("__global__ void k(int *a) {\n    a[0] = b;\n}\n" + LAUNCH, SourceError, '2:12: identifier "b" is undefined'),
        (
            '#include "nix.h"\n' + RIGHT.replace("= 1", "= NIX"),
            KernelFileError,
            '1: the header nix.h is not in the folder of the file, and without it: identifier "NIX" is undefined; put',
        ),
        (
            "#include <nix.h>\n" + RIGHT.replace("= 1", "= NIX"),
            KernelFileError,
            "1: the header nix.h",
        ),
        (RIGHT.replace("k<<<", "kk<<<"), KernelFileError, "2: there is no kernel kk; did you mean k? The file has: k"),
        (RIGHT.replace("zeros(1)", "3"), LaunchError, "2: a is a pointer and takes an array; 3 is none"),
        (RIGHT.replace("zeros(1)", "zeros(1), 2"), LaunchError, "2: k takes 1 argument (a); the launch gives 2"),
        (RIGHT.replace("<<<1,", "<<<0,"), LaunchError, "2: the grid (0, 1, 1) has a size below 1"),
        (RIGHT.replace("<<<1, 32>>>", "<<<1>>>"), LaunchError, "2: a launch needs a grid and a block"),
        (RIGHT.replace("<<<1, 32>>>", ""), LaunchError, "2: k(zeros(1)) is no launch"),
        ("__global__ void k(int n) {}\n// smemviz: k<<<1, 1>>>(2.5)", LaunchError, "2: n is an integer; 2.5 is not"),
        (KERNEL, KernelFileError, "1: says no launch; add a comment such as"),
        ("int main() { return 0; }\n", KernelFileError, "1: has no __global__ function; write a kernel"),
        ("", KernelFileError, "1: has no __global__ function; write a kernel"),
    ],
)
def test_bad_input_gets_one_line_and_exit_code_2(
    tmp_path: Path, command: Command, text: str, error: type[Exception], line: str
) -> None:
    told = said(tmp_path, text, command)
    assert told.startswith(f"smemviz: k.cu:{line}")
    assert told.count("\n") == 1
    with pytest.raises(error):
        smemviz.run(tmp_path / "k.cu")


def test_a_launch_that_no_device_would_start_is_a_finding_and_exit_code_1(tmp_path: Path, command: Command) -> None:
    (tmp_path / "k.cu").write_text(KERNEL + LAUNCH.replace("32>>>", "2048>>>"))
    out = command("run", tmp_path / "k.cu", code=1).out
    assert "k.cu:2: launch of k refused: a block of 2048 x 1 x 1 has 2048 threads" in out


@pytest.mark.parametrize(
    "include",
    [
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
    ],
)
def test_nothing_of_a_file_outside_is_read_or_shown(tmp_path: Path, command: Command, include: str) -> None:
    (tmp_path / "secret.h").write_text(SECRET)
    error = said(tmp_path, include.format(path=tmp_path / "secret.h") + "\n" + RIGHT, command)
    assert "a_secret_word" not in error
    assert error.startswith("smemviz: k.cu:")


@pytest.mark.parametrize(
    "include", ['"../secret.h"', "<../secret.h>", '"link.h"', '"beside.h"', '"nix.h"', "<EGL/egl.h>"]
)
def test_headers_that_are_not_in_the_folder_are_left_out_and_not_read(
    tmp_path: Path, command: Command, include: str
) -> None:
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
    assert "is not in the folder of the file, and without it" in error
    assert "a_secret_word" not in error


def test_the_header_of_a_package_is_installed_with_it() -> None:
    error = str(Missing("curand_kernel.h", "k.cu", 3).error("it does not compile"))
    assert error == "k.cu:3: the header curand_kernel.h is not there; install it with pip install nvidia-curand"
