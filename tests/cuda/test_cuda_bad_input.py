"""Bad ``.cu`` files on the command line: one line each, the exit code, and nothing of another file."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.commands import Command

from smemviz.cli.main import main

KERNEL = "__global__ void k(int *a) { a[0] = 1; }\n"
LAUNCH = "// smemviz: k<<<1, 32>>>(zeros(1))\n"
SECRET = "a_secret_word in another file\n"


def said(folder: Path, text: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Run a file and return the exit code and what stands on standard error."""
    path = folder / "k.cu"
    path.write_text(text)
    code = main(["run", str(path)])
    return code, capsys.readouterr().err.replace(path.as_posix(), "k.cu")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("__global__ void k(int *a) {\n    a[0] = = 3;\n}\n" + LAUNCH, "k.cu:2:12: expected an expression"),
        ('#include "nix.h"\n' + KERNEL + LAUNCH, "k.cu:1: the header nix.h is not there; put it beside the file, or"),
        (KERNEL + LAUNCH.replace("k<<<", "kk<<<"), "k.cu:2: there is no kernel kk; the file has: k"),
        (KERNEL + LAUNCH.replace("zeros(1)", "3"), "k.cu:2: a is a pointer and takes an array; 3 is none"),
        (KERNEL + LAUNCH.replace("zeros(1)", "zeros(1), 2"), "k.cu:2: k takes 1 argument (a); the launch gives 2"),
        (KERNEL + LAUNCH.replace("<<<1,", "<<<0,"), "k.cu:2: the grid (0, 1, 1) has a size below 1"),
        (KERNEL, "k.cu:1: says no launch; add a comment such as"),
        ("int main() { return 0; }\n", "k.cu:1: has no __global__ function; write a kernel"),
        ("", "k.cu:1: has no __global__ function; write a kernel"),
    ],
)
def test_bad_input_gets_one_line_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, line: str
) -> None:
    code, error = said(tmp_path, text, capsys)
    assert code == 2
    assert error.startswith(f"smemviz: {line}")
    assert error.count("\n") == 1


def test_a_launch_that_no_device_would_start_is_a_finding_and_exit_code_1(tmp_path: Path, command: Command) -> None:
    (tmp_path / "k.cu").write_text(KERNEL + LAUNCH.replace("32>>>", "2048>>>"))
    out = command("run", tmp_path / "k.cu", code=1).out
    assert "k.cu:2: launch of k refused: a block of 2048 x 1 x 1 has 2048 threads" in out


@pytest.mark.parametrize(
    "include",
    [
        '#include "{path}"',
        "#include <{path}>",
        "#inc\\\nlude <{path}>",
        '#define HEADER "{path}"\n#include HEADER',
        '#include_next "{path}"',
        '#embed "{path}"',
        '%:include "{path}"',
        '#include "../secret.h"',
        "#include <../secret.h>",
        '#include "link.h"',
        '#include "beside.h"',
        '#if __has_include("{path}")\n#error a_secret_word\n#endif',
    ],
)
def test_nothing_of_a_file_outside_is_read_or_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], include: str
) -> None:
    (tmp_path / "secret.h").write_text(SECRET)
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "link.h").symlink_to(tmp_path / "secret.h")
    (folder / "beside.h").write_text('#include "../secret.h"\n')
    code, error = said(folder, include.format(path=tmp_path / "secret.h") + "\n" + KERNEL + LAUNCH, capsys)
    assert code == 2
    assert "a_secret_word" not in error
    assert error.startswith(("smemviz: k.cu:", f"smemviz: {(folder / 'beside.h').as_posix()}:1: the header"))
